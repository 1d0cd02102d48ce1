"""Check that a change of structure changes no answer: fingerprints of fitted models before and after.

    python benchmarks/golden.py --check          # compare with benchmarks/golden.json; exit code 1 where one differs
    python benchmarks/golden.py --write          # after a change that is meant to change answers; --only keeps the rest

A fingerprint is the hash of ``transduction_``, ``objective_`` and ``predict_proba`` of one fit, with one thread. It is
comparable on one kind of machine and one set of installed versions only, so this is a script and not a test.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from superproto import HPL
from superproto.baselines.registry import DEEP, METHODS
from superproto.datasets import digits, load, make_task

GOLDEN = Path(__file__).with_name("golden.json")
PACKS = ("flo_efficientnet_lite0", "cub_efficientnet_lite0", "awa1_handcrafted_pca512", "cub_vgg_fc7_4096")
TEXTS = ("dtd_clip_vitb32", "pets_clip_vitb32", "aid5of19_clip_vitl14", "whurs19_clip_vitb32")
# Rounding changes what a network learns, so the deep methods have no fingerprint.
SHALLOW = [key for key in METHODS if key not in DEEP]
# Large packs are reduced for the methods that take minutes on the whole.
CLASSES, ROWS_PER_CLASS, COLUMNS = 30, 15, 1280


def digest(array: Any) -> str:
    """A short hash of an array's type, shape and bytes."""
    array = np.asarray(array)
    text = f"{array.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(text + np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def fingerprint(model: Any, X: Any) -> dict[str, str]:
    """Hashes of what a fitted model answers."""
    found = {"labels": digest(model.transduction_), "probabilities": digest(model.predict_proba(X[:200]))}
    for name in ("objective_", "doubt_", "class_doubt_", "missing_"):
        if hasattr(model, name):
            found[name] = digest(getattr(model, name))
    return found


def small(task: Any) -> Any:
    """The task with fewer classes, fewer rows of each, and fewer features."""
    seen, unseen = task.seen_classes, task.unseen_classes
    kept = np.concatenate([seen[:CLASSES], unseen[: CLASSES // 2]])
    rows = np.concatenate([np.flatnonzero(task.truth == c)[:ROWS_PER_CLASS] for c in kept])
    return task.X[np.sort(rows)][:, :COLUMNS], task.y[np.sort(rows)], task.semantics


def fits(data: Path) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Name, model, X, y and semantics of each fit."""
    tasks = {"synthetic": make_task(random_state=3), "digits": digits()}
    mixed = {"synthetic": make_task(setting="gzsl", random_state=4), "digits": digits(setting="gzsl")}
    for name, task in tasks.items():
        for key in SHALLOW:
            yield f"{name} zsl {key}", METHODS[key](random_state=0), task.X, task.y, task.semantics
        yield f"{name} inductive hpl", HPL(random_state=0), *known(task), task.semantics
        for init in ("kmeans", "affinity"):
            yield f"{name} zsl hpl {init}", HPL(random_state=0, init=init), task.X, task.y, task.semantics
        for params in (
            {"order": "seen"},
            {"alternate": False},
            {"discriminative_weight": 0.5},
            {"prior": "uniform"},
            {"prior": None},
            {"temperature": 0.0},
            {"dictionary_solver": "gradient"},
        ):
            model = HPL(random_state=0, **params)
            yield f"{name} zsl hpl {params}", model, task.X, task.y, task.semantics
    for name, task in mixed.items():
        for key in SHALLOW:
            model = METHODS[key](random_state=0, candidates="all")
            yield f"{name} gzsl {key}", model, task.X, task.y, task.semantics
    for name in PACKS:
        for setting in ("zsl", "gzsl"):
            task = load(data / f"{name}.npz", setting=setting)
            candidates = "all" if setting == "gzsl" else "unseen"
            yield f"{name} {setting} hpl", HPL(random_state=0, candidates=candidates), task.X, task.y, task.semantics
            if setting == "zsl":
                yield f"{name} inductive hpl", HPL(random_state=0), *known(task), task.semantics
            X, y, semantics = small(task)
            for key in SHALLOW:
                model = METHODS[key](random_state=0, candidates=candidates)
                yield f"{name} small {setting} {key}", model, X, y, semantics
    for name in TEXTS:
        task = load(data / "text" / f"{name}.npz")
        unlabeled = np.full(len(task.y), -1)
        yield f"{name} no-label hpl", HPL(random_state=0), task.X, unlabeled, task.semantics
        yield f"{name} zsl hpl", HPL(random_state=0), task.X, task.y, task.semantics


def known(task: Any) -> tuple[Any, Any]:
    """The labeled rows alone: the inductive setting."""
    return task.X[~task.asked], task.y[~task.asked]


def compute(data: Path, only: str) -> dict[str, Any]:
    """Fingerprint of each fit, or the error that it ends with."""
    found: dict[str, Any] = {}
    for name, model, X, y, semantics in fits(data):
        if only not in name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[name] = fingerprint(model.fit(X, y, semantics=semantics), X)
            except Exception as error:
                found[name] = {"error": type(error).__name__}
        print(name, json.dumps(found[name]), file=sys.stderr, flush=True)
    return found


def main() -> int:
    """0 where all fingerprints are as they were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the file")
    parser.add_argument("--write", action="store_true", help="replace the file")
    parser.add_argument("--only", default="", help="fits whose name contains this text")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SUPERPROTO_DATA", "../shared/data")))
    given = parser.parse_args()
    found = compute(given.data, given.only)
    if given.write:
        kept = json.loads(GOLDEN.read_text()) if given.only and GOLDEN.exists() else {}
        GOLDEN.write_text(json.dumps({**kept, **found}, indent=1) + "\n")
    if not given.check:
        return 0
    expected = {name: value for name, value in json.loads(GOLDEN.read_text()).items() if given.only in name}
    different = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    print(f"{len(expected) - len(different)} of {len(expected)} fits are as before", *different, sep="\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
