"""Real features: precision does not change labels, and the defaults beat K-means from the same prototypes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from superproto import HPL
from superproto.datasets import load
from superproto.hpl.seen_classes import predict_prototypes
from superproto.metrics import per_class_accuracy
from superproto.samples.kernels import unit_rows

PACKS = ["flo_efficientnet_lite0", "awa1_handcrafted_pca512"]


@pytest.fixture(scope="module", params=PACKS)
def fitted(pack, request):
    """A pack's task, and the default model fitted to it in float32."""
    task = load(pack(request.param))
    return task, HPL().fit(np.asarray(task.X, dtype=np.float32), task.y, semantics=task.semantics)


def test_float32_gives_the_labels_and_objective_of_float64(fitted):
    task, single = fitted
    double = HPL().fit(np.asarray(task.X, dtype=np.float64), task.y, semantics=task.semantics)
    assert np.mean(single.transduction_ == double.transduction_) >= 0.995
    assert single.objective_[-1] == pytest.approx(double.objective_[-1], rel=1e-3)


def test_the_default_is_at_least_as_good_as_k_means_from_the_same_prototypes(fitted):
    task, model = fitted
    asked, seen = task.y == -1, model.seen_classes_
    X = model._prepare(task.X)
    means = np.stack([X[task.y == c].mean(axis=0) for c in np.flatnonzero(seen)])
    A = unit_rows(np.asarray(task.semantics, dtype=np.float64))
    first = unit_rows(predict_prototypes(A[seen], means, A[~seen]))
    found = KMeans(n_clusters=len(first), init=first, n_init=1).fit_predict(X[asked])
    by_k_means = per_class_accuracy(task.truth[asked], np.flatnonzero(~seen)[found])
    assert per_class_accuracy(task.truth[asked], model.transduction_[asked]) >= by_k_means
