"""SHOW in words how far the labels of a fit can be trusted, and what to do next."""

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
# Shares of uncertain labels up to which labels are called reliable, and in need of a look.
_RELIABLE, _MIXED = 0.1, 0.3
_NAMED = 5


class NextStep(NamedTuple):
    """Something to do: a sentence, and the command that does it, if there is one."""

    text: str
    command: str = ""


class Findings(NamedTuple):
    """What the verdict is made of. Classes by name; ``uncertainty`` (n,) of the labels, None without samples."""

    n_candidates: int
    uncertainty: Array | None
    ids: Sequence[str]
    unmatched: Sequence[str]
    absent: Sequence[str]
    empty: Sequence[str]
    accuracy: float | None
    forecast: Forecast | None = None


def say_verdict(found: Findings) -> list[str]:
    """Sentences, the answer first: whether the labels can be used, then what speaks against it."""
    said = [_overall(found)]
    if found.accuracy is not None:
        said.append(f"The true labels are known here: {percent(found.accuracy)} per-class accuracy.")
    if found.forecast is not None:
        said.append(
            f"Forecast: {percent(found.forecast.accuracy)} per-class accuracy on unseen classes (chance: "
            f"{percent(found.forecast.chance)}), measured on seen classes that were labeled as if they were unseen."
        )
    if found.unmatched:
        said.append(
            f"The description matches no cluster of samples for {_listed(found.unmatched)}: "
            "samples with these labels probably belong to other classes."
        )
    if found.absent:
        said.append(f"{_listed(found.absent)} probably have no sample here.")
    empty = [name for name in found.empty if name not in found.absent]
    if empty:
        said.append(f"No sample received the label {_listed(empty)}.")
    return said


def _overall(found: Findings) -> str:
    if found.uncertainty is None:
        return (
            "Without the data set only the model can be shown, not how its samples were labeled. Give it with --pack."
        )
    if not len(found.uncertainty):
        return "The data set has no unlabeled samples, so there is nothing to judge."
    n, uncertain = len(found.uncertainty), int(np.sum(found.uncertainty > UNCERTAIN))
    counted = f"{uncertain} of {n} labels are uncertain (uncertainty above {percent(UNCERTAIN)})"
    troubled = (len(found.unmatched) + len(found.empty)) / max(found.n_candidates, 1)
    worst = max(uncertain / n, troubled)
    if worst <= _RELIABLE:
        return f"Most labels look reliable: {counted}."
    if worst <= _MIXED:
        return f"Some labels need a look before they are used: {counted}."
    return f"Do not use these labels unchecked: {counted}."


def next_steps(found: Findings, model: str, pack: str | None, setting: str, tuned: bool) -> list[NextStep]:
    """What to do, the most useful first. ``model`` and ``pack`` are the files, as they stand in commands.

    Samples without a pack are those of a folder of pictures.
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
        steps.append(NextStep(f"If {_listed(found.absent)} cannot occur, leave them out of the table of classes."))
    if found.accuracy is None and pack is not None:
        steps.append(
            NextStep(
                "A few labels help most: write those that you corrected into the table of labels, pack and fit again."
            )
        )
    if not tuned and pack is not None:
        steps.append(
            NextStep(
                "See whether other parameters do better on held-out classes.",
                f"superproto tune {pack} -o tuned.json{general}",
            )
        )
    return steps


def _overview(model: str, pack: str | None) -> NextStep:
    """How to see all labels and to correct them."""
    if pack is None:
        return NextStep(
            "A few answers help most: answer questions about the pictures on a page in the browser, and refit there.",
            "superproto explore PHOTOS",
        )
    return NextStep(
        "Write all labels to a table, the most uncertain first.",
        f"superproto predict {model} {pack} -o predicted.csv --uncertain-first",
    )


def find_unmatched(model: Any, names: Sequence[str]) -> list[str]:
    """Unseen candidates whose description matches no cluster, the most uncertain first."""
    doubt = np.asarray(getattr(model, "class_doubt_", np.zeros(len(names))))
    described = np.flatnonzero(np.asarray(model.allowed_) & ~np.asarray(model.seen_classes_))
    order = described[np.argsort(-doubt[described], kind="stable")]
    return [names[c] for c in order.tolist() if doubt[c] > LOST]


def find_forecast(model: Any) -> Forecast | None:
    """The model's forecast for unseen classes; None where it has none."""
    found = getattr(model, "forecast_", None)
    return found if isinstance(found, Forecast) and np.isfinite(found.accuracy) else None


def find_absent(model: Any, names: Sequence[str]) -> list[str]:
    """Candidates that the model takes for absent from the unlabeled samples."""
    missing = getattr(model, "missing_", None)
    return [] if missing is None else [names[c] for c in np.flatnonzero(missing).tolist()]


def _listed(names: Sequence[str]) -> str:
    """The first five by name."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
