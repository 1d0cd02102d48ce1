"""LOAD: synthetic tasks, with one parameter for each difficulty of real data."""

from __future__ import annotations

import numpy as np

from superproto.datasets.pools import part_of_each_class, shifted_prior
from superproto.datasets.task import Task
from superproto.errors import UserError


def make_task(
    *,
    n_seen: int = 20,
    n_unseen: int = 5,
    n_features: int = 32,
    n_attributes: int = 16,
    samples_per_class: int = 40,
    separation: float = 3.0,
    attribute_noise: float = 0.0,
    domain_shift: float = 0.0,
    imbalance: float = 1.0,
    effective_classes: int | None = None,
    setting: str = "zsl",
    random_state: int = 0,
) -> Task:
    """Make a task of samples x = separation · a_c W / √k + noise.

    Each class is a Gaussian whose center is linear in its description a_c. The pool is the set of unlabeled samples.

    Parameters
    ----------
    n_seen, n_unseen : int
        Numbers of classes with and without labeled samples.
    n_features, n_attributes : int
        Lengths of a sample and of a class description.
    samples_per_class : int
    separation : float, default=3
        Distance scale of the class centers in units of the noise. Larger: easier.
    attribute_noise : float, default=0
        Standard deviation of an error added to the descriptions. Larger: harder.
    domain_shift : float, default=0
        Length of a shift that all samples of unseen classes share, in units of the noise. Larger: harder.
    imbalance : float, default=1
        Ratio of the largest to the smallest class of the pool; sizes between them are geometric. Larger: harder.
    effective_classes : int, optional
        How many classes of the pool have samples; None for all. Smaller: harder.
    setting : {"zsl", "gzsl"}, default="zsl"
        With "gzsl" a fifth of the samples of every seen class is unlabeled too.
    random_state : int, default=0

    Examples
    --------
    >>> from superproto.datasets import make_task
    >>> make_task(n_seen=3, n_unseen=2, samples_per_class=10).X.shape
    (50, 32)
    """
    _check(n_seen, n_unseen, n_features, n_attributes, samples_per_class, setting)
    rng = np.random.default_rng(random_state)
    classes = n_seen + n_unseen
    A = rng.standard_normal((classes, n_attributes))
    centers = separation * A @ rng.standard_normal((n_attributes, n_features)) / np.sqrt(n_attributes)
    shift = rng.standard_normal(n_features)
    centers[n_seen:] += domain_shift * shift / np.linalg.norm(shift)
    truth = np.repeat(np.arange(classes), samples_per_class)
    X = centers[truth] + rng.standard_normal((len(truth), n_features))
    shown = A + attribute_noise * rng.standard_normal(A.shape)
    asked = truth >= n_seen
    if setting == "gzsl":
        asked[part_of_each_class(truth[~asked], 0.2, rng)] = True
    if imbalance != 1:
        pool = np.flatnonzero(asked)
        kept = np.sort(np.concatenate([np.flatnonzero(~asked), pool[shifted_prior(truth[pool], imbalance, rng)]]))
        X, truth, asked = X[kept], truth[kept], asked[kept]
    task = Task(
        X=X.astype(np.float32),
        y=np.where(asked, -1, truth),
        semantics=shown.astype(np.float32),
        class_names=np.array([f"class {c}" for c in range(classes)]),
        truth=truth,
        candidates="unseen" if setting == "zsl" else "all",
        setting=setting,
        protocol="synthetic",
        pool=("unseen" if setting == "zsl" else "mixed") + (f" imbalance={imbalance:g}" if imbalance != 1 else ""),
        name=f"synthetic {random_state}",
    )
    return task if effective_classes is None else task.with_pool("few-classes", classes=effective_classes, seed=0)


def _check(
    n_seen: int, n_unseen: int, n_features: int, n_attributes: int, samples_per_class: int, setting: str
) -> None:
    least = {"n_seen": (n_seen, 1), "n_unseen": (n_unseen, 0), "n_features": (n_features, 1)}
    least |= {"n_attributes": (n_attributes, 1), "samples_per_class": (samples_per_class, 1)}
    for name, (value, minimum) in least.items():
        if value < minimum:
            raise UserError(f"{name}={value} must be at least {minimum}.")
    if setting not in ("zsl", "gzsl"):
        raise UserError(f"setting={setting!r} is not known. Give 'zsl' or 'gzsl'.")
    if setting == "gzsl" and samples_per_class < 2:
        raise UserError(
            f"samples_per_class={samples_per_class} leaves a seen class no labeled sample. Give at least 2."
        )
