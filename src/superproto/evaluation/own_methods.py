"""SCORE: evaluate the user's method: a class of another package, or an estimator, instead of a key of ``METHODS``.

It needs ``fit(X, y, semantics=...)``, where y is -1 for unlabeled samples, and ``predict(X)``. ``transduction_``,
``decision_function``, ``predict_proba`` and ``label_distributions_`` are used if it has them. ``candidates`` and
``random_state`` are set if they are parameters.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from superproto.baselines.registry import make_model
from superproto.errors import UserError
from superproto.samples.chunks import Array


def method_for(method: Any, params: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """Return an unfitted model from a key, ``package.module:Class``, or an estimator; options as in ``make_model``."""
    if isinstance(method, str):
        if ":" not in method:
            return make_model(method, params, **options)
        model = _construct(_imported(method), method, params)
    else:
        if not hasattr(method, "fit") or isinstance(method, type):
            raise UserError(
                f"method is {str(method)[:60]}, not an estimator. Give a name, or an object with fit and predict."
            )
        model = clone(method).set_params(**(params or {})) if hasattr(method, "get_params") else method
    missing = [name for name in ("fit", "predict") if not hasattr(model, name)]
    if missing:
        raise UserError(
            f"{type(model).__name__} has no method {missing[0]}. It needs fit(X, y, semantics=) and predict(X)."
        )
    _check_takes_semantics(model)
    if hasattr(model, "get_params"):
        fixed = {"candidates": options.get("candidates", "unseen"), "random_state": options.get("seed", 0)}
        model.set_params(**{name: value for name, value in fixed.items() if name in model.get_params(deep=False)})
    return model


def _check_takes_semantics(model: Any) -> None:
    try:
        accepted = inspect.signature(model.fit).parameters.values()
    except (TypeError, ValueError):
        return
    if not any(entry.name == "semantics" or entry.kind is entry.VAR_KEYWORD for entry in accepted):
        raise UserError(
            f"{type(model).__name__}.fit takes no semantics=, the descriptions of the classes. "
            "A method of your own needs fit(X, y, semantics=) and predict(X)."
        )


def _imported(spec: str) -> Any:
    """Import the class ``package.module:Class``; modules of the current folder are found too."""
    module, _, name = spec.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"{spec} cannot be imported ({error}). Write it as package.module:Class.") from None
    finally:
        sys.path.pop(0)


def _construct(kind: Any, spec: str, params: Mapping[str, Any] | None) -> Any:
    try:
        return kind(**(params or {}))
    except TypeError as error:
        raise UserError(f"{spec} cannot be constructed ({error}). Check its parameters.") from None


def pool_answers(model: Any, X: Array, asked: Array, n_classes: int) -> tuple[Array, Array, Array]:
    """Return labels, scores and probabilities of the unlabeled rows of a fit."""
    labels = np.asarray(model.transduction_)[asked] if hasattr(model, "transduction_") else None
    known: Any = model.label_distributions_[asked] if hasattr(model, "label_distributions_") else None
    known = known.toarray() if hasattr(known, "toarray") else known
    return row_answers(model, X[asked], n_classes, labels, known)


def row_answers(
    model: Any, rows: Array, n_classes: int, labels: Array | None = None, probabilities: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return labels, scores and probabilities of rows; known labels and probabilities are used as given.

    If the model has no probabilities, that of its label is 1. If it has no scores, they are the probabilities.
    """
    labels = _checked_labels(model, np.asarray(model.predict(rows)) if labels is None else labels, len(rows), n_classes)
    if probabilities is None and hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(rows)
    elif probabilities is None:
        probabilities = np.zeros((len(rows), n_classes))
        probabilities[np.arange(len(rows)), labels] = 1.0
    scores = model.decision_function(rows) if hasattr(model, "decision_function") else probabilities
    if np.shape(scores) != (len(rows), n_classes) or np.shape(probabilities) != np.shape(scores):
        raise UserError(f"{type(model).__name__} gives scores of shape {np.shape(scores)}. Give one column per class.")
    return labels, scores, probabilities


def _checked_labels(model: Any, labels: Array, n_rows: int, n_classes: int) -> Array:
    """Return the labels if they are row numbers of the descriptions, one for each row; raise otherwise."""
    name = type(model).__name__
    if labels.shape != (n_rows,):
        raise UserError(f"{name} gives labels of shape {labels.shape} for {n_rows} rows. Give one label per row.")
    if labels.dtype.kind not in "iu":
        raise UserError(f"{name} gives labels of type {labels.dtype}. Give row numbers of semantics, as in y.")
    wrong = np.flatnonzero((labels < 0) | (labels >= n_classes))
    if len(wrong):
        raise UserError(f"{name} gives the label {labels[wrong[0]]}, but there are classes 0 to {n_classes - 1}.")
    return labels
