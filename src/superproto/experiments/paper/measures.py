"""Every figure's measurement by name, and its record: measured once, then read back."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from superproto.baselines.registry import make_model, parameters_of
from superproto.experiments.paper.curves import convergence, parameters, timing
from superproto.experiments.paper.embedding import embedding
from superproto.experiments.paper.plan import Plan, Shelf
from superproto.experiments.paper.portrait import portrait
from superproto.experiments.records import Record, append_record, versions
from superproto.files import PathLike

Measure = Callable[[Plan, Shelf], dict[str, Any]]


def predictability(plan: Plan, shelf: Shelf) -> dict[str, Any]:
    """Fig. 3: how well each attribute is foretold on classes that were not trained on."""
    from superproto.evaluation.attribute_visibility import inspect_attributes

    found = inspect_attributes(shelf.task(), _attribute_names(plan, shelf))
    return {
        "folds": found.folds,
        "attributes": [[a.name, round(a.auc, 4), round(a.correlation, 4)] for a in found.attributes],
        "says": found.sentences(),
    }


def sizes(plan: Plan, shelf: Shelf) -> dict[str, Any]:
    """Table II: what the data set at hand has."""
    task, own = shelf.task(), shelf.task().validation_classes
    general = shelf.task("gzsl")
    val = None if own is None else len(own)
    asked_seen = int((~np.isin(general.expected, task.unseen_classes)).sum())
    standard = shelf.task("zsl", "ss") if shelf.has("ss") else None
    return {
        "attributes": int(task.semantics.shape[1]),
        "classes": len(task.semantics),
        "train_classes": len(task.seen_classes) - (val or 0),
        "val_classes": val,
        "unseen_classes": len(task.unseen_classes),
        "samples": int((~task.asked).sum()) + len(general.expected),
        "ss_labeled": None if standard is None else int((~standard.asked).sum()),
        "ss_unseen": None if standard is None else len(standard.expected),
        "ps_labeled": int((~task.asked).sum()),
        "ps_seen": asked_seen,
        "ps_unseen": len(task.expected),
    }


def measure_digits(*_: Any) -> dict[str, Any]:
    """The embedded digits: both accuracies for every choice of three unseen ones."""
    from superproto.datasets import digits as load_digits
    from superproto.reporting.digits_demo import UNSEEN, every_choice

    choices = every_choice(load_digits(UNSEEN), os.cpu_count() or 1)
    return {
        "unseen": list(UNSEEN),
        "choices": [[list(c.unseen), round(c.inductive, 4), round(c.transductive, 4)] for c in choices],
    }


MEASURES: dict[str, Measure] = {
    "digits": measure_digits,
    "sizes": sizes,
    "predictability": predictability,
    "convergence": lambda plan, shelf: convergence(shelf),
    "timing": lambda plan, shelf: timing(shelf),
    "embedding": lambda plan, shelf: embedding(shelf),
    "parameters": lambda plan, shelf: parameters(shelf),
    "portrait": lambda plan, shelf: portrait(shelf, _attribute_names(plan, shelf)),
}
# Needs no data set of the plan.
EMBEDDED = ("digits",)


def figure_key(name: str, shelf: Shelf | None) -> str:
    """What the record of a figure is known by."""
    return _record(name, shelf, {}, 0.0).key


def measure_figure(plan: Plan, name: str, shelf: Shelf | None, path: PathLike) -> Record:
    """Measure a figure on a data set (None: embedded) and append its record."""
    start = perf_counter()
    content = MEASURES[name](plan, shelf)  # type: ignore[arg-type]
    record = _record(name, shelf, content, perf_counter() - start)
    append_record(path, record)
    return record


def _record(name: str, shelf: Shelf | None, content: dict[str, Any], seconds: float) -> Record:
    """What a figure shows, as a record among the others."""
    task, data = ("digits", "embedded") if shelf is None else (shelf.data.name, shelf.digest())
    return Record(
        task=task,
        data=data,
        setting="zsl",
        protocol="ps",
        pool="unseen",
        method=f"figure {name}",
        # A figure of HPL's defaults is another one when these change.
        params=parameters_of(make_model("hpl")),
        chosen="defaults",
        seed=0,
        scores=content,
        seconds=round(seconds, 3),
        breakdown={},
        notes=[],
        versions=versions(),
    )


def _attribute_names(plan: Plan, shelf: Shelf) -> list[str] | None:
    names = plan.attributes.get(shelf.data.dataset.removesuffix("2"))
    return names if names is not None and len(names) == shelf.task().semantics.shape[1] else None
