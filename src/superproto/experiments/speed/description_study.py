"""MEASURE how accurate the labels of pictures are with each kind of class description, and how good the forecast is.

Each draw takes some seen classes with a few labeled pictures each, and some unseen ones, from a pack of birds.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

from superproto.errors import UserError
from superproto.experiments.bird_task import PACK
from superproto.experiments.records import Entry
from superproto.experiments.speed.machine import Rates
from superproto.hpl.estimator import HPL
from superproto.metrics import per_class_accuracy
from superproto.samples.chunks import Array

N_SEEN, N_UNSEEN, N_EXAMPLES, N_FEW = 30, 15, 25, 30
N_DRAWS = 5
ALL, FEW, NAMES = "all attributes", f"{N_FEW} of the attributes", "names alone"


def picture_descriptions(folder: Path, rates: Rates) -> Entry:
    """Accuracy on unseen classes with all attributes, some of them, and embedded names; forecast and chance."""
    from superproto.datasets import load
    from superproto.pictures.sentences import embed_sentences

    if not (folder / PACK).exists():
        raise UserError(f"The study needs {PACK} in {folder}. Give the folder of the packs with --data.")
    task = load(folder / PACK)
    names = [str(name).rpartition(".")[2].replace("_", " ") for name in task.class_names]
    kinds = {ALL: task.semantics, NAMES: np.asarray(embed_sentences(names))}
    accuracy: dict[str, list[float]] = {ALL: [], FEW: [], NAMES: []}
    forecasts, start = [], perf_counter()
    for draw in range(N_DRAWS):
        generator = np.random.default_rng(draw)
        rows, classes = _draw(task.truth, task.y, generator)
        kinds[FEW] = task.semantics[:, generator.choice(task.semantics.shape[1], N_FEW, replace=False)]
        for kind, found in accuracy.items():
            model, share = _fit(task.X[rows], task.truth[rows], kinds[kind], classes)
            found.append(share)
            if kind == ALL:
                forecasts.append(model.forecast_)
    means = {kind: float(np.mean(found)) for kind, found in accuracy.items()}
    means["forecast"] = float(np.mean([forecast.accuracy for forecast in forecasts]))
    means["chance"] = float(np.mean([forecast.chance for forecast in forecasts]))
    return {
        "sizes": {"seen": N_SEEN, "unseen": N_UNSEEN, "labeled": N_SEEN * N_EXAMPLES, "draws": N_DRAWS},
        "seconds": {"all fits": perf_counter() - start},
        "ratios": means,
        "draws": accuracy,
    }


def _draw(truth: Array, y: Array, generator: np.random.Generator) -> tuple[Array, Array]:
    """Rows of the task, and the classes that are taken, the seen ones first."""
    all_seen = np.unique(y[y >= 0])
    seen = generator.choice(all_seen, N_SEEN, replace=False)
    unseen = generator.choice(np.setdiff1d(np.unique(truth), all_seen), N_UNSEEN, replace=False)
    examples = [generator.permutation(np.flatnonzero(truth == c))[:N_EXAMPLES] for c in seen]
    return np.concatenate([*examples, *(np.flatnonzero(truth == c) for c in unseen)]), np.concatenate([seen, unseen])


def _fit(X: Array, truth: Array, A: Array, classes: Array) -> tuple[HPL, float]:
    number = {c: row for row, c in enumerate(classes.tolist())}
    expected = np.array([number[c] for c in truth.tolist()])
    asked = expected >= N_SEEN
    with warnings.catch_warnings():
        # Names alone are expected to be poor descriptions.
        warnings.simplefilter("ignore")
        model = HPL(random_state=0).fit(X, np.where(asked, -1, expected), semantics=A[classes])
    return model, float(per_class_accuracy(expected[asked], model.transduction_[asked]))
