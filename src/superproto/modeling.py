"""FIT: a data set into a model that is ready to be kept: its answers are class names, and it knows when to refuse."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from superproto.backends.cluster import on_cluster
from superproto.errors import UserError
from superproto.methods import make_model
from superproto.rejection import learn_rejection
from superproto.task import Task

__all__ = ["fit_model", "named_labels"]


def fit_model(
    task: Task,
    method: str = "hpl",
    params: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    inductive: bool = False,
    rejection: bool = True,
    scheduler: str | None = None,
) -> Any:
    """A method fitted to a task, answering in class names; with ``rejection_``, a threshold learned by a second fit.

    ``scheduler``: the address of a Dask cluster to compute on, or "local" for one that is started for this fit.
    """
    model = make_model(method, params, candidates=task.candidates, seed=seed)
    if inductive and not task.is_inductive:
        task = task.inductive()
    with on_cluster(task.X, scheduler) as X:
        model.fit(X, named_labels(task), semantics=task.semantics, class_names=task.class_names)
    if rejection:
        try:
            model.rejection_ = learn_rejection(model, task)._asdict()
        except UserError as error:
            warnings.warn(f"No row can be refused with this model. {error}", UserWarning, stacklevel=2)
    return model


def named_labels(task: Task) -> Any:
    """(N,) class names, None where a label is asked for."""
    labels = np.full(len(task.y), None, dtype=object)
    labels[~task.asked] = np.asarray(task.class_names).astype(str)[task.y[~task.asked]]
    return labels
