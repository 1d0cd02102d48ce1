"""FIT: CDL, two dictionaries with one code for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from superproto.baselines._shared.predicted_prototypes import class_means, labeled_class_sums, unit_semantics
from superproto.baselines.base import Baseline
from superproto.estimator.validation import Problem
from superproto.hpl.objective.alignment import one_way_codes, one_way_codes_of_descriptions
from superproto.hpl.objective.dictionary import dictionary_by_blocks, project_rows
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


@dataclass(eq=False, repr=False)
class CDL(Baseline):
    """Coupled dictionary learning: visual prototypes and descriptions share codes over two dictionaries.

    It minimizes ``‖X_s − C_s P_s‖² + α ‖P_s − Z D_v‖² + β ‖A_s − Z D_c‖²`` with rows of D_v and D_c in the unit ball.
    Each block is solved exactly: ``p_j = (sums_j + α z_j D_v) / (counts_j + α)``, Z in closed form, the dictionaries
    row by row. An unseen class has the code ``z_u = argmin ‖a_u − z D_c‖² + code_ridge ‖z‖²`` and the prototype
    ``z_u D_v``.

    Parameters
    ----------
    alpha : float, default=1.0
        Larger: prototypes follow the dictionary rather than their samples.
    beta : float, default=1.0
        Larger: codes follow descriptions rather than prototypes.
    atoms : float, default=0.6
        Size of the dictionaries, in units of the number of seen classes. Larger: finer codes, less sharing. From 1 on,
        every class is its own atom and the method is ``prototypes``.
    code_ridge : float, default=0.1
        Larger: codes of unseen classes use more atoms, more evenly.
    space : {"visual", "semantic", "aligned"}, default="visual"
        Where samples and classes are compared by cosine: features, descriptions or codes.
    max_iter : int, default=20
        Number of rounds over the blocks. Larger: a lower objective.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` seeds the K-means of
        the start when ``atoms`` < 1.

    Attributes
    ----------
    objective_ : array of shape (n_iter_,)
        The objective after each round; it never rises.
    prototypes_, codes_ : arrays of shape (C, d) and (C, q)
        P and Z of all classes.

    Notes
    -----
    The paper leaves the size of the dictionaries and the start open. Here they start at joint clusters of prototypes
    and descriptions. α and the first term are in units of the mean class size. Published (ResNet-101, proposed split):
    CUB 54.5, AWA1 69.9, SUN 63.6, aPY 43.0.

    References
    ----------
    Jiang, Wang, Shan and Chen, "Learning class prototypes via structure alignment for zero-shot recognition", ECCV
    2018.
    """

    method_key = "cdl"

    alpha: float = 1.0
    beta: float = 1.0
    atoms: float = 0.6
    code_ridge: float = 0.1
    space: str = "visual"
    max_iter: int = 20

    _positive: ClassVar[tuple[str, ...]] = ("alpha", "beta", "atoms", "max_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("code_ridge",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"space": ("visual", "semantic", "aligned")}

    def _learn(self, X: Array, problem: Problem) -> None:
        seen, A = problem.seen, unit_semantics(problem.semantics)
        sums, counts = labeled_class_sums(X, problem.labels, problem.n_classes)
        size = counts[seen].mean()
        prototypes, codes = self._alternate(sums[seen] / size, counts[seen] / size, A[seen])
        self.prototypes_ = np.zeros_like(sums)
        self.codes_ = np.zeros((problem.n_classes, codes.shape[1]))
        self.prototypes_[seen], self.codes_[seen] = prototypes, codes
        self.codes_[~seen] = one_way_codes_of_descriptions(A[~seen], self.semantic_dictionary_, self.code_ridge)
        self.prototypes_[~seen] = self.codes_[~seen] @ self.visual_dictionary_
        self.descriptions_ = A

    def _alternate(self, sums: Array, counts: Array, A: Array) -> tuple[Array, Array]:
        """Prototypes and codes of the seen classes; the dictionaries are stored."""
        P = sums / counts[:, None]
        D_v, D_c = self._first_atoms(P, A)
        weights, values = self.beta / self.alpha, []
        Z = one_way_codes(P, A, np.zeros((len(P), len(D_v))), D_v, D_c, weights)
        for _ in range(self.max_iter):
            P = (sums + self.alpha * Z @ D_v) / (counts + self.alpha)[:, None]
            gram = Z.T @ Z
            D_v = dictionary_by_blocks(D_v, gram, Z.T @ P, 1e-6, 5)
            D_c = dictionary_by_blocks(D_c, gram, Z.T @ A, 1e-6, 5)
            Z = one_way_codes(P, A, Z, D_v, D_c, weights)
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
        codes = one_way_codes_of_descriptions(X.astype(np.float64), self.visual_dictionary_, self.code_ridge)
        if self.space == "aligned":
            return unit_rows(codes) @ unit_rows(self.codes_).T
        return unit_rows(codes @ self.semantic_dictionary_) @ self.descriptions_.T
