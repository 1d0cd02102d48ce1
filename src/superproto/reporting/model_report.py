"""SHOW: the report of a fitted model: how samples were labeled, which labels are uncertain, what classes share."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from superproto.datasets.task import Task
from superproto.estimator.calibration import label_uncertainty
from superproto.evaluation.diagnostics import class_tree, confused_pairs, readable, super_prototypes
from superproto.hpl.user_warnings import LOST
from superproto.metrics import per_class_accuracy
from superproto.reporting.charts.charts import Series, bar_chart, line_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.model_figures import confusion_table, draw_tree, list_super_prototypes
from superproto.reporting.page import Page
from superproto.reporting.pool_map import draw_pool_map
from superproto.reporting.sample_pictures import LabeledPictures, show_pictures
from superproto.reporting.table import Table, TableCell
from superproto.reporting.verdict import Findings, find_absent, find_forecast, find_unmatched, next_steps, say_verdict
from superproto.samples.chunks import Array

_MAX_SAMPLES = 40
_MAX_CLASSES = 60
_MAX_WEAKEST = 15
_NEAREST = 8
# Width of a chart over the whole page.
_WIDTH = 1080


def build_report(
    model: Any,
    task: Task | None = None,
    *,
    images: Path | None = None,
    tuned: Mapping[str, Any] | None = None,
    attribute_names: list[str] | None = None,
    files: tuple[str, str | None] = ("MODEL", "PACK"),
    sample_names: Array | None = None,
) -> Page:
    """Build the report of a fitted model. With the task of its fit, the report also shows single samples.

    Parameters
    ----------
    model
        A fitted model of METHODS.
    task : Task, optional
        The task that it was fitted on.
    images : Path, optional
        The folder that contains the task's images.
    tuned : mapping, optional
        The content of a file that `superproto tune` wrote.
    attribute_names : list of str, optional
    files : (str, str or None)
        The names of the model and of the data set in the commands of the last section.
    sample_names : array, optional
        The name of each row of the data set.

    Returns
    -------
    Page
        Its method ``write(path)`` writes the HTML file.
    """
    return Page("model_report.html", summarize_model(model, task, images, tuned, attribute_names, files, sample_names))


def summarize_model(
    model: Any,
    task: Task | None = None,
    images: Path | None = None,
    tuned: Mapping[str, Any] | None = None,
    attribute_names: list[str] | None = None,
    files: tuple[str, str | None] = ("MODEL", "PACK"),
    sample_names: Array | None = None,
) -> dict[str, Any]:
    """Return the numbers, tables and charts of the report by name; None for a section without content."""
    names = readable(model.classes_)
    answers = None if task is None else _probabilities(model, task)
    shares = _shares(model, names, answers)
    called = [] if task is None else _names_of_samples(task, sample_names)
    found = _findings(model, task, answers, names, shares, called)
    return {
        "verdict": say_verdict(found),
        "steps": next_steps(found, *files, fitted_setting(model), tuned is not None),
        "method": type(model).__name__,
        "task": None if task is None else task.name,
        "n_seen": int(np.sum(model.seen_classes_)),
        "n_unseen": int(np.sum(~model.seen_classes_)),
        "numbers": _numbers(model, task, answers),
        "shares": shares,
        "descriptions": _descriptions(model, names) if np.any(getattr(model, "class_doubt_", 0)) else None,
        "codes": _codes(model, names, attribute_names) if hasattr(model, "semantic_super_prototypes_") else None,
        "objective": _objective(model) if len(getattr(model, "objective_", ())) > 1 else None,
        "parameters": _parameters(model, tuned),
        "samples": None if task is None or answers is None else _samples(model, task, answers, names, images, called),
    }


def _probabilities(model: Any, task: Task) -> Array:
    """Return the probabilities (n, C) of the unlabeled samples: those of the fit, then the later ones."""
    rows = np.concatenate([task.X[task.asked], task.later])
    return np.asarray(model.predict_proba(rows)) if len(rows) else np.empty((0, len(model.classes_)))


def _findings(
    model: Any,
    task: Task | None,
    answers: Array | None,
    names: list[str],
    shares: Mapping[str, Any] | None,
    called: list[str],
) -> Findings:
    known = task is not None and answers is not None
    return Findings(
        n_candidates=int(np.sum(model.allowed_)),
        uncertainty=None if answers is None else _label_uncertainty(model, answers),
        ids=called,
        unmatched=find_unmatched(model, names),
        absent=find_absent(model, names),
        empty=[] if shares is None or not shares["counted"] else shares["empty"],
        accuracy=_accuracy(task, answers) if known and task.truth_known else None,  # type: ignore[union-attr, arg-type]
        forecast=find_forecast(model),
    )


def _accuracy(task: Task, answers: Array) -> float:
    return per_class_accuracy(task.expected, answers.argmax(axis=1))


def _label_uncertainty(model: Any, answers: Array) -> Array:
    of_class = np.asarray(getattr(model, "class_doubt_", np.zeros(answers.shape[1])))
    return label_uncertainty(answers.max(axis=1), of_class[answers.argmax(axis=1)])


def _samples(
    model: Any, task: Task, answers: Array, names: list[str], images: Path | None, called: list[str]
) -> dict[str, Any]:
    """Return the sections about single samples. A map of pictures replaces the map of points."""
    pairs = confused_pairs(task.expected, answers.argmax(axis=1), names) if task.truth_known else None
    pictures = _pictures(model, task, answers, names, images) if len(answers) else None
    mapped = len(answers) > 2 and not (pictures and pictures["map"])
    return {
        "uncertainty": _uncertainty(model, answers, names, called) if len(answers) else None,
        "pictures": pictures,
        "map": _map(model, task, answers, names, called) if mapped else None,
        "nearest": _nearest(model, answers, names, called),
        "confusions": None if pairs is None else confusion_table(pairs),
    }


def _map(model: Any, task: Task, answers: Array, names: list[str], called: list[str]) -> dict[str, Any]:
    rows, uncertainty = np.concatenate([task.X[task.asked], task.later]), _label_uncertainty(model, answers)
    return draw_pool_map(model, rows, answers.argmax(axis=1), uncertainty, names, called)


def _pictures(model: Any, task: Task, answers: Array, names: list[str], images: Path | None) -> dict[str, Any] | None:
    """Return the sections with pictures of the samples; None if there are no pictures."""
    paths = _sample_paths(task)
    if images is None or paths is None:
        return None
    rows = np.concatenate([task.X[task.asked], task.later])
    uncertainty = _label_uncertainty(model, answers)
    return show_pictures(LabeledPictures(rows, answers.argmax(axis=1), uncertainty, paths, names, images))


def _numbers(model: Any, task: Task | None, answers: Array | None) -> list[tuple[str, str]]:
    pairs = [(str(len(model.classes_)), "classes")]
    if answers is not None and len(answers):
        pairs.append((str(len(answers)), "samples labeled"))
        pairs.append((percent(float(answers.max(axis=1).mean())), "mean probability of the label"))
    if task is not None and answers is not None and task.truth_known:
        pairs.append((percent(_accuracy(task, answers)), "per-class accuracy (the true labels are known)"))
    forecast = find_forecast(model)
    if forecast is not None:
        title = f"forecast for unseen classes (chance: {percent(forecast.chance)})"
        pairs.append((percent(forecast.accuracy), title))
    return pairs


def _shares(model: Any, names: list[str], answers: Array | None) -> dict[str, Any] | None:
    """Return the share of the unlabeled samples that each candidate received; None if the model does not know it."""
    counted = False
    if answers is not None and len(answers):
        counted = True
        shares = np.bincount(answers.argmax(axis=1), minlength=len(names)) / len(answers)
    elif hasattr(model, "class_prior_"):
        shares = np.asarray(model.class_prior_)
    else:
        return None
    allowed = np.flatnonzero(model.allowed_)
    order = allowed[np.argsort(-shares[allowed], kind="stable")]
    half = _MAX_CLASSES // 2
    shown = order if len(order) <= _MAX_CLASSES else np.concatenate([order[:half], order[-half:]])
    chart = bar_chart(
        [_marked(model, names, c) for c in shown], [shares[shown].tolist()], "share of the unlabeled samples", bar=10,
        text=percent, limits=(0, None), width=_WIDTH, alt="Share of the unlabeled samples by class",
    )  # fmt: skip
    return {
        "chart": chart,
        "counted": counted,
        "empty": [names[c] for c in order if shares[c] == 0 and not model.seen_classes_[c]],
        "half": half if len(shown) < len(order) else 0,
        "n_classes": len(order),
    }


def _descriptions(model: Any, names: list[str]) -> dict[str, Any]:
    """Draw the uncertainty of each unseen class. If a description matches no cluster, all labels of it may be wrong."""
    uncertainty = np.asarray(model.class_doubt_)
    described = np.flatnonzero(np.asarray(model.allowed_) & ~np.asarray(model.seen_classes_))
    order = described[np.argsort(-uncertainty[described], kind="stable")]
    chart = bar_chart(
        [names[c] for c in order[:_MAX_CLASSES]], [uncertainty[order[:_MAX_CLASSES]].tolist()], "uncertainty",
        limits=(0, 1), reference=LOST, bar=10, text=percent, width=_WIDTH, alt="Uncertainty of each class",
    )  # fmt: skip
    return {"chart": chart, "lost": find_unmatched(model, names)}


def _uncertainty(model: Any, answers: Array, names: list[str], called: list[str]) -> dict[str, Any]:
    """Return the uncertainty of the labels: over all samples, by class, and the most uncertain samples."""
    label, uncertainty = answers.argmax(axis=1), _label_uncertainty(model, answers)
    counts, edges = np.histogram(uncertainty, bins=10, range=(0, 1))
    chart = bar_chart(
        [f"{percent(low)} to {percent(low + 0.1)}" for low in edges[:-1]], [counts.tolist()], "samples",
        text=lambda value: f"{value:.0f}", alt="Number of samples by uncertainty", width=460,
    )  # fmt: skip
    by_class = sorted(
        ((float(uncertainty[label == c].mean()), names[c], int((label == c).sum())) for c in np.unique(label)),
        reverse=True,
    )
    weakest = [[name, percent(mean), count] for mean, name, count in by_class[:_MAX_WEAKEST]]
    return {
        "chart": chart,
        "classes": Table(["class", "mean uncertainty", "samples"], weakest),
        "samples": _most_uncertain(answers, uncertainty, names, called),
    }


def _most_uncertain(answers: Array, uncertainty: Array, names: list[str], called: list[str]) -> Table:
    order = np.argsort(-uncertainty, kind="stable")[:_MAX_SAMPLES]
    ranked = np.argsort(-answers[order], axis=1, kind="stable")[:, :2]
    rows = [
        [called[i], percent(uncertainty[i]), *(text for c in two for text in (names[c], percent(answers[i, c])))]
        for i, two in zip(order, ranked)
    ]
    # A model of one class has no runner-up.
    return Table(
        ["sample", "uncertainty", "label", "probability", "runner-up", "probability"][: 2 + 2 * ranked.shape[1]], rows
    )


def _nearest(model: Any, answers: Array, names: list[str], called: list[str]) -> dict[str, Any]:
    """Return the samples with the highest probability for every unseen class."""
    targets = np.flatnonzero(np.asarray(model.allowed_) & ~np.asarray(model.seen_classes_))
    targets = targets if len(targets) else np.flatnonzero(model.allowed_)
    label, rows = answers.argmax(axis=1), []
    for c in targets[:_MAX_CLASSES]:
        members = np.flatnonzero(label == c)
        members = members[np.argsort(-answers[members, c], kind="stable")][:_NEAREST]
        listed = ", ".join(called[i] for i in members) or "no sample"
        rows.append([names[c], TableCell((listed,), wrap=True)])
    return {"n_classes": len(targets), "table": Table(["class", "samples"], rows, text_columns=2)}


def fitted_setting(model: Any) -> str:
    """Return "gzsl" if seen and unseen classes were candidates together, else "zsl"."""
    allowed, seen = np.asarray(model.allowed_), np.asarray(model.seen_classes_)
    return "gzsl" if allowed.all() and seen.any() and not seen.all() else "zsl"


def _codes(model: Any, names: list[str], attribute_names: list[str] | None) -> dict[str, Any]:
    tree = class_tree(model, names)
    return {
        **draw_tree(tree["merges"], names, tree["unseen"], "Tree of the classes"),
        **list_super_prototypes(super_prototypes(model, names, attribute_names), attribute_names is not None),
    }


def _objective(model: Any) -> dict[str, Any]:
    values = np.asarray(model.objective_, dtype=float)
    line = Series("objective", range(1, len(values) + 1), values)
    return {
        "chart": line_chart([line], "iteration", "objective", alt="The objective by iteration"),
        "n_iterations": len(values),
    }


def _parameters(model: Any, tuned: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameters that differ from the default, and how they were chosen."""
    defaults = {name: entry.default for name, entry in inspect.signature(type(model)).parameters.items()}
    changed = [
        [name, str(value)]
        for name, value in sorted(model.get_params(deep=False).items())
        if name not in ("callback", "checkpoint", "random_state")
        and name in defaults
        and str(value) != str(defaults[name])
    ]
    return {
        "changed": Table(["parameter", "value"], changed, text_columns=2) if changed else None,
        "reason": None if tuned is None else str(tuned.get("reason", "")),
        "folds": _folds((tuned or {}).get("folds", [])),
        "rejection": _rejection(getattr(model, "rejection_", None)),
    }


