"""FIT: STZSL, samples of seen classes transferred to unseen ones, then a linear SVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.svm import LinearSVC

from superproto.baselines._shared.graphs import confident_seeds
from superproto.baselines._shared.predicted_prototypes import KERNELS, RIDGE, start_prototypes
from superproto.baselines.base import LinearBaseline
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def diverse_choice(rows: Array, likeness: Array, n_chosen: int, diversity: float) -> Array:
    """Numbers of ``n_chosen`` rows, greedily: largest likeness − diversity · (largest cosine to a chosen one)."""
    n_chosen = min(n_chosen, len(rows))
    chosen = np.empty(n_chosen, dtype=np.int64)
    nearest_chosen = np.zeros(len(rows))
    free = likeness.astype(np.float64).copy()
    for step in range(n_chosen):
        chosen[step] = pick = int((free - diversity * nearest_chosen).argmax())
        free[pick] = -np.inf
        nearest_chosen = np.maximum(nearest_chosen, rows @ rows[pick])
    return chosen


@dataclass(eq=False, repr=False)
class STZSL(LinearBaseline):
    """Transferred samples: seen samples that resemble an unseen class get its label, then a linear SVM.

    Labeled samples are ranked by ``cos(x, p_u)``, p_u the predicted prototype of the unseen class. ``diversity`` times
    the largest cosine with a chosen sample is subtracted. The first ``n_transferred`` train a one-versus-rest SVM. In
    each further round, the unlabeled samples it is most confident of replace as many transferred ones.

    Parameters
    ----------
    n_transferred : int, default=20
        Samples given to each class. Larger: more varied and less similar samples.
    diversity : float, default=0.3
        Larger: chosen samples differ more from each other.
    n_rounds : int, default=3
        Rounds with confident unlabeled samples. Larger: more training on own predictions. 0: transferred samples only.
    penalty : float, default=1.0
        C of the SVM. Larger: fits the training samples more closely.
    ridge : float, default=0.1
        Ridge of the prototypes. Larger: unseen prototypes mix more seen classes, more evenly.
    kernel : {"linear", "rbf"}, default="linear"
        Kernel of the descriptions. "rbf" uses the nearest seen descriptions only.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` seeds the solver of
        the SVM.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        Of the SVM; predicted prototypes for other classes than the candidates.

    Notes
    -----
    The paper takes similarity from pretrained attribute detectors; here it is the cosine with predicted prototypes. A
    transferred sample is moved by ``p_u − mean of its own class``. Without this, classes that take samples of the same
    neighbors could not be told apart. Seen candidates train on their own samples. Published (VGG, as quoted by the HPL
    paper): AwA 83.7, CUB 58.7, aPY 54.4.

    References
    ----------
    Guo, Ding, Han and Gao, "Zero-shot learning with transferred samples", TIP 2017.
    """

    method_key = "stzsl"

    n_transferred: int = 20
    diversity: float = 0.3
    n_rounds: int = 3
    penalty: float = 1.0
    ridge: float = RIDGE
    kernel: str = "linear"

    _positive: ClassVar[tuple[str, ...]] = ("n_transferred", "penalty")
    _nonnegative: ClassVar[tuple[str, ...]] = ("diversity", "n_rounds", "ridge")
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"kernel": KERNELS}

    def _learn(self, X: Array, problem: Problem) -> None:
        prototypes = start_prototypes(X, problem, self.ridge, self.kernel)
        wanted = np.flatnonzero(problem.allowed)
        self._store_linear(unit_rows(prototypes))
        if len(wanted) < 2:
            return
        rows, labels = self._training_rows(X, problem, prototypes)
        self._train(rows, labels)
        pool = X[problem.asked]
        for _ in range(self.n_rounds if len(pool) and not problem.seen.all() else 0):
            scores = np.where(problem.allowed, self._score(pool), -np.inf)[:, wanted]
            sure, classes = np.nonzero(confident_seeds(scores, self.n_transferred))
            own = problem.seen[labels]
            self._train(np.concatenate([rows[own], pool[sure]]), np.concatenate([labels[own], wanted[classes]]))

    def _training_rows(self, X: Array, problem: Problem, prototypes: Array) -> tuple[Array, Array]:
        """Own rows of seen candidates, transferred and moved rows for unseen ones, and their labels."""
        known = np.flatnonzero(~problem.asked)
        own = known[problem.allowed[problem.labels[known]]]
        rows, labels = [X[own]], [problem.labels[own]]
        source, source_labels = X[known], problem.labels[known]
        likeness = source @ unit_rows(prototypes).T.astype(X.dtype)
        for unseen in np.flatnonzero(problem.allowed & ~problem.seen):
            near = np.argsort(-likeness[:, unseen], kind="stable")[: 10 * self.n_transferred]
            chosen = near[diverse_choice(source[near], likeness[near, unseen], self.n_transferred, self.diversity)]
            moved = source[chosen] + (prototypes[unseen] - prototypes[source_labels[chosen]])
            rows.append(unit_rows(moved.astype(X.dtype)))
            labels.append(np.full(len(chosen), unseen))
        return np.concatenate(rows), np.concatenate(labels)

    def _train(self, rows: Array, labels: Array) -> None:
        svm = LinearSVC(C=self.penalty, dual="auto", max_iter=10_000, random_state=self.random_state).fit(rows, labels)
        classifiers, offsets = self.classifiers_.copy(), self.offsets_.copy()
        if len(svm.classes_) == 2:
            classifiers[svm.classes_], offsets[svm.classes_] = (
                np.vstack([-svm.coef_, svm.coef_]),
                [-1, 1] * svm.intercept_,
            )
        else:
            classifiers[svm.classes_], offsets[svm.classes_] = svm.coef_, svm.intercept_
        self._store_linear(classifiers, offsets)
