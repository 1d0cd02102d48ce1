"""LOAD: describe a data set and its problems in sentences."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from superproto.datasets.cards import Card, recognize
from superproto.datasets.loading import read_source, summary
from superproto.datasets.packs import Pack, faults, repaired


@dataclass(frozen=True)
class Description:
    """What `superproto info` prints about a data set.

    ``leaks`` are training samples among the test samples, ``warnings`` are suspicious values, and ``faults`` make the
    data set unusable. ``card`` is that of the well-known data set it seems to be, or None.
    """

    name: str
    facts: tuple[str, ...]
    leaks: tuple[str, ...]
    warnings: tuple[str, ...]
    faults: tuple[str, ...]
    card: Card | None


def describe(path: str | os.PathLike[str], *, attributes: str = "att") -> Description:
    """Describe a pack or an xlsa17 folder; faults are listed and not raised."""
    raw = read_source(path, attributes=attributes)
    splits, _, remarks = repaired(raw.splits)
    pack = replace(raw, splits=splits)
    wrong = tuple(faults(pack))
    tables = pack.features.ndim == pack.semantics.ndim == 2
    names, (classes, attributes_) = pack.class_names.tolist(), pack.semantics.shape if tables else (0, 0)
    facts = () if not tables else (*summary(pack, "ps"), *(() if wrong else _facts(pack)))
    return Description(
        name=pack.name,
        facts=facts,
        leaks=() if wrong else (*(raw.notes or remarks), *_leaks(pack)),
        warnings=() if wrong else tuple(_warnings(pack)),
        faults=wrong,
        card=recognize(names, classes, attributes_, len(pack.features)) if tables else None,
    )


def _facts(pack: Pack) -> Iterator[str]:
    for split, rows in pack.splits.items():
        unknown = int((pack.labels[rows] < 0).sum())
        more = f", {unknown} of unknown class" if unknown else ""
        yield f"{split}: {len(rows)} samples of {len(pack.classes_of(split))} classes{more}."
    absent = _without_samples(pack)
    if len(absent) and (pack.labels < 0).any():
        named = f"first: '{pack.class_names[absent[0]]}'"
        yield f"{len(absent)} classes have no labeled sample ({named}): samples of unknown class may be of them."
    unused = len(pack.features) - len(np.unique(np.concatenate(list(pack.splits.values()))))
    if unused:
        yield f"{unused} samples are in no split."
    with np.errstate(over="ignore"):  # an infinite norm is a fact worth printing
        norms = np.sqrt(np.einsum("ij,ij->i", pack.features, pack.features, dtype=np.float32, casting="same_kind"))
    yield f"Feature rows have norm {norms.min():.3g} to {norms.max():.3g}, mean {norms.mean():.3g}."
    yield f"Descriptions range from {pack.semantics.min():.3g} to {pack.semantics.max():.3g}."


def _without_samples(pack: Pack) -> npt.NDArray[Any]:
    return np.setdiff1d(np.arange(len(pack.semantics)), pack.labels)


def _leaks(pack: Pack) -> Iterator[str]:
    """Yield how many test samples are also among the training samples."""
    for labeled, unlabeled in (
        ("trainval", "test_seen"),
        ("trainval", "test_unseen"),
        ("ss_trainval", "ss_test_unseen"),
    ):
        if labeled in pack.splits and unlabeled in pack.splits:
            given = set(_row_bytes(pack.features[pack.splits[labeled]]))
            repeated = sum(key in given for key in _row_bytes(pack.features[pack.splits[unlabeled]]))
            if repeated:
                yield f"{repeated} samples of {unlabeled}_loc repeat a sample of {labeled}_loc exactly."


def _warnings(pack: Pack) -> Iterator[str]:
    repeated = len(pack.features) - len(set(_row_bytes(pack.features)))
    if repeated:
        yield f"{repeated} of {len(pack.features)} samples repeat another one exactly."
    flat = int((np.ptp(pack.semantics, axis=0) == 0).sum())
    if flat:
        yield f"{flat} of {pack.semantics.shape[1]} attributes are the same for every class."
    alike = len(pack.semantics) - len(set(_row_bytes(pack.semantics)))
    if alike:
        yield f"{alike} classes have the same description as another class, so descriptions cannot distinguish them."
    empty = np.flatnonzero(~pack.semantics.any(axis=1))
    if len(empty):
        yield f"The description of class '{pack.class_names[empty[0]]}' is all zeros."
    absent = _without_samples(pack)
    if len(absent) and (pack.labels >= 0).all():
        yield f"{len(absent)} classes have no sample at all (first: '{pack.class_names[absent[0]]}')."
    yield from _scale_warnings(pack)


def _scale_warnings(pack: Pack) -> Iterator[str]:
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.nan_to_num(pack.features.std(axis=0, dtype=np.float32), nan=np.inf)
    constant = int((pack.features == pack.features[0]).all(axis=0).sum())
    if constant:
        yield f"{constant} of {len(spread)} features are the same for every sample."
    used = spread[spread > 0]
    if len(used) and np.isfinite(used).all() and used.max() > 1000 * np.median(used):
        yield (
            f"The standard deviation of one feature is {used.max() / np.median(used):.0f} times the median. "
            "Scale the features."
        )
    lengths = np.linalg.norm(pack.semantics.astype(float), axis=1)
    if lengths.min() > 0 and lengths.max() > 100 * lengths.min():
        yield f"The longest description is {lengths.max() / lengths.min():.0f} times as long as the shortest."


def _row_bytes(table: npt.NDArray[Any]) -> list[bytes]:
    return [row.tobytes() for row in table]
