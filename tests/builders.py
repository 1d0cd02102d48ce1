"""Small inputs and fits that several test modules share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from superproto import HPL, Task
from superproto.baselines._shared.gaussians import Moments
from superproto.baselines.registry import DEEP, METHODS
from superproto.datasets import make_task

# The methods without torch. tests/baselines/deep asks the others for the same, with few training steps.
SHALLOW = [name for name in METHODS if name not in DEEP]
VARIANTS = {
    "default": HPL(),
    "uniform prior": HPL(prior="uniform"),
    "no prior": HPL(prior=None),
    "own votes count": HPL.with_constants(own_vote=1.0)(),
    "discriminative": HPL(discriminative_weight=0.1),
    "hard": HPL(temperature=0.0),
    "published": HPL.as_published(),
    "published, gradient": HPL.as_published(dictionary_solver="gradient"),
    "published, whitened": HPL.as_published(whiten=True),
    "published, scaled": HPL.as_published(whiten=True, discriminative_weight=0.2, alignment_scale=0.5),
    "seen first": HPL.as_published(order="seen"),
    "hpl1": HPL.as_published(variant="hpl1"),
    "q < m": HPL(theta=0.3, random_state=0),
    "q > m": HPL(theta=0.9, random_state=0),
    "published, q < m": HPL.as_published(theta=0.3, random_state=0),
    "published, q > m": HPL.as_published(theta=0.9, random_state=0),
    "kmeans": HPL(init="kmeans", random_state=0),
    "affinity": HPL(init="affinity", random_state=0),
}


def fit_quietly(model: Any, X: Any, y: Any, semantics: Any, **more: Any) -> Any:
    """Fit without the advice (empty classes, few iterations) that tiny problems provoke."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y, semantics=semantics, **more)


def small_task(setting: str = "zsl", seed: int = 0, **changes: Any) -> Task:
    """8 seen and 3 unseen classes with 12 samples each, in 12 dimensions with 7 attributes."""
    chosen = {"n_seen": 8, "n_unseen": 3, "n_features": 12, "n_attributes": 7, "samples_per_class": 12}
    return make_task(setting=setting, random_state=seed, **{**chosen, **changes})


def described_task(setting: str = "zsl", **changes: Any) -> Task:
    """12 seen and 4 unseen classes: enough seen ones to hold some out."""
    return small_task(setting, **{"n_seen": 12, "n_unseen": 4, "n_attributes": 8, **changes})


def images_and_texts(
    sizes: tuple[int, ...] = (30,) * 10, gap: float = 3.0, noise: float = 1.0, seed: int = 0, dimension: int = 64
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images, a text vector per class and the truth; both lie about the same centers, each with its own offset."""
    rng = np.random.default_rng(seed)
    centers, common = rng.normal(size=(len(sizes), dimension)), gap * rng.normal(size=(2, dimension))
    truth = np.repeat(np.arange(len(sizes)), sizes)
    X = centers[truth] + common[0] + noise * rng.normal(size=(len(truth), dimension))
    return X, centers + common[1], truth


def no_moments(n_classes: int, n_features: int) -> Moments:
    """The moments of classes without a labeled sample."""
    nothing = np.zeros((n_classes, n_features))
    return Moments(np.zeros(n_classes), nothing, nothing.copy())


def law_task(setting: str, seed: int = 0, **changes: Any) -> Task:
    """7 seen and 4 unseen classes with 20 samples each, in 12 dimensions with 9 attributes."""
    chosen = {"n_seen": 7, "n_unseen": 4, "n_features": 12, "n_attributes": 9, "samples_per_class": 20}
    return make_task(setting=setting, random_state=seed, **{**chosen, **changes})


def fit_variant(model: HPL, task: Task, X: Any = None, semantics: Any = None, y: Any = None, **params: Any) -> HPL:
    """A copy of the model with these parameters, fitted to the task in float64, or to other arrays in its place."""
    model = clone(model).set_params(candidates=task.candidates, **params)
    return fit_quietly(
        model,
        np.asarray(task.X if X is None else X, dtype=np.float64),
        task.y if y is None else y,
        task.semantics if semantics is None else semantics,
    )