def _folds(folds: list[Mapping[str, Any]]) -> Table | None:
    """Return the table of the folds: held-out classes, and scores of the default and of the chosen parameters."""
    if not folds:
        return None
    rows = [
        [str(fold.get("name", number)), *(str(fold.get(key, "")) for key in ("hidden_classes", "questions")),
         *(percent(fold[key]) if isinstance(fold.get(key), float) else "" for key in ("default_score", "score"))]
        for number, fold in enumerate(folds, start=1)
    ]  # fmt: skip
    return Table(["fold", "held-out classes", "samples", "default", "chosen"], rows)


def _rejection(learned: object) -> str:
    if not isinstance(learned, Mapping):
        return ""
    # Files of version 0.1.0 say "refused".
    rejected = learned.get("rejected", learned.get("refused"))
    found = [learned.get("threshold"), learned.get("kept"), rejected, learned.get("auroc")]
    if not all(isinstance(value, float) for value in found):
        return ""
    return (
        "A label is rejected if its confidence is below {:.3g}. This threshold was learned on held-out seen "
        "classes, where it keeps {:.0%} of the samples of known classes and rejects {:.0%} of those of unknown "
        "classes (area under the ROC curve {:.3f})."
    ).format(*found)


def _marked(model: Any, names: list[str], c: int) -> str:
    return names[c] if not model.seen_classes_[c] else f"{names[c]} (seen)"


def _sample_paths(task: Task) -> list[str] | None:
    if task.paths is None:
        return None
    later = [] if task.paths_later is None else [str(path) for path in task.paths_later]
    return [str(path) for path in task.paths[task.asked]] + later


def _names_of_samples(task: Task, sample_names: Array | None) -> list[str]:
    """Return the name of each unlabeled sample: its id, its file, or its row in the data set."""
    rows = np.concatenate([np.asarray(task.rows)[task.asked], np.asarray(task.rows_later)])
    if sample_names is not None:
        return [str(name) for name in sample_names[rows]]
    return _sample_paths(task) or [f"row {row}" for row in rows]
