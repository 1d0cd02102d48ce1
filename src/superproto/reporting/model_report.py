"""REPORT: a page about one's own fit: how the pool was labeled, which labels to doubt, what classes look like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from superproto.datasets.task import Task
from superproto.evaluation.diagnostics import class_tree, confused_pairs, readable, super_prototypes
from superproto.hpl.user_warnings import LOST
from superproto.metrics import per_class_accuracy
from superproto.reporting.charts.charts import Series, bar_chart, line_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.charts.pictures import Picture, picture_grid, thumbnail
from superproto.reporting.charts.trees import dendrogram
from superproto.reporting.markup import Markup, tag
from superproto.reporting.model_figures import super_prototype_table
from superproto.reporting.page import Page, figure_with, folded_section, note_paragraph, paragraph, table, tiles
from superproto.samples.chunks import Array

_DOUBTFUL = 40
_CLASSES = 60
_NEAREST = 8


def build_report(
    model: Any,
    task: Task | None = None,
    *,
    images: Path | None = None,
    tuned: Mapping[str, Any] | None = None,
    attribute_names: list[str] | None = None,
) -> Page:
    """The page of a fitted model; with the task it was fitted on, sample by sample.

    `images` is the folder that the task's image paths start from; `tuned` the content of a file that `tune` wrote.
    """
    names = readable(model.classes_)
    answers = None if task is None else _answers(model, task)
    page = Page(
        f"How {type(model).__name__} labeled {'its pool' if task is None else task.name}",
        f"{int(np.sum(model.seen_classes_))} classes with labeled samples, {int(np.sum(~model.seen_classes_))} known "
        "by their descriptions only.",
    )
    page.add("In short", *_summary(model, task, answers))
    page.add("How the pool was labeled", *_shares(model, names, answers))
    if np.any(getattr(model, "class_doubt_", 0)):
        page.add("Descriptions that match no cluster", *_names_in_doubt(model, names))
    if task is not None and answers is not None:
        page.add("Which labels to doubt", *_doubts(model, task, answers, names))
        page.add("What each class was taken to look like", *_nearest(model, task, answers, names, images))
        if task.truth_known:
            page.add("Against the truth", *_against_truth(task, answers, names))
    if hasattr(model, "codes_"):
        page.add("What the classes are made of", *_made_of(model, names, attribute_names))
    if hasattr(model, "objective_") and len(model.objective_) > 1:
        page.add("How it settled", _settling(model))
    page.add("What was chosen, and on which classes", *_choices(model, tuned))
    return page


def _answers(model: Any, task: Task) -> Array:
    """(questions, C) probabilities of the pool's rows and the later ones."""
    rows = np.concatenate([task.X[task.asked], task.later])
    return np.asarray(model.predict_proba(rows)) if len(rows) else np.empty((0, len(model.classes_)))


def _summary(model: Any, task: Task | None, answers: Array | None) -> list[Any]:
    pairs = [(str(len(model.classes_)), "classes")]
    if answers is not None and len(answers):
        pairs.append((str(len(answers)), "samples labeled"))
        pairs.append((percent(float(answers.max(axis=1).mean())), "mean probability of the label given"))
    if task is not None and answers is not None and task.truth_known:
        accuracy = per_class_accuracy(task.expected, answers.argmax(axis=1))
        pairs.append((percent(accuracy), "per-class accuracy, where the truth is known"))
    return [tiles(*pairs)]


