"""K-means from the predicted prototypes against scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.samples.kernels import unit_rows

TASK = make_task(n_seen=10, n_unseen=4, n_features=8, n_attributes=6, samples_per_class=20, random_state=2)


def test_k_means_from_the_prototypes_is_scikit_learns_from_the_same_start():
    start = METHODS["prototypes"]().fit(TASK.X, TASK.y, semantics=TASK.semantics)
    asked, unseen = TASK.asked, TASK.unseen_classes
    pool = unit_rows(TASK.X[asked])
    reference = KMeans(len(unseen), init=start.classifiers_[unseen], n_init=1, tol=0).fit(pool)
    found = METHODS["kmeans"]().fit(TASK.X, TASK.y, semantics=TASK.semantics)
    np.testing.assert_array_equal(found.transduction_[asked], unseen[reference.labels_])
    np.testing.assert_allclose(found.centers_[unseen], reference.cluster_centers_, atol=1e-5)
