"""SHOW: what the page is told, as plain numbers and texts for JSON: the state, a question, rows, classes, changes."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.explorer.questions import (
    BLIND,
    BLIND_EVERY,
    CLUSTER,
    SHOWN,
    Question,
    classes_without_answer,
    clusters_left,
)
from superproto.explorer.refit import NO_ANSWER, NONE_OF_THESE
from superproto.explorer.session import Session
from superproto.hpl.user_warnings import LOST
from superproto.samples.chunks import Array

STATES = ("open", "answered", "none", "skipped", "given")
SORTS = ("doubt", "sure", "class", "cluster", "row")
_MOST_ROWS = 300
_EXAMPLES = 4
_LONGEST_TEXT = 300
_LONGEST_DESCRIPTION = 2000
_STEEPEST = 20.0


def run_facts(session: Session) -> dict[str, Any]:
    """What does not change while the page is open."""
    run = session.run
    return {
        "name": run.name,
        "samples": len(run.given),
        "asked": int(run.asked.sum()),
        "pictures": run.photos is not None,
        "classes": [_short(name) for name in run.class_names],
        "seen": run.seen.tolist(),
        "sorts": list(SORTS),
        "states": list(STATES),
        "parquet": importlib.util.find_spec("pyarrow") is not None,
    }


def state(session: Session) -> dict[str, Any]:
    """How far the work is."""
    with session.lock:
        view, found = session.view, session.estimate()
        left, status = clusters_left(view), session.refitter.status
        codes = row_states(session)[session.run.asked]
        return {
            "version": session.version,
            "fit": session.record.number,
            "can_take_back": session.record.parent is not None,
            "questions": session.n_questions,
            "pending": session.pending(),
            "stage": 1 if left else 2,
            "clusters_left": left,
            "classes_left": classes_without_answer(view),
            "wrong": round(found.wrong, 1),
            "of": found.of,
            "blind": found.blind,
            "blind_wrong": found.blind_wrong,
            "counts": {name: int((codes == code).sum()) for code, name in enumerate(STATES)},
            "refit": {name: status.get(name) for name in ("running", "step", "of", "error", "notes", "seconds")},
            "map_improving": session.layout.improving,
        }


def question(session: Session) -> dict[str, Any] | None:
    """The next question with what is shown beside it; None where there is none."""
    with session.lock:
        asked = session.question()
        if asked is None:
            return None
        blind, row = asked.kind == BLIND, asked.row
        likely, chances = _likeliest(session, row)
        if blind:
            likely = sorted(likely, key=lambda number: session.run.class_names[number])
        shown = asked.members if asked.kind == CLUSTER else [] if blind else session.layout.neighbors(row, SHOWN - 1)
        return {
            "kind": asked.kind,
            "number": session.n_questions + 1,
            "row": row,
            "guess": None if blind else int(session.labels([row])[0]),
            "size": asked.size,
            "why": _why(session, asked),
            "choices": [{"class": n, "chance": None if blind else round(float(chances[n]), 4)} for n in likely],
            "cells": cells(session, [row, *shown], hide=blind),
            "attributes": [] if blind else likely_attributes(session, row),
        }


def row_states(session: Session, rows: Any = slice(None)) -> Array:
    """The state of samples, as numbers in STATES."""
    answers = session.answers[rows]
    codes = np.where(session.run.given[rows] < 0, 0, STATES.index("given")).astype(np.int8)
    codes[session.skipped[rows]] = STATES.index("skipped")
    codes[answers >= 0] = STATES.index("answered")
    codes[answers == NONE_OF_THESE] = STATES.index("none")
    return codes


def cells(session: Session, rows: Iterable[int], hide: bool = False) -> list[dict[str, Any]]:
    """What a tile shows of each sample; ``hide``: without label and doubt."""
    rows = [int(row) for row in rows]
    with session.lock:
        labels, codes = session.labels(rows).tolist(), row_states(session, rows).tolist()
        return [
            {
                "row": row,
                "id": _short(session.ids([row])[0]),
                "label": None if hide else label,
                "doubt": None if hide else round(shown_doubt(session, row), 4),
                "state": STATES[code],
                "version": picture_version(session, row),
            }
            for row, label, code in zip(rows, labels, codes)
        ]


def shown_doubt(session: Session, row: int) -> float:
    """Nothing is doubtful about what a person said."""
    return 0.0 if session.answers[row] != NO_ANSWER else float(session.found.doubt[row])


def picture_version(session: Session, row: int) -> str:
    """Part of a picture's address, so that a browser may keep it: another content has another one."""
    return hashlib.blake2b(session.key(row).encode("utf-8", "replace"), digest_size=6).hexdigest()


