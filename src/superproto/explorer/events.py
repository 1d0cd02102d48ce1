"""KEEP: what a person said about samples: events that are only ever added, each on the disk before the next question.

The state of a sample is its last event that was not undone. To undo is an event too, which names a batch. Samples and
classes are named by key and name, so that the events of two people can be put together.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from superproto.errors import UserError
from superproto.files import PathLike, existing_file

# What an event may be. A skip says nothing about the class.
CONFIRM, CORRECT, NONE, SKIP, UNDO = "confirm", "correct", "none of these", "skip", "undo"
_KINDS = (CONFIRM, CORRECT, NONE, SKIP, UNDO)
_COLUMNS = ("uid", "at", "origin", "sample", "old", "new", "kind", "batch", "undoes", "fit", "question", "doubt")
_TABLE = """
CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT UNIQUE NOT NULL, at REAL NOT NULL,
    origin TEXT NOT NULL, sample TEXT, old TEXT, new TEXT, kind TEXT NOT NULL, batch TEXT NOT NULL, undoes TEXT,
    fit INTEGER, question TEXT, doubt REAL);
"""
_LONGEST_LINE = 4 * 2**20
_CURE = "Give what `superproto export RUN --format events` wrote."


class Event(NamedTuple):
    """One thing that was said.

    uid : its own name; at : seconds since 1970; origin : whose log it is from; sample : key; old, new : class names;
    batch : what was said at one stroke; undoes : the batch that an undo takes back; fit : the number of the model whose
    label was shown; question : why the sample was shown ("cluster", "doubtful", "blind", "grid", "map", …); doubt : the
    chance, by that model, that its label was wrong.
    """

    uid: str
    at: float
    origin: str
    sample: str | None
    old: str | None
    new: str | None
    kind: str
    batch: str
    undoes: str | None = None
    fit: int | None = None
    question: str | None = None
    doubt: float | None = None


class Said(NamedTuple):
    """What holds about a sample: a class, or none of these (new is None)."""

    kind: str
    new: str | None


class EventLog:
    """The events of a run, in its database."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database, self._lock = database, threading.RLock()
        database.executescript(_TABLE)
        database.execute("CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT)")
        database.execute("INSERT OR IGNORE INTO settings VALUES ('origin', ?)", (json.dumps(secrets.token_hex(6)),))
        [(origin,)] = database.execute("SELECT value FROM settings WHERE name = 'origin'")
        self.origin: str = json.loads(origin)

    def add(
        self, said: Iterable[tuple[str, str | None, str | None, str, float]], fit: int, question: str | None
    ) -> list[Event]:
        """Add (sample, old, new, kind, doubt) at one stroke; they are on the disk when this returns."""
        with self._lock:
            batch, at = secrets.token_hex(8), self._now()
            events = [
                Event(
                    secrets.token_hex(8),
                    at + 1e-6 * i,
                    self.origin,
                    sample,
                    old,
                    new,
                    kind,
                    batch,
                    fit=fit,
                    question=question,
                    doubt=doubt,
                )
                for i, (sample, old, new, kind, doubt) in enumerate(said)
            ]
            self._insert(events)
            return events

    def undo(self) -> list[Event]:
        """Take back the last batch of this log that still counts; its events, none where nothing is left."""
        with self._lock:
            own = [event for event in self.all() if event.origin == self.origin]
            undone = {event.undoes for event in own}
            last = next((e for e in reversed(own) if e.kind != UNDO and e.batch not in undone), None)
            if last is None:
                return []
            taken = [event for event in own if event.batch == last.batch]
            note = Event(
                secrets.token_hex(8), self._now(), self.origin, None, None, None, UNDO, secrets.token_hex(8), last.batch
            )
            self._insert([note])
            return taken

    def all(self, until: int | None = None) -> list[Event]:
        """Events in the order of their time; ``until``: those that were in the log at this number."""
        with self._lock:
            limit = "" if until is None else f"WHERE seq <= {int(until)}"
            rows = self._database.execute(f"SELECT {', '.join(_COLUMNS)} FROM events {limit} ORDER BY at, uid")
            return [Event(*row) for row in rows]

    def last(self) -> int:
        """The number of the newest event."""
        with self._lock:
            [(last,)] = self._database.execute("SELECT COALESCE(MAX(seq), 0) FROM events")
            return int(last)

    def merge(self, events: Iterable[Event]) -> int:
        """Add the events of another log; those that are known stay as they are. How many were new."""
        with self._lock:
            before = self.last_count()
            self._insert(sorted(events, key=lambda event: (event.at, event.uid)), known="OR IGNORE")
            return self.last_count() - before

    def last_count(self) -> int:
        """How many events there are."""
        [(count,)] = self._database.execute("SELECT COUNT(*) FROM events")
        return int(count)

    def _insert(self, events: Sequence[Event], known: str = "") -> None:
        places = ", ".join("?" * len(_COLUMNS))
        self._database.execute("BEGIN IMMEDIATE")
        try:
            self._database.executemany(f"INSERT {known} INTO events ({', '.join(_COLUMNS)}) VALUES ({places})", events)
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise

    def _now(self) -> float:
        """The time, but never before that of an event of this log: a clock may be set back."""
        [(latest,)] = self._database.execute("SELECT COALESCE(MAX(at), 0) FROM events WHERE origin = ?", (self.origin,))
        return max(time.time(), latest + 1e-6)


def current_state(events: Sequence[Event]) -> tuple[dict[str, Said], set[str]]:
    """What holds about each sample, and the samples that were only skipped. Events are in the order of time."""
    undone = {event.undoes for event in events if event.kind == UNDO}
    state: dict[str, Said] = {}
    skipped: set[str] = set()
    for event in events:
        if event.kind == UNDO or event.batch in undone or event.sample is None:
            continue
        if event.kind == SKIP:
            skipped.add(event.sample)
        else:
            state[event.sample] = Said(event.kind, event.new)
    return state, skipped - set(state)


def counted(events: Sequence[Event]) -> list[Event]:
    """The answers that were not undone, in the order of time."""
    undone = {event.undoes for event in events if event.kind == UNDO}
    return [event for event in events if event.kind != UNDO and event.batch not in undone]


def event_line(event: Event) -> str:
    """An event as a line of JSON."""
    return json.dumps(event._asdict(), ensure_ascii=False)


def read_events(path: PathLike) -> list[Event]:
    """The events of a file that an export wrote."""
    path = existing_file(path)
    events = []
    with path.open(encoding="utf-8", errors="replace") as handle:
        for number, line in enumerate(iter(lambda: handle.readline(_LONGEST_LINE), ""), 1):
            if line.strip():
                events.append(_parsed(line, f"{path}, line {number}"))
    return events


def _parsed(line: str, where: str) -> Event:
    try:
        found: Any = json.loads(line)
        event = Event(**{name: found.get(name) for name in _COLUMNS})
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{where} is no event ({error}). {_CURE}") from None
    if not _is_sound(event):
        raise UserError(f"{where} is no event: it lacks a field, or has one of another kind. {_CURE}")
    return event._replace(at=float(event.at))


def _is_sound(event: Event) -> bool:
    texts = (event.uid, event.origin, event.batch, event.kind)
    optional = (event.sample, event.old, event.new, event.undoes, event.question)
    return (
        all(isinstance(text, str) for text in texts)
        and all(text is None or isinstance(text, str) for text in optional)
        and event.kind in _KINDS
        and isinstance(event.at, (int, float))
        and 0 <= event.at < 1e11
        and isinstance(event.fit, (int, type(None)))
        and isinstance(event.doubt, (int, float, type(None)))
    )
