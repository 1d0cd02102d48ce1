"""SHOW: state how reliable the labels of a fit are, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from superproto.estimator.forecast import Forecast
from superproto.hpl.user_warnings import LOST
from superproto.reporting.charts.frame import percent
from superproto.samples.chunks import Array

# A label with a larger uncertainty is called uncertain.
UNCERTAIN = 0.5
# Shares of uncertain labels: up to the first, labels are called reliable; up to the second, they need a check.
_RELIABLE, _MIXED = 0.1, 0.3
_NAMED = 5


class NextStep(NamedTuple):
    """A recommendation: a sentence, and a command if one helps."""

    text: str
    command: str = ""


class Findings(NamedTuple):
    """The input of the verdict.

    ``uncertainty`` (n,) is that of each label, or None without samples; ``ids`` are the names of the samples.
    ``unmatched``, ``absent`` and ``empty`` are names of classes: their description matches no cluster, they probably
    have no sample, or they received no label.
    """

    n_candidates: int
    uncertainty: Array | None
    ids: Sequence[str]
    unmatched: Sequence[str]
    absent: Sequence[str]
    empty: Sequence[str]
    accuracy: float | None
    forecast: Forecast | None = None


def say_verdict(found: Findings) -> list[str]:
    """Return sentences: first whether the labels can be used, then the problems found."""
    sentences = [_overall(found)]
    if found.accuracy is not None:
        sentences.append(f"The true labels are known here: {percent(found.accuracy)} per-class accuracy.")
    if found.forecast is not None:
        sentences.append(
            f"Forecast: {percent(found.forecast.accuracy)} per-class accuracy on unseen classes (chance: "
            f"{percent(found.forecast.chance)}), measured on seen classes that were labeled as if they were unseen."
        )
    if found.unmatched:
        sentences.append(
            f"The description matches no cluster of samples for {_listed(found.unmatched)}: "
            "samples with these labels probably belong to other classes."
        )
    if found.absent:
        sentences.append(f"{_listed(found.absent)} probably have no sample here.")
    empty = [name for name in found.empty if name not in found.absent]
    if empty:
        sentences.append(f"No sample received the label {_listed(empty)}.")
    return sentences


def _overall(found: Findings) -> str:
    if found.uncertainty is None:
        return "This report shows the model only. To see how its samples were labeled, give the data set with --pack."
    if not len(found.uncertainty):
        return "The data set has no unlabeled samples, so there is nothing to judge."
    n, uncertain = len(found.uncertainty), int(np.sum(found.uncertainty > UNCERTAIN))
    counted = f"{uncertain} of {n} labels are uncertain (uncertainty above {percent(UNCERTAIN)})"
    troubled = (len(found.unmatched) + len(found.empty)) / max(found.n_candidates, 1)
    worst = max(uncertain / n, troubled)
    if worst <= _RELIABLE:
        return f"Most labels look reliable: {counted}."
    if worst <= _MIXED:
        return f"Some labels should be checked before they are used: {counted}."
    return f"Do not use these labels without checking them: {counted}."


def next_steps(found: Findings, model: str, pack: str | None, setting: str, tuned: bool) -> list[NextStep]:
    """Return recommendations, the most useful first.

    ``model`` and ``pack`` are the names of the files in commands. Samples without a pack are those of a folder of
    pictures. ``tuned`` tells whether the parameters were tuned.
    """
    general = " --setting gzsl" if setting == "gzsl" else ""
    if found.uncertainty is None:
        return [NextStep("See the samples too.", f"superproto report {model} --pack PACK{general}")]
    steps = []
    if len(found.uncertainty):
        worst = [found.ids[i] for i in np.argsort(-found.uncertainty, kind="stable")[:_NAMED].tolist()]
        steps += [NextStep(f"Check the most uncertain samples first: {', '.join(worst)}."), _overview(model, pack)]
    doubted = list(dict.fromkeys([*found.unmatched, *found.empty]))
    if doubted:
        steps.append(
            NextStep(f"Compare the descriptions of {_listed(doubted)} with samples, correct them and fit again.")
        )
    if found.absent:
        steps.append(NextStep(f"If {_listed(found.absent)} cannot occur, remove them from the table of classes."))
    if found.accuracy is None and pack is not None:
        steps.append(
            NextStep("A few labels help most: write your corrections to the table of labels, then pack and fit again.")
        )
    if not tuned and pack is not None:
        steps.append(
            NextStep(
                "Try other parameters on held-out classes.",
                f"superproto tune {pack} -o tuned.json{general}",
            )
        )
    return steps


def _overview(model: str, pack: str | None) -> NextStep:
    """Return how to see and to correct all labels."""
    if pack is None:
        return NextStep(
            "A few corrections help most: review the pictures on a page in the browser, and refit there.",
            "superproto explore PHOTOS",
        )
    return NextStep(
        "Write all labels to a table, the most uncertain first.",
        f"superproto predict {model} {pack} -o predicted.csv --uncertain-first",
    )


def find_unmatched(model: Any, names: Sequence[str]) -> list[str]:
    """Return the unseen candidates whose description matches no cluster, the most uncertain first."""
    doubt = np.asarray(getattr(model, "class_doubt_", np.zeros(len(names))))
    described = np.flatnonzero(np.asarray(model.allowed_) & ~np.asarray(model.seen_classes_))
    order = described[np.argsort(-doubt[described], kind="stable")]
    return [names[c] for c in order.tolist() if doubt[c] > LOST]


def find_forecast(model: Any) -> Forecast | None:
    """Return the model's forecast of the accuracy on unseen classes; None if it has none."""
    found = getattr(model, "forecast_", None)
    return found if isinstance(found, Forecast) and np.isfinite(found.accuracy) else None


def find_absent(model: Any, names: Sequence[str]) -> list[str]:
    """Return the candidates that the model considers absent from the unlabeled samples."""
    missing = getattr(model, "missing_", None)
    return [] if missing is None else [names[c] for c in np.flatnonzero(missing).tolist()]


def _listed(names: Sequence[str]) -> str:
    """Join the first five names."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