def ordered_rows(session: Session, sort: str, label: int | None, kind: str | None, least: float, most: float) -> Array:
    """The samples that a filter leaves, sorted."""
    if sort not in SORTS or (kind is not None and kind not in STATES):
        raise UserError(f"Sort by {', '.join(SORTS)}; a state is one of {', '.join(STATES)}.")
    with session.lock:
        labels, codes = session.labels(), row_states(session)
        doubt = np.where(session.answers == NO_ANSWER, session.found.doubt, 0.0)
    keep = codes == STATES.index(kind) if kind else codes != STATES.index("given")
    if label is not None:
        keep &= labels == label
    if least > 0 or most < 1:
        keep &= (doubt >= least) & (doubt <= most)
    rows = np.flatnonzero(keep)
    if sort == "row":
        return rows
    keys = {
        "doubt": (-doubt[rows],),
        "sure": (doubt[rows],),
        "class": (doubt[rows], labels[rows]),
        "cluster": (session.found.doubt[rows], session.found.labels[rows]),
    }
    return rows[np.lexsort(keys[sort])]


def grid(session: Session, start: int, count: int, fresh: bool = True, **chosen: Any) -> dict[str, Any]:
    """A part of the sorted samples, and how many there are; not ``fresh``: in the order of the last call like this."""
    key = tuple(sorted(chosen.items()))
    rows = None if fresh else session.orders.get(key)
    if rows is None:
        rows = ordered_rows(session, **chosen)
        session.orders = {key: rows}
    part = rows[max(start, 0) : max(start, 0) + min(max(count, 0), _MOST_ROWS)]
    return {"total": len(rows), "start": start, "cells": cells(session, part.tolist())}


def sample(session: Session, row: int) -> dict[str, Any]:
    """All about one sample: likeliest classes, the most similar samples."""
    session.check_row(row)
    likely, chances = _likeliest(session, row)
    return {
        **cells(session, [row])[0],
        "choices": [{"class": n, "chance": round(float(chances[n]), 4)} for n in likely],
        "neighbors": cells(session, session.layout.neighbors(row)),
        "attributes": likely_attributes(session, row),
    }


def likely_attributes(session: Session, row: int) -> list[dict[str, Any]]:
    """What a sample that cannot be shown probably looks like: the mean description of its classes, by their chances."""
    run = session.run
    if run.photos is not None or run.attributes is None:
        return []
    return _strong_attributes(run.semantics, run.attributes, session.probabilities(row) @ run.semantics)


def some_samples(session: Session, rows: list[int]) -> list[dict[str, Any]]:
    """Tiles of samples that a person picked on the map."""
    return cells(session, [session.check_row(row) for row in rows[:_MOST_ROWS]])


def changes(session: Session) -> dict[str, Any] | None:
    """What the last fit changed."""
    found = session.differences()
    if found is None:
        return None
    with session.lock:
        groups = [
            {
                "old": group.old,
                "new": group.new,
                "count": len(group.rows),
                "doubt": group.doubt,
                "cells": cells(session, group.rows[:12]),
                "answered": len(group.answered),
                "example": cells(session, group.answered[:1]),
            }
            for group in found.groups[:40]
        ]
    return {"groups": groups, "changed": found.changed, "answers": found.answers}


def map_colors(session: Session) -> bytes:
    """Labels (int32), then doubt (a byte) and state (a byte) of every sample."""
    with session.lock:
        doubt = np.where(session.answers == NO_ANSWER, session.found.doubt, 0.0)
        parts = session.labels().astype("<i4"), np.round(255 * doubt).astype("u1"), row_states(session).astype("u1")
    return b"".join(part.tobytes() for part in parts)


# -- classes -----------------------------------------------------------------------------------------------------------


def class_cards(session: Session) -> list[dict[str, Any]]:
    """A card for each class, those with the most doubt first."""
    with session.lock:
        run, labels, found = session.run, session.labels(), session.found
        pool = np.flatnonzero(run.asked & (labels >= 0))
        pool = pool[np.lexsort((found.doubt[pool], labels[pool]))]
        starts = np.searchsorted(labels[pool], np.arange(len(run.class_names) + 1))
        share = wrong_share(session)
        cards = [
            _card(session, number, pool[starts[number] : starts[number + 1]], share)
            for number in range(len(starts) - 1)
        ]
    return sorted(cards, key=lambda card: (not card["lost"], -card["expected"], card["class"]))


def class_details(session: Session, number: int) -> dict[str, Any]:
    """What a class was taken to look like, and what it is confused with."""
    if isinstance(number, bool) or not 0 <= number < len(session.run.class_names):
        raise UserError(f"There is no class {number}.")
    return {
        "class": number,
        "description": session.run.descriptions[number][:_LONGEST_DESCRIPTION],
        "attributes": _strong_attributes(session.run.semantics, session.run.attributes, session.run.semantics[number]),
        "taken": _taken_attributes(session, number),
        "shared": _shared_super_prototypes(session, number),
        "confused": _confused(session, number),
    }


def wrong_share(session: Session) -> float:
    """What the model's doubt is to be multiplied by, as answers tell: so that all parts sum to the estimate."""
    waiting = session.run.asked & (session.answers == NO_ANSWER)
    return session.estimate().wrong / max(float(session.found.doubt[waiting].sum()), 1e-12)


