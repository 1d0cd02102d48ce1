"""The demo's report: what was described, what was found sweep by sweep, every picture's label, the honest average."""

from __future__ import annotations

from typing import Any

import numpy as np

from superproto.datasets.digits import DESCRIPTIONS
from superproto.metrics import confusion
from superproto.reporting.charts.charts import Series, heat_map, line_chart, scatter_chart
from superproto.reporting.charts.frame import percent
from superproto.reporting.charts.pictures import Picture, picture_grid
from superproto.reporting.digits_demo import Attempt, Choice, Demo, pixels_of
from superproto.reporting.markup import Markup, join, tag
from superproto.reporting.page import Page, figure_with, folded_section, note_paragraph, side_by_side, table, tiles

_INK = 16.0
_SHOWN = 40
_LINE = 20


def build_demo_page(demo: Demo) -> Page:
    """The page; `demo` holds every number on it."""
    unseen = _listed(demo.task.unseen_classes)
    before, after = (percent(demo.accuracy(a)) for a in (demo.inductive, demo.transductive))
    page = Page(
        "Digits that were never shown",
        f"superproto learned from labeled pictures of the other digits. Of {unseen} it had a description in words and "
        "a heap of pictures without labels; it worked out which is which.",
    )
    page.add(
        "In short",
        tiles(
            (after, f"of the digits {unseen} named right, with the unlabeled pictures (transductive)"),
            (before, "by the same model that never sees them before it is asked (inductive)"),
            (_average(demo), _average_says(demo)),
        ),
        note_paragraph(
            "All figures are per-class accuracy on the unseen digits. No label of theirs is used anywhere in fitting."
        ),
    )
    page.add("What it was told", _descriptions(demo))
    page.add("What it took each digit to look like", _prototypes(demo))
    page.add("How it settled", _settling(demo.transductive))
    page.add("What it mixed up", *_confusions(demo))
    page.add("The pictures it labeled", *_labeled(demo))
    if demo.choices:
        page.add(f"Every choice of {len(demo.task.unseen_classes)} digits", *_choices(demo))
    return page


def _average(demo: Demo) -> str:
    if not demo.choices:
        return "–"
    return percent(float(np.mean([choice.transductive for choice in demo.choices])))


def _average_says(demo: Demo) -> str:
    if not demo.choices:
        return "average over every choice of unseen digits: not asked for"
    before = percent(float(np.mean([choice.inductive for choice in demo.choices])))
    return f"on average over all {len(demo.choices)} choices of unseen digits (inductive: {before})"


def _descriptions(demo: Demo) -> Markup:
    traits = list(DESCRIPTIONS)
    unseen = set(demo.task.unseen_classes.tolist())
    drawing = heat_map(
        np.asarray(demo.task.semantics),
        [f"{digit} unseen" if digit in unseen else str(digit) for digit in range(10)],
        traits,
        says="Which digit has which trait",
        cell=22,
        numbers=False,
        slanted=True,
        tints=[1 if digit in unseen else 0 for digit in range(10)],
        hover=lambda i, j: f"{i}: {'has' if demo.task.semantics[i, j] else 'no'} {traits[j]}",
    )
    return figure_with(
        drawing,
        "The descriptions: segments of a pocket calculator's display, loops, strokes and bows of a printed digit, "
        "written down without looking at the pictures. For the orange rows this was all there was, apart from pictures "
        "without labels.",
    )


def prototypes_picture(demo: Demo) -> Markup:
    """What each unseen digit was taken to look like: told, sweep by sweep, found, truth."""
    task, unseen = demo.task, demo.task.unseen_classes
    steps = [_row(demo.inductive, np.asarray(task.X), demo.inductive.prototypes[-1][unseen])]
    sweeps = _telling_sweeps(demo.transductive)
    steps += [_row(demo.transductive, np.asarray(task.X), demo.transductive.prototypes[i][unseen]) for i in sweeps]
    pool, labels, truth = task.X[task.asked], demo.transductive.labels, task.truth[task.asked]
    steps.append([_ink(_mean(pool, labels == digit)) for digit in unseen])
    steps.append([_ink(_mean(pool, truth == digit)) for digit in unseen])
    columns = ["told", *(f"sweep {i + 1}" for i in sweeps), "found", "truth"]
    rows = [
        [Picture(step[number], hover=f"{digit}, {column}") for step, column in zip(steps, columns)]
        for number, digit in enumerate(unseen)
    ]
    return picture_grid(rows, [str(digit) for digit in unseen], columns, size=72, says="Prototypes sweep by sweep")


def _prototypes(demo: Demo) -> Markup:
    return figure_with(
        prototypes_picture(demo),
        "From left to right: the prototype that the description alone suggests; the prototype after sweeps over the "
        "unlabeled pictures (those that moved a label, and the last); the mean of the pictures that got the label; the "
        "mean of the pictures that deserve it, which the model never knew. Prototypes live in a whitened space: they "
        "are drawn through the affine map that best turns whitened samples back into pixels.",
    )


def _telling_sweeps(attempt: Attempt) -> list[int]:
    """The sweeps that moved a label, at most eight, and the last."""
    last = len(attempt.prototypes) - 1
    return sorted({*[i for i in range(last) if attempt.labels_changed[i]][:8], last})


