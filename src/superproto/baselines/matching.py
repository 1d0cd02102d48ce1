"""Clusters of the pool matched one to one with classes: BiDiLEL and structured prediction (SP-ZSR)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linear_sum_assignment, minimize

from superproto.baselines.base import LinearBaseline
from superproto.baselines.bilinear import gram, two_sided_ridge
from superproto.baselines.pool import edges, nearest
from superproto.baselines.projection import principal_map
from superproto.baselines.start import class_means, class_sums, predict_prototypes, squared_distances, unit_semantics
from superproto.baselines.transport import matching_targets, raw_centers
from superproto.inputs import Problem
from superproto.rows import Array
from superproto.whitening import unit_rows


def class_graph(rows: Array, labels: Array, k: int) -> sparse.csr_matrix:
    """(N, N) symmetric 0/1 graph: the k nearest rows of the same class (unit rows)."""
    blocks, order = [], []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        index, _ = nearest(rows[members], k)
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
    shift = max(ridge * np.trace(total) / len(total), np.finfo(float).tiny ** 0.5)
    last = min(n_components, len(total)) - 1
    _, directions = linalg.eigh(within, total + shift * np.eye(len(total)), subset_by_index=[0, last])
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


class BiDiLEL(LinearBaseline):
    """A latent space that keeps seen classes together, unseen classes placed in it by their semantic distances.

    Bottom-up: supervised locality preserving projection of the labeled rows. Top-down: unseen classes are points b
    with ``min Σ (δ − ||b − b'||)²/δ``, b' the means of the seen classes (landmarks) and the other unseen points, δ
    the distance of descriptions, scaled to the latent distances of seen classes. Largest cosine wins; with a pool,
    the points are then adapted: "structured" matches K-means clusters of the pool one to one with them,
    "self-training" moves each to the mean of the pool rows nearest to it.

    Left open, and chosen: principal components first; latent rows at length 1, or the longest would decide; the mapping
    starts at prototypes predicted by kernel ridge. Reference:
    Wang, Chen, *Zero-Shot Visual Recognition via Bidirectional Latent Embedding* (IJCV 2017): AwA 92.6, CUB 62.8
    (GoogLeNet, structured prediction, as quoted by HPL).

    Parameters
    ----------
    n_components : int, default=100
        Dimension of the latent space.
    n_neighbors : int, default=10
        Neighbors in the class graph; rows that a point moves to in self-training are ten times as many.
    shrinkage : float, default=0.1
        Grows: the latent space trusts directions with little variance less.
    adapt : {"structured", "self-training", "none"}, default="structured"
        What is done with a pool.
    candidates, whiten, seen_bias
        As everywhere in the zoo.
    random_state : int, default=None
        Of principal components and K-means.

    Attributes
    ----------
    classifiers_, offsets_ : arrays of shape (C, d) and (C,)
        Scores ``x · w_c + b_c``: the latent cosine up to the length of the latent row, which is the same for all
        classes.
    """

    _positive: ClassVar[tuple[str, ...]] = ("n_components", "n_neighbors")
    _nonnegative: ClassVar[tuple[str, ...]] = ("shrinkage",)
    _choices: ClassVar[dict[str, tuple[str, ...]]] = {"adapt": ("structured", "self-training", "none")}

    def __init__(
        self,
        n_components: int = 100,
        n_neighbors: int = 10,
        shrinkage: float = 0.1,
        adapt: str = "structured",
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage
        self.adapt = adapt
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias

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
            start = predict_prototypes(points[seen], A[seen], A[~seen])
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


class SPZSR(LinearBaseline):
    """Structured prediction: clusters of the pool are given to classes one to one, by the bilinear scores of samples.

    Instance score ``x W a_c`` (ridge on both sides); K-means of the pool; the bijection of clusters and classes with
    the largest total score (a linear program whose vertices are permutations: Hungarian method). Then, in turn,
    samples go to ``argmax <x, center_c> / σ + trust · <x, W a_c> / τ`` and centers to the mean of their samples; σ,
    τ: the standard deviations of the two scores.

    The source's instance score is a learned latent probability model; the closed-form bilinear score stands for it.
    Reference: Zhang, Saligrama, *Zero-Shot Recognition via Structured Prediction* (ECCV 2016): AwA 92.1, CUB 55.3,
    aPY 69.7 (VGG).

    Parameters
    ----------
    trust : float, default=0.3
        Grows: a sample's own bilinear score counts for more, its cluster for less.
    gamma, lam : float, default=1
        Ridge on features and on descriptions, in mean eigenvalues. Grow: smoother.
    n_iter : int, default=10
        Rounds of samples and centers.
    candidates, whiten, seen_bias
        As everywhere in the zoo.
    random_state : int, default=None
        Of K-means.

    Attributes
    ----------
    classifiers_ : array of shape (C, d)
        Both scores in one linear form.
    """

    _positive: ClassVar[tuple[str, ...]] = ("gamma", "lam", "n_iter")
    _nonnegative: ClassVar[tuple[str, ...]] = ("trust",)

    def __init__(
        self,
        trust: float = 0.3,
        gamma: float = 1.0,
        lam: float = 1.0,
        n_iter: int = 10,
        *,
        candidates: Any = "unseen",
        whiten: bool | float = False,
        random_state: Any = None,
        seen_bias: float = 0.0,
    ) -> None:
        self.trust = trust
        self.gamma = gamma
        self.lam = lam
        self.n_iter = n_iter
        self.candidates = candidates
        self.whiten = whiten
        self.random_state = random_state
        self.seen_bias = seen_bias

    def _learn(self, X: Array, problem: Problem) -> None:
        known, seen = ~problem.asked, problem.seen
        A = unit_semantics(problem.semantics)
        sums, counts = class_sums(X, problem.labels, problem.n_classes)
        mean_x, mean_a = known.sum() / X.shape[1], seen.sum() / A.shape[1]
        dual = two_sided_ridge(gram(X[known]), sums[seen], A[seen], self.gamma * mean_x, self.lam * mean_a)
        bilinear = A @ A[seen].T @ dual
        if not problem.asked.any() or seen.all():
            self._store_linear(bilinear)
            return
        pool, allowed = X[problem.asked], problem.allowed
        means = unit_rows(sums / np.maximum(counts, 1)[:, None])
        instance = bilinear[allowed] / max(float((pool @ bilinear[allowed].T).std()), 1e-12)
        centers, fixed = match_by_score(pool, instance, self.random_state), seen[allowed]
        centers[fixed] = means[allowed][fixed]
        for _ in range(self.n_iter):
            spread = max(float((pool @ centers.T).std()), 1e-12)
            classifiers = centers / spread + self.trust * instance
            chosen = (pool @ classifiers.T).argmax(axis=1)
            sums, counts = class_sums(pool, chosen, len(centers))
            moved = ~fixed & (counts > 0)
            centers[moved] = unit_rows(sums[moved])
        whole = np.zeros_like(bilinear)
        whole[allowed] = classifiers
        self._store_linear(whole)


def match_by_score(pool: Array, classifiers: Array, random_state: Any) -> Array:
    """(n, d) unit cluster centers of the pool, put to the classes that score highest in total; else the class's own."""
    centers = unit_rows(raw_centers(pool, len(classifiers), random_state))
    clusters, classes = linear_sum_assignment(centers @ classifiers.T, maximize=True)
    matched = unit_rows(classifiers)
    matched[classes] = centers[clusters]
    return matched
