"""LOAD: problems whose truth is known by construction, with one knob for each way in which real data are hard."""

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
    """Samples x = separation · a_c W / √k + noise: a class is a Gaussian whose center is linear in its description a_c.

    Parameters
    ----------
    separation : distance scale of the class centers in units of the noise; grows: easier.
    attribute_noise : standard deviation of the error in the descriptions that the task shows.
    domain_shift : length of the one random shift that all unseen samples share, in units of the noise.
    imbalance : largest over smallest class in the pool (geometric in between).
    effective_classes : how many of the pool's classes occur at all; None for every one.
    setting : "zsl", or "gzsl": a fifth of every seen class joins the pool.
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