def _shares(model: Any, names: list[str], answers: Array | None) -> list[Any]:
    allowed = np.flatnonzero(model.allowed_)
    if answers is not None and len(answers):
        shares = np.bincount(answers.argmax(axis=1), minlength=len(names)) / len(answers)
        says = "Share of the pool that each candidate class received."
    elif hasattr(model, "class_prior_"):
        shares, says = np.asarray(model.class_prior_), "Share of the pool that each class was found to have."
    else:
        return [note_paragraph("The model keeps no labels of its pool. Give its data set with --pack.")]
    order = allowed[np.argsort(-shares[allowed], kind="stable")]
    empty = [names[c] for c in order if shares[c] == 0]
    shown = order if len(order) <= _CLASSES else np.concatenate([order[: _CLASSES // 2], order[-_CLASSES // 2 :]])
    chart = bar_chart(
        [_marked(model, names, c) for c in shown], [shares[shown].tolist()], "share of the pool", bar=10, text=percent,
        limits=(0, None), says="Share of the pool by class",
    )  # fmt: skip
    cut = "" if len(shown) == len(order) else f" The {_CLASSES // 2} largest and smallest of {len(order)}."
    warning = [paragraph(f"No sample was found for {', '.join(empty)}: look at their descriptions.")] if empty else []
    return [*warning, figure_with(chart, says + cut)]


def _doubts(model: Any, task: Task, answers: Array, names: list[str]) -> list[Any]:
    if not len(answers):
        return [note_paragraph("Nothing was asked.")]
    doubt, label = _doubt(model, answers), answers.argmax(axis=1)
    counts, edges = np.histogram(doubt, bins=10, range=(0, 1))
    chart = bar_chart(
        [f"{percent(low)} to {percent(low + 0.1)}" for low in edges[:-1]], [counts.tolist()], "samples",
        text=lambda value: f"{value:.0f}", says="How doubtful the labels are", width=460,
    )  # fmt: skip
    by_class = sorted(
        ((float(doubt[label == c].mean()), names[c], int((label == c).sum())) for c in np.unique(label)), reverse=True
    )
    weakest = [[name, percent(mean), str(count)] for mean, name, count in by_class[:15]]
    caption = (
        "How many labels have which doubt: it grows where the label's probability is low, and where its class's name "
        "is in doubt. It ranks what to look at first; it does not count errors."
    )
    return [
        figure_with(chart, caption),
        paragraph("Classes whose labels are least sure:"),
        table(["class", "mean doubt", "samples"], weakest),
        _most_doubtful(task, answers, doubt, names),
    ]


def _doubt(model: Any, answers: Array) -> Array:
    """(questions,) as `HPL.doubt_`: a sample lies between classes, or its class has a wrong name; the mean is 1 - P."""
    named_wrong = np.asarray(getattr(model, "class_doubt_", np.zeros(answers.shape[1])))
    sure = answers.max(axis=1)
    both = sure * (1 - named_wrong[answers.argmax(axis=1)])
    return np.clip(1 - both * sure.sum() / max(float(both.sum()), 1e-12), 0.0, 1.0)


def _most_doubtful(task: Task, answers: Array, doubt: Array, names: list[str]) -> Markup:
    order, called = np.argsort(-doubt, kind="stable")[:_DOUBTFUL], _sample_names(task)
    ranked = np.argsort(-answers[order], axis=1, kind="stable")[:, :2]
    rows = [
        [called[i], percent(doubt[i]), *(text for c in two for text in (names[c], percent(answers[i, c])))]
        for i, two in zip(order, ranked)
    ]
    columns = ["sample", "doubt", "label", "probability", "runner-up", "probability"]
    return folded_section(f"The {len(rows)} most doubtful samples", table(columns, rows))


def _names_in_doubt(model: Any, names: list[str]) -> list[Any]:
    """Which descriptions fit no cluster of the pool: all labels of such a class may be another class's."""
    doubt = np.asarray(model.class_doubt_)
    described = np.flatnonzero(np.asarray(model.allowed_) & ~np.asarray(model.seen_classes_))
    order = described[np.argsort(-doubt[described], kind="stable")]
    lost = [names[c] for c in order if doubt[c] > LOST]
    says = (
        f"Samples called {', '.join(lost)} are rather another class's: the description matches none of the clusters."
        if lost
        else "None: every description fits the cluster that bears its name, more or less."
    )
    chart = bar_chart(
        [names[c] for c in order[:_CLASSES]], [doubt[order[:_CLASSES]].tolist()], "doubt in the class's name",
        limits=(0, 1), reference=LOST, bar=10, text=percent, says="Doubt in the name of each class",
    )  # fmt: skip
    caption = "0: the description fits the cluster that bears its name and no other; 1: it fits none."
    return [paragraph(says), figure_with(chart, caption)]


def _nearest(model: Any, task: Task, answers: Array, names: list[str], images: Path | None) -> list[Any]:
    """For every class that is only described: the samples that it is surest of."""
    targets = np.flatnonzero(np.asarray(model.allowed_) & ~np.asarray(model.seen_classes_))
    targets = targets if len(targets) else np.flatnonzero(model.allowed_)
    label, called = answers.argmax(axis=1), _sample_names(task)
    paths = _sample_paths(task)
    rows, drawn, drawn_names = [], [], []
    for c in targets[:_CLASSES]:
        members = np.flatnonzero(label == c)
        members = members[np.argsort(-answers[members, c], kind="stable")][:_NEAREST]
        photos = [thumbnail(images / paths[i]) for i in members] if images is not None and paths is not None else []
        if photos and all(photos):
            drawn.append([Picture(uri, hover=str(called[i])) for uri, i in zip(photos, members)])  # type: ignore[arg-type]
            drawn_names.append(names[c])
        rows.append([names[c], ", ".join(str(called[i]) for i in members) or "no sample"])
    said = note_paragraph(f"For each of {len(targets)} classes, the samples that it is surest of, the surest first.")
    listed = table(["class", "samples"], [[name, tag("span", text, class_="wrap")] for name, text in rows], left=2)
    if not drawn:
        return [said, folded_section("The list", listed)]
    grid = picture_grid(drawn, drawn_names, size=84, says="The surest samples of each class")
    return [said, figure_with(grid, "Hover for the file."), folded_section("As a list", listed)]


def _against_truth(task: Task, answers: Array, names: list[str]) -> list[Any]:
    pairs = confused_pairs(task.expected, answers.argmax(axis=1), names)
    rows = [[p["truth"], p["called"], str(p["samples"]), percent(p["share"])] for p in pairs]
    return [
        note_paragraph("The truth of this pool is known; nothing of it was used in fitting."),
        table(["is", "called", "samples", "of the class"], rows, left=2)
        if rows
        else paragraph("Every label is right."),
    ]


def _made_of(model: Any, names: list[str], attribute_names: list[str] | None) -> list[Any]:
    tree = class_tree(model, names)
    drawn = dendrogram(tree["merges"], names, tree["unseen"], says="Tree of the classes")
    figure = figure_with(
        drawn, "Classes joined by the likeness of their codes; hollow orange marks are unseen classes."
    )
    content = super_prototypes(model, names, attribute_names)
    shown = figure if len(names) <= _CLASSES else folded_section(f"The tree of all {len(names)} classes", figure)
    return [super_prototype_table(content, attribute_names is not None), shown]


def _settling(model: Any) -> Markup:
    values = np.asarray(model.objective_, dtype=float)
    chart = line_chart(
        [Series("objective", range(1, len(values) + 1), values)], "sweep", "objective", says="The objective by sweep"
    )
    return figure_with(chart, f"{len(values)} sweeps; the objective never rises.")


def _choices(model: Any, tuned: Mapping[str, Any] | None) -> list[Any]:
    chosen = [[name, str(value)] for name, value in sorted(model.get_params(deep=False).items()) if name != "callback"]
    blocks: list[Any] = []
    if tuned is not None:
        blocks.append(paragraph(str(tuned.get("reason", "")), " Nothing was chosen on a class of the pool."))
        folds = [
            [str(fold.get("name", number + 1)), *(f"{fold[key]}" for key in fold if key != "name")]
            for number, fold in enumerate(tuned.get("folds", []))
        ]
        if folds:
            blocks.append(table(["fold", *(key for key in tuned["folds"][0] if key != "name")], folds))
    rejection = getattr(model, "rejection_", None)
    if isinstance(rejection, Mapping):
        words = ", ".join(
            f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in rejection.items()
        )
        blocks.append(paragraph(f"When to refuse was learned on held-out seen classes: {words}."))
    if not blocks:
        blocks.append(
            paragraph("Nothing was tuned: these are the parameters that the model was given, or its defaults.")
        )
    return [*blocks, folded_section("All parameters", table(["parameter", "value"], chosen, left=2))]


def _marked(model: Any, names: list[str], c: int) -> str:
    return names[c] if not model.seen_classes_[c] else f"{names[c]} (seen)"


def _sample_paths(task: Task) -> list[str] | None:
    if task.paths is None:
        return None
    later = [] if task.paths_later is None else [str(path) for path in task.paths_later]
    return [str(path) for path in task.paths[task.asked]] + later


def _sample_names(task: Task) -> list[str]:
    """What to call each question: its file, or its row in the data set."""
    paths = _sample_paths(task)
    if paths is not None:
        return paths
    rows = np.concatenate([np.asarray(task.rows)[task.asked], np.asarray(task.rows_later)])
    return [f"row {row}" for row in rows]
