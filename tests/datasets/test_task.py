"""Task: frozen, honest about its pool, and without a path from the truth to `fit` or to a fold."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from superproto.datasets import digits, make_task
from superproto.datasets.task import Task
from superproto.errors import UserError


@pytest.fixture
def zsl():
    return make_task(n_seen=8, n_unseen=4, samples_per_class=10)


@pytest.fixture
def gzsl():
    return make_task(n_seen=8, n_unseen=4, samples_per_class=10, setting="gzsl")


def _same(a, b):
    return a.digest() == b.digest()


def test_arrays_are_read_only_and_the_callers_stay_writable():
    X = np.zeros((3, 2))
    task = Task(X=X, y=[0, -1, -1], semantics=np.eye(2), class_names=["a", "b"], truth=[0, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        task.X[0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.X = X
    X[0, 0] = 5
    assert task.X[0, 0] == 5, "a view: nothing was copied"


def test_seen_unseen_and_asked(zsl, gzsl):
    assert zsl.seen_classes.tolist() == list(range(8))
    assert zsl.unseen_classes.tolist() == [8, 9, 10, 11]
    assert (zsl.truth[zsl.asked] >= 8).all()
    assert (zsl.candidates, gzsl.candidates) == ("unseen", "all")
    assert (zsl.pool, gzsl.pool) == ("unseen", "mixed")
    assert np.bincount(gzsl.truth[gzsl.asked]).tolist() == [2] * 8 + [10] * 4, "a fifth of each seen class, all unseen"
    assert (zsl.y[~zsl.asked] == zsl.truth[~zsl.asked]).all()


def test_inductive_asks_the_same_questions_later(gzsl):
    later = gzsl.inductive()
    assert later.is_inductive
    assert not (later.y == -1).any()
    assert (later.expected == gzsl.expected).all()
    assert (later.later == gzsl.X[gzsl.asked]).all()
    assert (later.seen_classes == gzsl.seen_classes).all()
    back = later.with_pool("mixed")
    assert back.pool == "mixed"
    assert (back.expected == gzsl.expected).all()


def test_unseen_pool_leaves_the_seen_samples_for_later(gzsl):
    pure = gzsl.with_pool("unseen")
    assert (pure.truth[pure.asked] >= 8).all()
    assert (pure.later_truth < 8).all()
    assert sorted(pure.expected) == sorted(gzsl.expected)
    assert pure.candidates == "all"


def test_declared_pools_are_drawn_by_seed_and_recorded(zsl):
    few = zsl.with_pool("few-classes", classes=2, seed=1)
    assert len(np.unique(few.truth[few.asked])) == 2
    assert len(few.semantics) == len(zsl.semantics), "the candidates stay"
    assert few.pool == "unseen few-classes(classes=2, seed=1)"
    assert _same(few, zsl.with_pool("few-classes", classes=2, seed=1))
    skewed = zsl.with_pool("shifted-prior", imbalance=10)
    counts = np.bincount(skewed.truth[skewed.asked])[8:]
    assert sorted(counts) == [1, 2, 5, 10]
    half = zsl.with_pool("subsample", fraction=0.5)
    assert np.bincount(half.truth[half.asked])[8:].tolist() == [5, 5, 5, 5]
    assert (half.y >= 0).sum() == (zsl.y >= 0).sum(), "labeled samples are never drawn from"
    assert half.inductive().pool == "none subsample(fraction=0.5, seed=0)"


def test_folds_hide_disjoint_classes_and_keep_the_setting(zsl, gzsl):
    for task in (zsl, gzsl):
        folds = task.folds(3)
        hidden = [set(fold.class_names[fold.unseen_classes]) for fold in folds]
        assert len(set.union(*hidden)) == sum(map(len, hidden))
        for fold in folds:
            assert set(fold.class_names) == set(task.class_names[task.seen_classes]), "the unseen classes stay out"
            assert (fold.setting, fold.candidates) == (task.setting, task.candidates)
            assert set(fold.rows) <= set(task.rows[~task.asked]), "only labeled samples"
            assert (fold.truth == _renumbered(task, fold)).all()
    mixed = gzsl.folds(1)[0]
    assert np.isin(mixed.truth[mixed.asked], mixed.seen_classes).any(), "seen samples are in a GZSL pool"
    assert zsl.inductive().folds(2)[0].is_inductive
    assert _same(zsl.folds(2, seed=5)[1], zsl.folds(2, seed=5)[1])


def _renumbered(task, fold):
    where = {row: i for i, row in enumerate(task.rows)}
    names = task.class_names[task.y[[where[row] for row in fold.rows]]]
    return [list(fold.class_names).index(name) for name in names]


def test_the_validation_split_of_the_data_set_is_the_first_fold(zsl):
    task = dataclasses.replace(zsl, validation_classes=np.array([1, 4, 6]))
    first = task.folds(3)[0]
    assert first.class_names[first.unseen_classes].tolist() == ["class 1", "class 4", "class 6"]


def test_scrambled_truth_changes_no_fold_and_no_input(gzsl):
    scrambled = dataclasses.replace(
        gzsl, truth=np.where(gzsl.asked, np.random.default_rng(0).permutation(gzsl.truth), gzsl.truth)
    )
    assert not _same(gzsl, scrambled)
    assert all(_same(a, b) for a, b in zip(gzsl.folds(3), scrambled.folds(3)))


def test_unknown_truth_is_said_to_be_unknown(zsl):
    unknown = dataclasses.replace(zsl, truth=zsl.y)
    assert zsl.truth_known
    assert not unknown.truth_known
    assert all(_same(a, b) for a, b in zip(zsl.folds(2), unknown.folds(2)))
    with pytest.raises(UserError, match="whose class is known"):
        unknown.with_pool("few-classes")


def test_the_digest_follows_every_part(zsl):
    assert zsl.digest() == make_task(n_seen=8, n_unseen=4, samples_per_class=10).digest()
    changed = [
        dataclasses.replace(zsl, X=zsl.X + 1),
        dataclasses.replace(zsl, semantics=zsl.semantics * 2),
        dataclasses.replace(zsl, candidates="all"),
        zsl.inductive(),
        zsl.with_pool("subsample"),
    ]
    assert len({zsl.digest(), *(task.digest() for task in changed)}) == 6


def test_a_task_travels_to_other_processes(zsl):
    assert _same(pickle.loads(pickle.dumps(zsl)), zsl)
    assert "8 classes" in repr(zsl)


def test_digits_describe_every_digit_differently():
    task = digits()
    assert task.class_names.tolist() == list("0123456789")
    assert task.unseen_classes.tolist() == [3, 6, 7]
    assert len(np.unique(task.semantics, axis=0)) == 10
    assert digits(unseen=[0], setting="gzsl").unseen_classes.tolist() == [0]


def test_synthetic_truth_is_what_the_description_says():
    task = make_task(separation=30, n_attributes=6, samples_per_class=5)
    known = ~task.asked
    fit = np.linalg.lstsq(task.semantics[task.y[known]], task.X[known], rcond=None)[0]
    centers = task.semantics @ fit
    nearest = ((task.X[task.asked][:, None] - centers[task.unseen_classes]) ** 2).sum(2).argmin(1)
    assert (task.unseen_classes[nearest] == task.truth[task.asked]).all()


def test_synthetic_knobs_do_what_they_say():
    counts = np.bincount(make_task(imbalance=4).truth)[20:]
    assert counts.max() / counts.min() == 4
    assert len(np.unique(make_task(effective_classes=2).expected)) == 2
    plain, noisy, moved = make_task(), make_task(attribute_noise=0.5), make_task(domain_shift=5.0)
    assert np.abs(plain.semantics - noisy.semantics).std() > 0.2
    assert (plain.X == noisy.X).all()
    gap = moved.X[moved.asked] - plain.X[plain.asked]
    assert np.linalg.norm(gap, axis=1) == pytest.approx(5, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_task().with_pool("odd"), "pool='odd' is not known"),
        (lambda: make_task().with_pool("few-classes", classes=9), "classes=9, but the pool has 5"),
        (lambda: make_task().with_pool("shifted-prior", imbalance=0.1), "imbalance=0.1 must be at least 1"),
        (lambda: make_task().with_pool("subsample", fraction=0), "fraction=0 must be above 0"),
        (lambda: make_task(n_seen=3).folds(4), "4 class-disjoint folds need at least 4 seen classes"),
        (lambda: make_task().folds(0), "folds=0"),
        (lambda: make_task(n_seen=0), "n_seen=0 must be at least 1"),
        (lambda: make_task(setting="x"), "setting='x' is not known"),
        (lambda: make_task(setting="gzsl", samples_per_class=1), "Give at least 2"),
        (lambda: digits(unseen=[10]), "one to nine of the digits"),
        (lambda: digits(setting="x"), "setting='x'"),
        (lambda: Task(np.eye(2), [0], np.eye(2), ["a", "b"], [0, 1]), "X has 2 rows, but y has 1"),
        (lambda: Task(np.eye(2), [0, 1], np.eye(2), ["a"], [0, 1]), "semantics has 2 rows, but class_names has 1"),
    ],
)
def test_a_wrong_call_is_told_so(call, message):
    with pytest.raises(UserError, match=message):
        call()
