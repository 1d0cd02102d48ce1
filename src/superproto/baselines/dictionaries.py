"""Dictionaries and directions shared by features and descriptions: CDL and CAPD."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.optimize import nnls

from superproto.baselines.base import Baseline, LinearBaseline
from superproto.baselines.losses import logistic, minimize_linear, with_constant
from superproto.baselines.start import class_means, class_sums, unit_semantics
from superproto.inputs import Problem
from superproto.rows import Array
from superproto.solver.blocks import codes_of_descriptions, dictionary_by_blocks, project_rows, update_codes
from superproto.whitening import unit_rows


class CDL(Baseline):
    """Coupled dictionary learning: visual and semantic prototypes share codes over two dictionaries.

    ``min ||X_s − C_s P_s||² + α ||P_s − Z D_v||² + β ||A_s − Z D_c||²``, rows of D_v and D_c in the unit ball, by exact
    blocks: ``p_j = (sums_j + α z_j D_v) / (counts_j + α)``, Z in closed form, D row by row. An unseen class gets the
    codes ``Z_u = argmin ||A_u − Z D_c||² + code_ridge ||Z||²`` and the prototype ``Z_u D_v``.

    The source compares in the visual, the semantic or the aligned (code) space; all three are here. Left open: the size
    of the dictionaries and the start. Decided: α and the first term are in units of the mean class size, so that α
    weighs a class against its samples; as many atoms as ``atoms`` times the seen classes; they start at jointly
    clustered prototypes and descriptions; unseen codes get a small ridge, without which nearly dependent atoms decide.

    Reference: Jiang, Wang, Shan and Chen, "Learning class prototypes via structure alignment for zero-shot
    recognition", ECCV 2018. Published (ResNet-101, proposed split): CUB 54.5, AWA1 69.9, SUN 63.6, aPY 43.0.

    Parameters
    ----------
    alpha : float, default=1.0
        Grows: prototypes follow the dictionary rather than their samples.
    beta : float, default=1.0
        Grows: codes follow descriptions rather than prototypes.
    atoms : float, default=0.6
        Dictionary size in units of the number of seen classes. Grows: finer codes, less sharing; from 1 on every class
        is its own atom, which leaves the method ``prototypes``.
    code_ridge : float, default=0.1
        Grows: unseen codes draw on more atoms, more evenly.
    space : {"visual", "semantic", "aligned"}, default="visual"
        Where samples and classes are compared, by cosine.
    max_iter : int, default=20
        Sweeps over the blocks.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; ``random_state`` is for the clustering when ``atoms`` < 1.

    Attributes
    ----------
    objective_ : array of shape (n_iter_,)
        Never rising.
    """

    _positive: ClassVar[tuple[str, ...]] = ("alpha", "beta", "atoms", "max_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("code_ridge",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"space": ("visual", "semantic", "aligned")}

    def __init__(
        self,
        alpha: float = 1.0,
        beta: float = 1.0,
        atoms: float = 0.6,
        code_ridge: float = 0.1,
        space: str = "visual",
        max_iter: int = 20,
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.atoms = atoms
        self.code_ridge = code_ridge
        self.space = space
        self.max_iter = max_iter
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias

    def _learn(self, X: Array, problem: Problem) -> None:
        seen, A = problem.seen, unit_semantics(problem.semantics)
        sums, counts = class_sums(X, problem.labels, problem.n_classes)
        size = counts[seen].mean()
        prototypes, codes = self._alternate(sums[seen] / size, counts[seen] / size, A[seen])
        self.prototypes_ = np.zeros_like(sums)
        self.codes_ = np.zeros((problem.n_classes, codes.shape[1]))
        self.prototypes_[seen], self.codes_[seen] = prototypes, codes
        self.codes_[~seen] = codes_of_descriptions(A[~seen], self.semantic_dictionary_, self.code_ridge)
        self.prototypes_[~seen] = self.codes_[~seen] @ self.visual_dictionary_
        self.descriptions_ = A

    def _alternate(self, sums: Array, counts: Array, A: Array) -> tuple[Array, Array]:
        """Prototypes and codes of the seen classes; the dictionaries are stored."""
        P = sums / counts[:, None]
        D_v, D_c = self._first_atoms(P, A)
        weights, values = self.beta / self.alpha, []
        Z = update_codes(P, A, np.zeros((len(P), len(D_v))), D_v, D_c, weights)
        for _ in range(self.max_iter):
            P = (sums + self.alpha * Z @ D_v) / (counts + self.alpha)[:, None]
            gram = Z.T @ Z
            D_v = dictionary_by_blocks(D_v, gram, Z.T @ P, 1e-6, 5)
            D_c = dictionary_by_blocks(D_c, gram, Z.T @ A, 1e-6, 5)
            Z = update_codes(P, A, Z, D_v, D_c, weights)
            fit = float((counts[:, None] * (P - sums / counts[:, None]) ** 2).sum())
            visual, semantic = float(((P - Z @ D_v) ** 2).sum()), float(((A - Z @ D_c) ** 2).sum())
            values.append(fit + self.alpha * visual + self.beta * semantic)
        self.visual_dictionary_, self.semantic_dictionary_ = D_v, D_c
        self.objective_, self.n_iter_ = np.array(values), self.max_iter
        return P, Z

    def _first_atoms(self, P: Array, A: Array) -> tuple[Array, Array]:
        n_atoms = max(round(self.atoms * len(P)), 1)
        if n_atoms >= len(P):
            return project_rows(P), project_rows(A)
        from sklearn.cluster import KMeans

        joint = np.hstack([unit_rows(P), A])
        groups = KMeans(n_atoms, n_init=3, random_state=self.random_state).fit(joint).labels_
        return project_rows(class_means(P, groups, n_atoms)), project_rows(class_means(A, groups, n_atoms))

    def _score(self, X: Array) -> Array:
        if self.space == "visual":
            return X @ unit_rows(self.prototypes_).T.astype(X.dtype)
        codes = codes_of_descriptions(X.astype(np.float64), self.visual_dictionary_, self.code_ridge)
        if self.space == "aligned":
            return unit_rows(codes) @ unit_rows(self.codes_).T
        return unit_rows(codes @ self.semantic_dictionary_) @ self.descriptions_.T


class CAPD(LinearBaseline):
    """Class adapting principal directions: each seen class maps an image to its own direction among the descriptions.

    ``p_s(x) = W_sᵀ x`` should point along the class's description e_s and away from the others for samples of class s,
    and not along e_s for other samples: ``min_W Σ_i w_is log(1 + exp L_is) + ridge/2 ||W_s||²``, ``L_is = <p_s, ē_{−s}
    − e_s>`` for samples of s (ē_{−s}: mean of the other descriptions), ``<p_s, e_s>`` for the rest. An unseen class
    combines the directions as its description is combined, ``p_u = Σ_s θ_us p_s`` with ``e_u ≈ Σ_s θ_us e_s``, and
    scores ``<p_u, e_u>``.

    W_s never leaves the span of e_s and ē_{−s}, so two vectors replace a (d, k) matrix, exactly, and all classes are
    solved together by L-BFGS. Only outlined in the sources at hand, decided here: θ is a non-negative ridge regression,
    whose zeros choose the seen classes (a negative θ would turn directions round); both kinds of samples count the
    same in total; rows are centered; a seen class scores ``<p_s, e_s>``; the resulting classifiers get length 1.

    Reference: Rahman, Khan and Porikli, "A unified approach for conventional zero-shot, generalized zero-shot, and
    few-shot learning", TIP 2018. Published (ResNet, proposed split): CUB 53.8, AWA1 52.6, SUN 49.7, aPY 39.3.

    Parameters
    ----------
    ridge : float, default=0.01
        Grows: smoother maps.
    combination_ridge : float, default=0.1
        Grows: an unseen class draws on more seen classes, more evenly.
    max_iter : int, default=50
        At most so many L-BFGS steps.
    candidates, whiten, random_state, seen_bias
        As everywhere in the zoo; nothing here is random.
    """

    _positive: ClassVar[tuple[str, ...]] = ("max_iter",)
    _nonnegative: ClassVar[tuple[str, ...]] = ("ridge", "combination_ridge")

    def __init__(
        self,
        ridge: float = 0.01,
        combination_ridge: float = 0.1,
        max_iter: int = 50,
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.ridge = ridge
        self.combination_ridge = combination_ridge
        self.max_iter = max_iter
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen, A = ~problem.asked, problem.seen, unit_semantics(problem.semantics)
        mean = X[known].mean(axis=0, dtype=np.float64)
        columns = (np.cumsum(seen) - 1)[problem.labels[known]]
        bases = direction_bases(A[seen])
        maps = self._fit_maps(with_constant(X[known], mean), columns, A[seen], bases)
        own = np.einsum("std,stk,sk->sd", maps, bases, A[seen])
        weights = np.zeros((problem.n_classes, own.shape[1]))
        weights[seen] = own
        if not seen.all():
            theta = nonnegative_weights(A[seen], A[~seen], self.combination_ridge)
            along = np.einsum("stk,uk->ust", bases, A[~seen])
            weights[~seen] = np.einsum("us,ust,std->ud", theta, along, maps, optimize=True)
        classifiers = unit_rows(weights[:, :-1])
        self._store_linear(classifiers, -classifiers @ mean)

    def _fit_maps(self, X: Array, labels: Array, A: Array, bases: Array) -> Array:
        """(m, 2, d) W_sᵀ in the basis of class s, for all seen classes."""
        n_classes = len(A)
        own = labels[:, None] == np.arange(n_classes)
        toward = np.einsum("stk,sk->st", bases, A)
        away = np.einsum("stk,sk->st", bases, other_means(A) - A)
        slopes = np.where(own[:, :, None], away, toward).astype(X.dtype)
        balance = np.where(own, 0.5 / np.maximum(own.sum(axis=0), 1), 0.5 / np.maximum((~own).sum(axis=0), 1))
        flat, self.n_iter_ = minimize_linear(X, logistic(slopes, balance), 2 * n_classes, self.ridge, self.max_iter)
        return flat.reshape(n_classes, 2, X.shape[1])


def nonnegative_weights(A_seen: Array, A_unseen: Array, ridge: float) -> Array:
    """(n, m) the θ_u ≥ 0 of min ||a_u − θ_u A_s||² + ridge m⁻¹ tr(A_s A_sᵀ) ||θ_u||², many of them 0."""
    shift = np.sqrt(ridge * float((A_seen**2).sum()) / len(A_seen))
    system = np.vstack([A_seen.T, shift * np.eye(len(A_seen))])
    targets = np.hstack([A_unseen, np.zeros((len(A_unseen), len(A_seen)))])
    return np.array([nnls(system, target)[0] for target in targets]).reshape(len(A_unseen), len(A_seen))


def other_means(A: Array) -> Array:
    """(m, k) for each class the mean description of the others; 0 for a single class."""
    return np.asarray((A.sum(axis=0) - A) / max(len(A) - 1, 1))


def direction_bases(A: Array) -> Array:
    """(m, 2, k) an orthonormal basis of the span of e_s and ē_{−s} for each class; a zero row where parallel."""
    first = unit_rows(A)
    rest = other_means(A)
    rest = rest - (rest * first).sum(axis=1, keepdims=True) * first
    lengths = np.linalg.norm(rest, axis=1, keepdims=True)
    return np.stack([first, np.where(lengths > 1e-10, rest / np.maximum(lengths, 1e-300), 0)], axis=1)
