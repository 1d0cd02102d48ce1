"""CHECK: a run that a person works on: its model's labels, the person's answers, the next question, fits."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.explorer import events as ev
from superproto.explorer.differences import Differences, compare_labels
from superproto.explorer.layout import Layout
from superproto.explorer.questions import (
    BLIND,
    QUESTION_KINDS,
    Check,
    ErrorEstimate,
    PoolView,
    Question,
    estimate_errors,
    next_question,
)
from superproto.explorer.refit import (
    NO_ANSWER,
    NONE_OF_THESE,
    FitStore,
    FoundLabels,
    Refitter,
    fit_with_answers,
    labels_of,
    open_model,
)
from superproto.explorer.run import OpenRun, open_database
from superproto.samples.chunks import Array

MOST_AT_ONE_STROKE = 500
_SOURCES = (*QUESTION_KINDS, "grid", "map", "classes", "changes", None)


class Session:
    """What the page and the exports ask. Every method may be called from any thread."""

    def __init__(self, run: OpenRun) -> None:
        self.run, self.lock = run, threading.RLock()
        self._database = open_database(run.folder)
        self.log, self.fits = ev.EventLog(self._database), FitStore(self._database, run)
        self.number = {name: row for row, name in enumerate(run.class_names)}
        self.refitter, self.layout = Refitter(), Layout(run)
        self.version = 0
        # The order in which a grid was shown last, by its filter.
        self.orders: dict[Any, Array] = {}
        self._read_events()
        self._use(self.fits.current().number)

    def close(self) -> None:
        """Release the database and the folder."""
        with self.lock:
            self._database.close()
            self.run.lock.close()

    # -- what is known -------------------------------------------------------------------------------------------------

    @property
    def view(self) -> PoolView:
        """All that questions depend on."""
        found, run = self.found, self.run
        targets = run.possible & ~run.seen if run.possible[~run.seen].any() else run.possible
        return PoolView(found.labels, found.doubt, self.answers, self.skipped, run.asked, targets)

    def labels(self, rows: Any = slice(None)) -> Array:
        """What holds now about samples: answers, then given labels, then the model's; -2 none of these."""
        with self.lock:
            given = np.where(self.run.given[rows] >= 0, self.run.given[rows], self.found.labels[rows])
            return np.where(self.answers[rows] == NO_ANSWER, given, self.answers[rows])

    def question(self) -> Question | None:
        """What to ask next."""
        with self.lock:
            return next_question(self.view, self.n_questions, int(self.run.signature[:8], 16))

    def estimate(self) -> ErrorEstimate:
        """How many labels are probably still wrong."""
        with self.lock:
            # What was answered about earlier models but the last says little about this one.
            recent = [check for fit, check in self.checks if check.blind or fit >= self.record.number - 1]
            return estimate_errors(self.view, recent)

    def pending(self) -> int:
        """Answers that the model has not seen."""
        with self.lock:
            return int((self.answers != self.fitted_answers).sum())

    def ids(self, rows: Iterable[int]) -> list[str]:
        """The ids of samples: paths below the folder of pictures, or names of rows."""
        return [self._sample(row)[0] for row in rows]

    def key(self, row: int) -> str:
        """What the sample is known by: the hash of its content, or its id."""
        return self._sample(row)[1]

    def probabilities(self, row: int) -> Array:
        """(C,) of one sample, by the model that counts."""
        model = self.model
        return np.asarray(model.predict_proba(np.asarray(self.run.X[row : row + 1], dtype=np.float32))[0])

    def check_row(self, row: Any) -> int:
        """A number that is a sample."""
        if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < len(self.run.given):
            raise UserError(f"There is no sample {row!r}. Samples are 0 to {len(self.run.given) - 1}.")
        return row

    # -- what a person does --------------------------------------------------------------------------------------------

    def answer(self, rows: Sequence[int], kind: str, name: str | None = None, source: str | None = None) -> int:
        """Keep an answer about some samples; how many. It is on the disk when this returns.

        kind : "class" (with a class name), "none" or "skip"; source : the question or view in which they were shown.
        """
        if not isinstance(rows, list) or not 0 < len(rows) <= MOST_AT_ONE_STROKE:
            raise UserError(f"An answer is about 1 to {MOST_AT_ONE_STROKE} samples.")
        if kind not in ("class", "none", "skip") or (kind == "class" and name not in self.number):
            raise UserError(
                f"'{name if kind == 'class' else kind}' is no answer. Give a class of the run, none or skip."
            )
        if source not in _SOURCES:
            raise UserError(f"'{source}' is no place that samples are shown in.")
        rows = list(dict.fromkeys(self.check_row(row) for row in rows))
        with self.lock:
            now, doubt = self.labels(rows).tolist(), self.found.doubt[rows].tolist()
            said = [(self.key(row), *self._said(n, kind, name), d) for row, n, d in zip(rows, now, doubt)]
            events = self.log.add(said, self.record.number, source)
            self._apply(events)
            return len(events)

    def undo(self) -> list[int]:
        """Take back the last answer; the samples that it was about."""
        with self.lock:
            taken = self.log.undo()
            self._read_events()
            return [row for event in taken if event.sample for row in self._rows_of(event.sample)]

    def merge(self, events: Iterable[ev.Event]) -> int:
        """Add the events of another person; how many were new."""
        with self.lock:
            count = self.log.merge(events)
            self._read_events()
            return count

    def refit(self) -> bool:
        """Begin to fit again with the answers; False where a fit is under way."""
        with self.lock:
            answers, seq, parent = self.answers.copy(), self.log.last(), self.record.number
            model, found = self.model, self.found.labels

        def work(report: Any) -> list[str]:
            new, notes = fit_with_answers(self.run, model, found, answers, report)
            with self.lock:
                self.fits.add(new, parent, seq)
                self._adopt(self.fits.current().number, new, answers)
            return notes

        return self.refitter.start(work)

    def take_back_fit(self) -> int:
        """Let the model before the present one count again; its number."""
        with self.lock:
            if self.record.parent is None:
                raise UserError("This is the first model of the run. There is none before it.")
            self._use(self.fits.choose(self.record.parent).number)
            return self.record.number

    def differences(self) -> Differences | None:
        """What the last fit changed; None at the first model."""
        with self.lock:
            if self.record.parent is None or self._before is None:
                return None
            return compare_labels(self._before[0], self.found, self._before[1], self.fitted_answers, self.run.asked)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _said(self, now: int, kind: str, name: str | None) -> tuple[str | None, str | None, str]:
        """(old, new, kind) of an event."""
        old = self.run.class_names[now] if now >= 0 else None
        if kind == "class":
            return old, name, ev.CONFIRM if name == old else ev.CORRECT
        return old, None, ev.NONE if kind == "none" else ev.SKIP

    def _sample(self, row: int) -> tuple[str, str]:
        with self.lock:
            [found] = self._database.execute("SELECT id, key FROM samples WHERE row = ?", (int(row),))
            return found  # type: ignore[no-any-return]

    def _rows_of(self, key: str) -> list[int]:
        return [row for (row,) in self._database.execute("SELECT row FROM samples WHERE key = ?", (key,))]

    def _read_events(self) -> None:
        """The state of every sample, from the log."""
        events = self.log.all()
        state, skipped = ev.current_state(events)
        self.answers = self._as_rows(state)
        self.skipped = np.zeros(len(self.answers), dtype=bool)
        for key in skipped:
            self.skipped[self._rows_of(key)] = True
        counted = ev.counted(events)
        self.n_questions = len({event.batch for event in counted if event.question in QUESTION_KINDS})
        self.checks = [(event.fit or 0, _check(event)) for event in counted if _is_check(event)]
        self.version += 1

    def _apply(self, events: Sequence[ev.Event]) -> None:
        """The same for new events, without reading the others again."""
        for event in events:
            rows = self._rows_of(event.sample or "")
            if event.kind == ev.SKIP:
                self.skipped[rows] = self.answers[rows] == NO_ANSWER
            else:
                self.answers[rows] = NONE_OF_THESE if event.new is None else self.number[event.new]
                self.skipped[rows] = False
            if _is_check(event):
                self.checks.append((event.fit or 0, _check(event)))
        self.n_questions += bool(events) and events[0].question in QUESTION_KINDS
        self.version += 1

    def _as_rows(self, state: dict[str, ev.Said]) -> Array:
        """(N,) answers; classes that the run does not have any more count as no answer."""
        answers = np.full(len(self.run.given), NO_ANSWER, dtype=np.int32)
        for key, said in state.items():
            known = said.new is None or said.new in self.number
            if known:
                answers[self._rows_of(key)] = NONE_OF_THESE if said.new is None else self.number[said.new]
        return answers

    def _answers_at(self, seq: int) -> Array:
        return self._as_rows(ev.current_state(self.log.all(until=seq))[0] if seq else {})

    def _use(self, number: int) -> None:
        """Open the model of this number, and what the one before it said."""
        record = self.fits.record(number)
        self._adopt(number, open_model(self.run.folder / record.file), self._answers_at(record.seq))

    def _adopt(self, number: int, model: Any, answers: Array) -> None:
        self.record = self.fits.record(number)
        self.found: FoundLabels = labels_of(model, self.run, answers)
        self.model, self.fitted_answers = _light(model), answers
        self._before: tuple[FoundLabels, Array] | None = None
        if self.record.parent is not None:
            before = self.fits.record(self.record.parent)
            known = self._answers_at(before.seq)
            self._before = labels_of(open_model(self.run.folder / before.file), self.run, known), known
        self.version += 1


def _is_check(event: ev.Event) -> bool:
    """Whether an event tells if a label of the model was right: the first answer to a question, one sample."""
    return (
        event.question in QUESTION_KINDS and event.kind != ev.SKIP and event.doubt is not None and event.old is not None
    )


def _check(event: ev.Event) -> Check:
    return Check(float(event.doubt or 0.0), event.new != event.old, event.question == BLIND)


def _light(model: Any) -> Any:
    """Without what the page keeps in arrays of its own."""
    model.transduction_ = model.label_distributions_ = model.doubt_ = None
    return model
