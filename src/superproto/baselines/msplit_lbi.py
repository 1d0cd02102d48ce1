"""Sparse and dense regression from descriptions to prototypes along one path: MSplit LBI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg

from superproto.baselines._shared.predicted_prototypes import class_means, unit_semantics
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


@dataclass(eq=False, repr=False)
class MSplitLBI(LinearBaseline):
    """MSplit LBI: a regression from descriptions to prototypes split into strong sparse and weak dense signals.

    ``L(B, Γ) = 1/2m ||M_s − A_s B||² + 1/2ν ||B − Γ||²`` (B, Γ: (k, d)) is followed along the path of the linearized
    Bregman iteration ``z ← z − step ∂L/∂Γ``, ``Γ = κ · sign(z) [|z| − 1]₊``, so that strong entries enter Γ first; the
    *dense* B, which keeps the weak signals too, predicts the prototype ``a_c B`` of every class. Cosine decides.

    Decided here: B is minimized exactly given Γ (Woodbury, m × m) where the source takes a gradient step along with z;
    class means stand for their samples; the target is scaled so that the first entry of Γ appears at iteration κ, which
    makes the stopping time ``n_steps`` mean the same on every pack. At ``n_steps=0`` B is ridge regression, in the
    limit least squares.

    Reference: Zhao, Sun, Fu, Yao et al., "MSplit LBI: realizing feature selection and dense estimation simultaneously
    in few-shot and zero-shot learning", ICML 2018. Published (VGG-19, standard split): AwA 85.3, CUB 57.5.

    Parameters
    ----------
    nu : float, default=300.0
        Grows: less shrinkage of B at the start of the path.
    kappa : float, default=10.0
        Damping. Grows: a finer path, for which more steps are needed.
    n_steps : int, default=50
        Where the path is stopped. Grows: more entries are unshrunk.
    candidates, whiten, random_state, seen_bias
        As in every method; nothing here is random.

    Attributes
    ----------
    dense_, sparse_ : arrays of shape (k, d)
        B and Γ.
    """

    method_key = "msplit-lbi"

    nu: float = 300.0
    kappa: float = 10.0
    n_steps: int = 50

    _positive: ClassVar[tuple[str, ...]] = ("nu", "kappa")
    _nonnegative: ClassVar[tuple[str, ...]] = ("n_steps",)

    def _learn(self, X: Array, problem: Problem) -> None:
        seen, A = problem.seen, unit_semantics(problem.semantics)
        means = class_means(X, problem.labels, problem.n_classes)[seen]
        self.dense_, self.sparse_ = bregman_path(A[seen], means, self.nu, self.kappa, self.n_steps)
        self._store_linear(unit_rows(A @ self.dense_))


def bregman_path(A: Array, M: Array, nu: float, kappa: float, n_steps: int) -> tuple[Array, Array]:
    """(B, Γ) after n_steps of z ← z + (B(Γ) − Γ) / κ, Γ = κ sign(z) [|z| − 1]₊, B(Γ) = argmin_B L(B, Γ).

    B(Γ) = (AᵀA/m + I/ν)⁻¹ (AᵀM/m + Γ/ν) = T − Aᵀ (AAᵀ + (m/ν) I)⁻¹ A T with T = ν AᵀM/m + Γ. The step is ν/κ.
    """
    m = len(A)
    inverse = linalg.inv(A @ A.T + (m / nu) * np.eye(m), check_finite=False)
    drive = (nu / m) * (A.T @ M)

    def dense(target: Array) -> Array:
        return np.asarray(target - A.T @ (inverse @ (A @ target)))

    B = dense(drive)
    scale = float(np.abs(B).max()) or 1.0
    drive, B = drive / scale, B / scale
    z, sparse = np.zeros_like(B), np.zeros_like(B)
    for _ in range(n_steps):
        z += (B - sparse) / kappa
        sparse = kappa * np.sign(z) * np.maximum(np.abs(z) - 1, 0)
        B = dense(drive + sparse)
    return B * scale, sparse * scale