def _settling(attempt: Attempt) -> Markup:
    sweeps, first = list(range(1, len(attempt.labels_changed) + 1)), attempt.first_fit
    parts = [Series("one prototype for a digit", sweeps[:first], attempt.objective[:first])]
    if first < len(sweeps):
        parts.append(Series("several for some", sweeps[first:], attempt.objective[first:]))
    objective = line_chart(parts, "sweep", "objective", says="The objective falls with every sweep")
    changed = line_chart(
        [Series("labels changed", sweeps, attempt.labels_changed)],
        "sweep",
        "labels changed (pictures)",
        says="Labels changed in each sweep",
        y_limits=(0, None),
    )
    return side_by_side(
        figure_with(
            objective,
            "The objective never rises: every block of unknowns is minimized exactly."
            + (" Digits whose pictures ask for it got several prototypes in between." if len(parts) > 1 else ""),
        ),
        figure_with(
            changed,
            "Pictures whose label changed in a sweep. The fit ends when objective or super-prototypes rest, too.",
        ),
    )


def _confusions(demo: Demo) -> list[Markup]:
    names = [str(digit) for digit in demo.task.unseen_classes]
    drawn = []
    for title, attempt in (("Inductive", demo.inductive), ("Transductive", demo.transductive)):
        _, counts = confusion(demo.task.expected, attempt.labels, demo.task.unseen_classes)
        picture = heat_map(
            counts, names, names, says=f"{title} confusion", row_title="digit", column_title="called", cell=64
        )
        drawn.append(figure_with(picture, f"{title}: {percent(demo.accuracy(attempt))} per-class accuracy."))
    return [side_by_side(*drawn)]


def _labeled(demo: Demo) -> list[Markup]:
    task, attempt = demo.task, demo.transductive
    pool, truth = task.X[task.asked], task.truth[task.asked]
    sure = attempt.model.label_distributions_[task.asked].max(axis=1)
    wrong = int((attempt.labels != truth).sum())
    blocks: list[Markup] = [
        note_paragraph(
            f"{len(pool)} pictures, {wrong} of them labeled wrong (framed and crossed; hover for the truth). "
            f"For each label the wrong ones come first, then the most doubtful; {_SHOWN} are shown, the rest unfold."
        )
    ]
    for digit in task.unseen_classes:
        members = np.flatnonzero(attempt.labels == digit)
        members = members[np.lexsort((sure[members], truth[members] == digit))]
        pictures = [
            Picture(
                _ink(pool[i]),
                hover=f"called {digit} ({percent(float(sure[i]))} sure)"
                + ("" if truth[i] == digit else f", is {truth[i]}"),
                wrong=bool(truth[i] != digit),
            )
            for i in members
        ]
        blocks.append(_rows_of(pictures[:_SHOWN], str(digit)))
        if len(pictures) > _SHOWN:
            blocks.append(
                folded_section(f"the other {len(pictures) - _SHOWN}", _rows_of(pictures[_SHOWN:], str(digit)))
            )
    return blocks


def _rows_of(pictures: list[Picture], name: str) -> Markup:
    rows = [pictures[i : i + _LINE] for i in range(0, len(pictures), _LINE)]
    return picture_grid(rows, [name] + [""] * (len(rows) - 1), size=42, says=f"Pictures labeled {name}")


def _choices(demo: Demo) -> list[Any]:
    before = np.array([choice.inductive for choice in demo.choices])
    after = np.array([choice.transductive for choice in demo.choices])
    own = tuple(int(digit) for digit in demo.task.unseen_classes)
    drawing = scatter_chart(
        before,
        after,
        [1 if choice.unseen == own else 0 for choice in demo.choices],
        ["a choice of unseen digits", "the one above"],
        hovers=[f"{_listed(c.unseen)}: {percent(c.inductive)} → {percent(c.transductive)}" for c in demo.choices],
        labels=("inductive accuracy", "transductive accuracy"),
        limits=((0, 1), (0, 1)),
        diagonal=True,
        text=percent,
        size=4.5,
        width=520,
        height=440,
        says="Accuracy with and without the pool for every choice of unseen digits",
    )
    ranked = sorted(demo.choices, key=lambda choice: choice.transductive)
    return [
        note_paragraph(
            f"Inductive {_mean_and_spread(before)}; transductive {_mean_and_spread(after)} (mean ± standard deviation "
            f"over {len(demo.choices)} choices). The pool helped in {int((after > before).sum())} of them and hurt in "
            f"{int((after < before).sum())}: where a description points at the wrong heap, the pool makes the mistake "
            "complete."
        ),
        side_by_side(
            figure_with(drawing, "Each point is one choice; above the dotted line the unlabeled pictures helped."),
            join([tag("h3", "Worst"), _ranking(ranked[:6]), tag("h3", "Best"), _ranking(ranked[::-1][:6])]),
        ),
    ]


def _ranking(choices: list[Choice]) -> Markup:
    rows = [[_listed(c.unseen), percent(c.inductive), percent(c.transductive)] for c in choices]
    return table(["unseen", "inductive", "transductive"], rows)


def _mean_and_spread(values: np.ndarray) -> str:
    return f"{100 * values.mean():.1f} ± {100 * values.std():.1f} %"


def _row(attempt: Attempt, samples: np.ndarray, prototypes: np.ndarray) -> list[np.ndarray]:
    return [_ink(row) for row in pixels_of(attempt, samples, prototypes)]


def _mean(pictures: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    return pictures[chosen].mean(axis=0) if chosen.any() else np.zeros(pictures.shape[1])


def _ink(pixels: np.ndarray) -> np.ndarray:
    return np.asarray(pixels, dtype=float).reshape(8, 8) / _INK


def _listed(numbers: Any) -> str:
    return ", ".join(str(int(number)) for number in numbers)
