"""FIT: fit a model to a data set, with class names as labels and a rejection threshold."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from superproto.baselines.registry import make_model
from superproto.datasets.own_files import read_classes, read_labels
from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.evaluation.rejection import learn_rejection
from superproto.files import PathLike
from superproto.samples.readers.dask import file_on_cluster, on_cluster
from superproto.samples.readers.on_disk import ids_of, open_rows


def fit_task(
    task: Task,
    method: str = "hpl",
    params: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    inductive: bool = False,
    rejection: bool = True,
    scheduler: str | None = None,
) -> Any:
    """Fit a method to a task and return the model, which predicts class names.

    Parameters
    ----------
    task : Task
    method : str, default="hpl"
        A key of METHODS.
    params : mapping, optional
        Parameters that differ from the defaults.
    seed : int, default=0
    inductive : bool, default=False
        Fit on labeled samples only.
    rejection : bool, default=True
        Learn a rejection threshold by a second fit and store it in ``rejection_``.
    scheduler : str, optional
        The address of a Dask cluster, or "local" to start one for this fit.
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
            warnings.warn(f"This model cannot reject rows. {error}", UserWarning, stacklevel=2)
    return model


def fit_files(
    features: PathLike,
    labels: PathLike,
    classes: PathLike,
    method: str = "hpl",
    params: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    candidates: str = "unseen",
    inductive: bool = False,
    scheduler: str | None = None,
) -> Any:
    """Fit a method to a file of features (.npy, .zarr, .h5, Parquet) that is read in chunks; return the model.

    ``labels`` and ``classes`` are tables as for ``superproto pack``. Progress is printed on standard error. No
    rejection threshold is learned. The other parameters are those of :func:`fit_task`.
    """
    described = read_classes(classes)
    model = make_model(method, params, candidates=candidates, seed=seed)
    if "verbose" in model.get_params():
        model.set_params(verbose=1)
    with file_on_cluster(features, scheduler) as rows:
        y = read_labels(labels, described.names, rows.n_rows, ids_of(open_rows(features), 0, rows.n_rows))
        known = np.flatnonzero([label is not None for label in y])
        if inductive:
            rows, y = rows.select(known), y[known]
        return model.fit(rows, y, semantics=described.semantics, class_names=described.names)


def named_labels(task: Task) -> Any:
    """Return the labels of a task as class names (N,), None for unlabeled samples."""
    labels = np.full(len(task.y), None, dtype=object)
    labels[~task.asked] = np.asarray(task.class_names).astype(str)[task.y[~task.asked]]
    return labels
