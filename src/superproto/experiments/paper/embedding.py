"""Fig. 6: the unseen pool in two dimensions, with true and with predicted labels, for both settings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from superproto.datasets.task import Task
from superproto.evaluation.diagnostics import readable
from superproto.experiments.paper.plan import Shelf
from superproto.hpl.estimator import HPL
from superproto.samples.whitening import apply_metric

POINTS = 1000


def embedding(shelf: Shelf) -> dict[str, Any]:
    """t-SNE of at most a thousand unseen-class samples in the model's metric; labels as class numbers."""
    zsl, gzsl = shelf.task(), shelf.task("gzsl")
    model, narrow = _labels(zsl)
    wide = _labels(gzsl)[1]
    rows = np.flatnonzero(zsl.asked)
    rows = np.sort(np.random.default_rng(0).permutation(rows)[:POINTS])
    where = {int(row): place for place, row in enumerate(np.asarray(gzsl.rows))}
    places = _tsne(apply_metric(model.metric_, np.asarray(zsl.X[rows], dtype=np.float32)))
    return {
        "x": [round(float(v), 1) for v in places[:, 0]],
        "y": [round(float(v), 1) for v in places[:, 1]],
        "truth": zsl.truth[rows].tolist(),
        "zsl": narrow[rows].tolist(),
        "gzsl": [int(wide[where[int(row)]]) for row in np.asarray(zsl.rows)[rows]],
        "unseen": zsl.unseen_classes.tolist(),
        "names": readable(zsl.class_names),
    }


def _labels(task: Task) -> tuple[HPL, Any]:
    model = HPL(candidates=task.candidates, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(task.X, task.y, semantics=task.semantics)
    return model, model.transduction_


def _tsne(rows: Any) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    reduced = PCA(min(50, *rows.shape), random_state=0).fit_transform(rows)
    perplexity = min(30.0, (len(rows) - 1) / 3)
    return TSNE(init="pca", learning_rate="auto", perplexity=perplexity, random_state=0).fit_transform(reduced)
