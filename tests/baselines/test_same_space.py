"""One rule decides whether descriptions live in the space of the features, for HPL and for the baselines."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.baselines._shared.class_vectors import shares_space
from superproto.estimator.validation import check_problem
from superproto.samples.centering import match_own_descriptions
from superproto.samples.kernels import unit_rows
from superproto.samples.whitening import Metric


@pytest.mark.parametrize("kind", ["texts", "attributes"])
@pytest.mark.parametrize("seed", range(5))
def test_baselines_and_hpl_give_the_same_answer(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts, labels = rng.normal(size=(9, 24)), np.repeat([*range(6), -1], 8)
    X = unit_rows(texts[labels] + rng.normal(size=(len(labels), 24)))
    semantics = unit_rows(texts if kind == "texts" else rng.normal(size=texts.shape))
    answer = match_own_descriptions(X, labels, semantics)
    assert answer == (kind == "texts")
    assert shares_space(X, check_problem(labels, semantics), Metric()) == answer


def test_unlabeled_rows_do_not_count() -> None:
    rng = np.random.default_rng(0)
    texts, labels = rng.normal(size=(6, 24)), np.repeat(np.arange(6), 8)
    X = texts[labels] + rng.normal(size=(48, 24))
    noise = 100 * rng.normal(size=(500, 24))
    assert match_own_descriptions(np.concatenate([X, noise]), np.concatenate([labels, np.full(500, -1)]), texts)


def test_with_fewer_than_three_seen_classes_the_length_decides() -> None:
    rng = np.random.default_rng(0)
    problem = check_problem(np.repeat([0, 1], 5), rng.normal(size=(4, 24)))
    assert shares_space(rng.normal(size=(10, 24)), problem, Metric())
    assert not shares_space(rng.normal(size=(10, 23)), problem, Metric())
