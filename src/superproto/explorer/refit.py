"""FIT: again with a person's answers, in the background; every fit is kept, so that a new one can be taken back."""

from __future__ import annotations

import copy
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from superproto.baselines.registry import load_model
from superproto.errors import UserError
from superproto.explorer.run import MODEL, OpenRun
from superproto.hpl.estimator import HPL
from superproto.samples.chunks import Array
from superproto.samples.readers import as_rows

NO_ANSWER, NONE_OF_THESE = -1, -2
_IN_MEMORY = 2**30
# Up to so many labels a class is placed by the unlabeled samples too.
MOST_LABELS = int(HPL.constants.few_labels)
# Descriptions only decide between clusters without an answer.
_DESCRIPTION_VOTE = 0.01
_TABLES = """
CREATE TABLE IF NOT EXISTS fits (number INTEGER PRIMARY KEY, at REAL, file TEXT, parent INTEGER, seq INTEGER,
    signature TEXT);
CREATE TABLE IF NOT EXISTS fit_log (seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL, fit INTEGER, signature TEXT);
"""


class RunFit(NamedTuple):
    """A model of the run: its file, the model before it, and the newest event that it knows."""

    number: int
    file: str
    parent: int | None
    seq: int


class FoundLabels(NamedTuple):
    """What a model says: (N,) classes, -2 where none fits; (N,) doubt; (C,) doubt of the classes; (C,) missing ones."""

    labels: Array
    doubt: Array
    class_doubt: Array
    missing: Array


class FitStore:
    """The models of a run and which of them counts. The first one is what the run began with."""

    def __init__(self, database: sqlite3.Connection, run: OpenRun) -> None:
        self._database, self._run = database, run
        database.executescript(_TABLES)

    def current(self) -> RunFit:
        """The model that counts."""
        query = "SELECT fit FROM fit_log WHERE signature = ? ORDER BY seq DESC LIMIT 1"
        found = self._database.execute(query, (self._run.signature,)).fetchone()
        return self.record(0 if found is None else found[0])

    def record(self, number: int) -> RunFit:
        """The model of this number; the first where a file is gone."""
        query = "SELECT number, file, parent, seq FROM fits WHERE number = ? AND signature = ?"
        found = self._database.execute(query, (number, self._run.signature)).fetchone()
        if found is None or not (self._run.folder / found[1]).is_file():
            return RunFit(0, MODEL, None, 0)
        return RunFit(*found)

    def add(self, model: Any, parent: int, seq: int) -> RunFit:
        """Keep a new model; from now on it counts."""
        [(last,)] = self._database.execute("SELECT COALESCE(MAX(number), 0) FROM fits")
        record = RunFit(last + 1, f"fit-{last + 1}.safetensors", parent, seq)
        model.save(self._run.folder / record.file)
        at, signature = time.time(), self._run.signature
        self._database.execute("BEGIN IMMEDIATE")
        self._database.execute(
            "INSERT INTO fits VALUES (?, ?, ?, ?, ?, ?)", (record.number, at, record.file, parent, seq, signature)
        )
        self._log(record.number)
        self._database.execute("COMMIT")
        return record

    def choose(self, number: int) -> RunFit:
        """From now on this model counts."""
        self._log(number)
        return self.record(number)

    def _log(self, number: int) -> None:
        line = (time.time(), number, self._run.signature)
        self._database.execute("INSERT INTO fit_log (at, fit, signature) VALUES (?, ?, ?)", line)


def open_model(path: Path) -> Any:
    """A fitted HPL model that knows its doubt."""
    model = load_model(path)
    if not all(hasattr(model, name) for name in ("doubt_", "class_doubt_", "transduction_", "visual_prototypes_")):
        raise UserError(
            f"{path} is a model of {type(model).__name__}, which does not estimate its doubt. Fit one with hpl."
        )
    return model


def labels_of(model: Any, run: OpenRun, answers: Array) -> FoundLabels:
    """What a model says about the run's samples. ``answers`` (N,) are those that it was fitted with."""
    number = {str(name): row for row, name in enumerate(run.class_names)}
    used = getattr(model, "fitted_rows_", np.arange(len(run.given)))
    if len(model.transduction_) != len(used) or [str(name) for name in model.classes_.tolist()] != run.class_names:
        raise UserError(f"The model in {run.folder} was fitted to other samples or classes. Label them again.")
    names, rows = np.unique(model.transduction_, return_inverse=True)
    labels = np.where(answers == NO_ANSWER, NONE_OF_THESE, answers).astype(np.int32)
    labels[used] = np.array([number[str(name)] for name in names], dtype=np.int32)[rows]
    doubt = np.zeros(len(labels), dtype=np.float32)
    doubt[used] = model.doubt_
    return FoundLabels(labels, doubt, np.asarray(model.class_doubt_), np.asarray(model.missing_, dtype=bool))