def _card(session: Session, number: int, rows: Array, share: float) -> dict[str, Any]:
    run, found = session.run, session.found
    own = rows[session.answers[rows] == NO_ANSWER]
    doubt = found.doubt[own]
    surest, least = rows[:_EXAMPLES].tolist(), own[::-1][:_EXAMPLES].tolist()
    return {
        "class": number,
        "description": run.descriptions[number][:_LONGEST_TEXT],
        "seen": bool(run.seen[number]),
        "given": int((run.given == number).sum()),
        "found": len(rows),
        "answered": int((session.answers == number).sum()),
        "doubt": round(float(doubt.mean()), 4) if len(doubt) else None,
        "expected": round(min(share * float(doubt.sum()), len(doubt)), 2),
        "lost": bool(found.class_doubt[number] > LOST and run.possible[number] and not run.seen[number]),
        "missing": bool(found.missing[number]),
        "surest": cells(session, surest),
        "least": cells(session, [row for row in least if row not in surest]),
    }


def _likeliest(session: Session, row: int) -> tuple[list[int], Array]:
    """The classes that a sample most probably has, at most nine, its present label first; all chances."""
    chances = _calibrated(session, row, session.probabilities(row))
    order = np.argsort(-chances, kind="stable")
    likely = [int(number) for number in order if chances[number] > 0][:SHOWN]
    now = int(session.labels([row])[0])
    if now >= 0:
        likely = [now, *(number for number in likely if number != now)][:SHOWN]
    return likely, chances


def _calibrated(session: Session, row: int, chances: Array) -> Array:
    """The model's chances of one sample at the temperature at which its label is wrong as often as its doubt says."""
    label = int(session.found.labels[row])
    if label != int(chances.argmax()) or session.answers[row] != NO_ANSWER or not session.run.asked[row]:
        return chances
    goal, powers = 1 - float(session.found.doubt[row]), chances
    low, high = 0.0, _STEEPEST
    for _ in range(30):
        power = (low + high) / 2
        powers = np.where(chances > 0, (chances / chances[label]) ** power, 0.0)
        low, high = (low, power) if 1 / powers.sum() > goal else (power, high)
    return np.asarray(powers / powers.sum())


def _why(session: Session, asked: Question) -> str:
    things = "pictures" if session.run.photos is not None else "samples"
    if asked.kind == BLIND:
        found = session.estimate()
        so_far = f" So far {found.blind_wrong} of {found.blind} were wrong." if found.blind else ""
        return (
            f"Every {BLIND_EVERY}th question is blind: it measures how often labels that look sure are wrong.{so_far}"
        )
    if asked.kind == CLUSTER:
        size = (
            f"{asked.size} {things} look like these." if asked.size > 1 else f"No other {things[:-1]} looks like this."
        )
        if asked.name_taken:
            return f"{size} You gave this name to other {things}, so these are probably another class."
        wrong = min(wrong_share(session) * asked.expected, asked.size)
        renamed = "One answer names them all at the next refit."
        return f"{size} About {wrong:.0f} of their labels are probably wrong. {renamed}"
    return (
        f"This label is the most doubtful one that is left. It is wrong with a chance of {100 * asked.expected:.0f} %."
    )


def _strong_attributes(values: Array, names: list[str] | None, own: Array) -> list[dict[str, Any]]:
    """The attributes of a description that are most above those of all classes, in standard deviations."""
    if names is None or len(names) != values.shape[1]:
        return []
    spread = np.maximum(values.std(axis=0), 1e-12)
    distance = (own - values.mean(axis=0)) / spread
    most = [k for k in np.argsort(-distance)[:6] if distance[k] > 0]
    return [{"name": _short(names[k]), "value": round(float(distance[k]), 2)} for k in most]


def _taken_attributes(session: Session, number: int) -> list[dict[str, Any]]:
    """The same of what the class's code makes of it."""
    model = session.model
    made = model.codes_ @ model.semantic_super_prototypes_
    return _strong_attributes(made, session.run.attributes, made[number])


def _shared_super_prototypes(session: Session, number: int) -> list[dict[str, Any]]:
    """The super-prototypes that a class is made of, and the classes that are made of them too."""
    weights = np.abs(session.model.codes_)
    total = max(float(weights[number].sum()), 1e-12)
    found = []
    for part in np.argsort(-weights[number])[:3].tolist():
        others = [int(other) for other in np.argsort(-weights[:, part])[:4] if other != number][:3]
        found.append({"part": part, "share": round(float(weights[number, part]) / total, 3), "classes": others})
    return found


def _confused(session: Session, number: int) -> list[dict[str, Any]]:
    """The classes that its samples might be instead, with the mean chance."""
    labels = session.labels()
    rows = np.flatnonzero(session.run.asked & (labels == number))[:200]
    if not len(rows):
        return []
    chances = session.model.predict_proba(np.asarray(session.run.X[rows], dtype=np.float32)).mean(axis=0)
    order = [int(other) for other in np.argsort(-chances) if other != number and chances[other] > 0.001]
    return [{"class": other, "chance": round(float(chances[other]), 4)} for other in order[:4]]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
