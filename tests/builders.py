"""Small inputs and fits that several test modules share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from superproto import Task
from superproto.baselines._shared.gaussians import Moments
from superproto.datasets import make_task


def fit_quietly(model: Any, X: Any, y: Any, semantics: Any, **more: Any) -> Any:
    """Fit without the advice (empty classes, few iterations) that tiny problems provoke."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y, semantics=semantics, **more)


def small_task(setting: str = "zsl", seed: int = 0, **changes: Any) -> Task:
    """8 seen and 3 unseen classes with 12 samples each, in 12 dimensions with 7 attributes."""
    chosen = {"n_seen": 8, "n_unseen": 3, "n_features": 12, "n_attributes": 7, "samples_per_class": 12}
    return make_task(setting=setting, random_state=seed, **{**chosen, **changes})


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
