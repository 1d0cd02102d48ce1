"""FIT: BiDiLEL, a latent space in which unseen classes are placed by distances of descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import minimize

from superproto.baselines._shared.graphs import edges, nearest_neighbors
from superproto.baselines._shared.predicted_prototypes import (
    class_means,
    predict_unseen_prototypes,
    squared_distances,
    unit_semantics,
)
from superproto.baselines._shared.projections import principal_map
from superproto.baselines.base import LinearBaseline
from superproto.baselines.wdvsc import matching_targets, raw_centers
from superproto.estimator.kernel_ridge import regularized
from superproto.estimator.validation import Problem
from superproto.samples.chunks import Array
from superproto.samples.kernels import unit_rows


def class_graph(rows: Array, labels: Array, k: int) -> sparse.csr_matrix:
    """(N, N) symmetric 0/1 graph: the k nearest rows of the same class (unit rows)."""
    blocks, order = [], []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        index, _ = nearest_neighbors(rows[members], k)
        blocks.append(edges(index, np.ones(index.shape), len(members)))
        order.append(members)
    graph = sparse.block_diag(blocks, format="csr")
    place = np.argsort(np.concatenate(order))
    return graph.maximum(graph.T)[place][:, place]


def locality_preserving_map(rows: Array, graph: sparse.csr_matrix, n_components: int, ridge: float) -> Array:
    """(d, q) smallest generalized eigenvectors of Xᵀ L X v = μ (Xᵀ X + ridge · mean eigenvalue) v, L = D − W.

    Rows of one class are neighbors, so a direction is good when it is short within classes and long over all.
    """
    degree = np.asarray(graph.sum(axis=1)).ravel()
    within = rows.T @ (degree[:, None] * rows - graph @ rows)
    total = rows.T @ rows
    last = min(n_components, len(total)) - 1
    _, directions = linalg.eigh(within, regularized(total, ridge), subset_by_index=[0, last])
    return np.asarray(directions)


def sammon_stress(flat: Array, landmarks: Array, to_landmarks: Array, among: Array) -> tuple[float, Array]:
    """Σ (δ − d)²/δ over pairs (point, landmark) and (point, point), and its gradient in the points."""
    points = flat.reshape(len(among), landmarks.shape[1])
    value, slope = 0.0, np.zeros_like(points)
    for others, wanted, share in ((landmarks, to_landmarks, 1.0), (points, among, 0.5)):
        distances = np.sqrt(squared_distances(points, others)) + 1e-12
        used = wanted > 1e-12
        off = np.where(used, (distances - wanted) / np.where(used, wanted, 1), 0)
        value += share * float((off * off * wanted).sum())
        pull = 2 * off / distances
        slope += pull.sum(axis=1, keepdims=True) * points - pull @ others
    return value, slope.ravel()


def place_by_distance(landmarks: Array, to_landmarks: Array, among: Array, start: Array) -> Array:
    """Landmark Sammon mapping: points whose distances to fixed landmarks and to each other are the wanted ones."""
    arguments = (landmarks, to_landmarks, among)
    found = minimize(
        sammon_stress, start.ravel(), args=arguments, jac=True, method="L-BFGS-B", options={"maxiter": 200}
    )
    return np.asarray(found.x.reshape(start.shape))


@dataclass(eq=False, repr=False)
class BiDiLEL(LinearBaseline):
    """Bidirectional latent embedding: unseen classes placed in a latent space by the distances of their descriptions.

    Supervised locality preserving projection of the labeled samples makes the latent space. Unseen classes are points b
    with ``min Σ (δ − ‖b − b'‖)² / δ``. b' are the seen class means and the other unseen points, and δ the scaled
    distance of descriptions. The largest cosine wins. Unlabeled samples then adapt the points.

    Parameters
    ----------
    n_components : int, default=100
        Dimension of the latent space. Larger: directions that separate seen classes less join.
    n_neighbors : int, default=10
        Neighbors in the class graph; a point of self-training has ten times as many. Larger: smoother.
    shrinkage : float, default=0.1
        Larger: directions of little variance count less.
    adapt : {"structured", "self-training", "none"}, default="structured"
        "structured": K-means clusters of the unlabeled samples are matched one to one with the points. "self-training":
        a point moves to the mean of its nearest unlabeled samples.
    candidates, whiten, random_state, seen_bias
        Common to all baselines; see :class:`~superproto.baselines.base.Baseline`. ``random_state`` seeds principal
        components and K-means.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        Scores are ``x · w_c + b_c``: the latent cosine, up to a factor that all classes share.

    Notes
    -----
    The paper leaves the preparation open. Here principal components come first, latent samples have length 1, and the
    placement starts at prototypes predicted by kernel ridge. Published (GoogLeNet, structured prediction, as quoted by
    the HPL paper): AwA 92.6, CUB 62.8.

    References
    ----------
    Wang and Chen, "Zero-shot visual recognition via bidirectional latent embedding", IJCV 2017.
    """

    method_key = "bidilel"

    n_components: int = 100
    n_neighbors: int = 10
    shrinkage: float = 0.1
    adapt: str = "structured"

    _positive: ClassVar[tuple[str, ...]] = ("n_components", "n_neighbors")
    _nonnegative: ClassVar[tuple[str, ...]] = ("shrinkage",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"adapt": ("structured", "self-training", "none")}

    def _learn(self, X: Array, problem: Problem) -> None:
        center, directions = principal_map(X, 400, self.random_state)
        rows, known = (X - center) @ directions, ~problem.asked
        graph = class_graph(X[known], problem.labels[known], self.n_neighbors)
        latent_map = locality_preserving_map(rows[known], graph, self.n_components, self.shrinkage)
        latent = unit_rows(rows @ latent_map)
        points = self._place(latent, problem)
        if problem.asked.any() and not problem.seen.all():
            points = self._adapted(points, latent[problem.asked], problem)
        back = unit_rows(points) @ (directions @ latent_map).T
        self._store_linear(back, -back @ center)

    def _place(self, latent: Array, problem: Problem) -> Array:
        points = class_means(latent, problem.labels, problem.n_classes)
        A, seen = unit_semantics(problem.semantics), problem.seen
        if not seen.all():
            start = predict_unseen_prototypes(points[seen], A[seen], A[~seen])
            apart = np.sqrt(squared_distances(A, A))
            visual = np.sqrt(squared_distances(points[seen], points[seen]))
            scale = visual.sum() / (apart[np.ix_(seen, seen)].sum() or 1.0) or 1.0
            apart = scale * apart
            points[~seen] = place_by_distance(
                points[seen], apart[np.ix_(~seen, seen)], apart[np.ix_(~seen, ~seen)], start
            )
        return points

    def _adapted(self, points: Array, pool: Array, problem: Problem) -> Array:
        points, moving = points.copy(), problem.allowed & ~problem.seen
        if self.adapt == "structured":
            centers = raw_centers(pool, int(problem.allowed.sum()), self.random_state)
            targets, matched = matching_targets(points[problem.allowed], centers)
            number = np.cumsum(problem.allowed) - 1
            moving &= matched[number] > 0
            points[moving] = targets[number[moving]]
        elif self.adapt == "self-training":
            n_rows = min(10 * self.n_neighbors, len(pool))
            distances = squared_distances(points[moving], pool)
            points[moving] = pool[np.argpartition(distances, n_rows - 1, axis=1)[:, :n_rows]].mean(axis=1)
        return points