def fit_with_answers(
    run: OpenRun, model: Any, found: Array, answers: Array, progress: Callable[[int, int], None] | None = None
) -> tuple[Any, list[str]]:
    """The model fitted again from where it ended, and its warnings. Answers count as labels.

    ``found`` (N,) are the model's labels. Samples of which a person said that none of the classes fits are left out,
    and so are :func:`surplus_answers`; the model's ``fitted_rows_`` are the others.
    """
    labels = np.where(answers == NO_ANSWER, run.given, answers)
    used = (answers != NONE_OF_THESE) & ~surplus_answers(run, model, found, answers)
    if not (labels[used] < 0).any():
        raise UserError("Every sample has an answer. There is nothing left to find.")
    names = np.array(run.class_names, dtype=object)
    y = np.array([None if label < 0 else names[label] for label in labels[used].tolist()], dtype=object)
    new: Any = type(model)(**{**model.get_params(deep=False), "candidates": _candidates(run, answers)})
    if progress is not None:
        new.set_params(callback=lambda step: progress(int(step.iteration), int(new.max_iter)))
    start = rename_clusters(model, run.possible & ~run.seen, found, np.where(run.asked, answers, NO_ANSWER))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        new.fit(_rows(run, used), y, semantics=run.semantics, class_names=np.array(run.class_names), init=start)
    new.set_params(callback=None)
    new.fitted_rows_ = np.flatnonzero(used)
    return new, [str(line.message) for line in said]


def surplus_answers(run: OpenRun, model: Any, found: Array, answers: Array) -> Array:
    """(N,) answers that hold but teach nothing: of a class without examples, all but the most typical ones.

    The model takes a class with more labels for a seen one, whose prototype is the mean of its labels. Answers about
    doubtful samples are no fair sample of their class, unless they are half of what was found of it.
    """
    surplus = np.zeros(len(answers), dtype=bool)
    for number in np.flatnonzero(run.possible & ~run.seen).tolist():
        rows = np.flatnonzero(run.asked & (answers == number))
        if len(rows) > MOST_LABELS and 2 * len(rows) < int((found == number).sum()):
            chances = model.predict_proba(np.asarray(run.X[rows], dtype=np.float32))[:, number]
            surplus[rows[np.argsort(-chances, kind="stable")[MOST_LABELS:]]] = True
    return surplus


def rename_clusters(model: Any, targets: Array, found: Array, answers: Array) -> Any:
    """The model with its prototypes given to other classes, where answers say that a cluster is another class.

    A fit that goes on from a cluster under a wrong name mostly keeps the name. So each cluster first gets the name
    that most answers in it say; where two are said to be one class, the larger one gets its name. The other clusters
    share the remaining names by what descriptions expect.
    """
    rows = np.flatnonzero(targets)
    place = np.full(len(targets), -1)
    place[rows] = np.arange(len(rows))
    said = np.flatnonzero((answers >= 0) & (found >= 0))
    said = said[targets[found[said]] & targets[answers[said]]]
    if not len(said) or (found[said] == answers[said]).all():
        return model
    votes = np.zeros((len(rows), len(rows)))
    np.add.at(votes, (place[found[said]], place[answers[said]]), 1)
    sizes = np.bincount(found[found >= 0], minlength=len(targets))[rows]
    votes *= (sizes / np.maximum(votes.sum(axis=1), 1))[:, None]
    prototypes, expected = model.visual_prototypes_[rows], (model.codes_ @ model.visual_super_prototypes_)[rows]
    fit = _unit(prototypes) @ _unit(expected).T
    clusters, names = linear_sum_assignment(votes + _DESCRIPTION_VOTE * fit, maximize=True)
    renamed = copy.copy(model)
    for attribute in ("visual_prototypes_", "class_bias_"):
        values = np.array(getattr(model, attribute))
        values[rows[names]] = values[rows[clusters]]
        setattr(renamed, attribute, values)
    return renamed


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def _candidates(run: OpenRun, answers: Array) -> Any:
    """What a sample without an answer may be: the classes of the beginning, and those that a person named."""
    if run.candidates == "all":
        return "all"
    possible = run.possible.copy()
    possible[answers[run.asked & (answers >= 0)]] = True
    return [name for name, there in zip(run.class_names, possible) if there]


def _rows(run: OpenRun, used: Array) -> Any:
    if run.X.shape[0] * run.X.shape[1] * 4 > _IN_MEMORY:
        rows: Any = as_rows(run.X)
        return rows if used.all() else rows.select(np.flatnonzero(used))
    return np.asarray(run.X[used] if not used.all() else run.X, dtype=np.float32)


class Refitter:
    """One fit at a time in a thread of its own; ``status`` tells how far it is."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self.status: dict[str, Any] = {"running": False, "step": 0, "of": 0, "error": None, "notes": []}

    def start(self, work: Callable[[Callable[[int, int], None]], list[str]]) -> bool:
        """Run the work with a function that it reports to; False where another one is under way."""
        if self.status["running"]:
            return False
        self.status = {"running": True, "step": 0, "of": 0, "error": None, "notes": [], "began": time.time()}
        self._thread = threading.Thread(target=self._do, args=(work,), daemon=True)
        self._thread.start()
        return True

    def wait(self) -> None:
        """Return when nothing is under way."""
        if self._thread is not None:
            self._thread.join()

    def _do(self, work: Callable[[Callable[[int, int], None]], list[str]]) -> None:
        def report(step: int, of: int) -> None:
            self.status.update(step=step, of=of)

        try:
            self.status["notes"] = work(report)
        except UserError as error:
            self.status["error"] = str(error)
        except Exception as error:  # the page must hear of it, whatever it is
            self.status["error"] = f"{type(error).__name__}: {error}"
        finally:
            self.status["seconds"] = time.time() - self.status["began"]
            self.status["running"] = False
