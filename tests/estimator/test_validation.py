"""Bad input gets one clear sentence; odd input works, with a warning that names the fallback."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from superproto import HPL, UserError
from superproto.datasets import make_task
from superproto.estimator.validation import check_problem

TASK = make_task(n_seen=9, n_unseen=3, n_features=6, n_attributes=4, samples_per_class=8)
X, Y, A = np.asarray(TASK.X, dtype=np.float64), np.asarray(TASK.y), np.asarray(TASK.semantics, dtype=np.float64)


def broken(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@pytest.mark.parametrize(
    ("X", "y", "A", "message"),
    [
        (broken(X, (0, 0), np.nan), Y, A, "NaN"),
        (broken(X, (0, 0), np.inf), Y, A, "infinity"),
        (X, broken(Y, 0, 212), A, r"y has class 212, but semantics has 12 rows \(classes 0 to 11\)"),
        (X, broken(Y, 0, -7), A, "y has class -7"),
        (X, broken(Y.astype(float), 0, 1e30), A, "y has class 1e[+]30"),
        (X, broken(Y.astype(float), 0, np.inf), A, "y contains infinity"),
        (X, Y, A + 1j, "semantics has complex numbers"),
        (X, Y[:-1], A, "X has 96 rows, but y has 95 labels"),
        (X[:, 0], Y, A, "Expected 2D array"),
        (X, Y, A[:, 0], "semantics has shape"),
        (X, Y, A[:0], "semantics has shape"),
        (X, Y, np.zeros_like(A), "all zeros and describes nothing"),
        (X, Y, np.ones_like(A), "All 12 rows of semantics are the same"),
        (X, Y, broken(A, 3, np.nan), r"semantics\[3\] is all NaN"),
        (X, Y, broken(A, (3, 1), np.nan), r"semantics\[3\] is partly NaN"),
        (np.zeros_like(X), Y, A, "All features are zero"),
        (X * 1e-30, Y, A, "All features are zero"),
        (X * 1e20, Y, A, "larger than 1e[+]15, too large to compute with"),
        (X, Y, A * 1e200, "semantics has numbers beyond 1e[+]15"),
        (X[:0], Y[:0], A, "0 sample"),
        (np.array([["a"] * 6] * 96, dtype=object), Y, A, "dtype object"),
        (X, Y, np.array([["a"] * 4] * 12, dtype=object), "not numbers"),
        (X, np.full(96, -1), A, "No sample is labeled"),
        (X, np.array(["cat"] * 96), A, "Give class_names="),
        (X, broken(Y.astype(float), 0, 1.5), A, "label 1.5"),
        (X, np.stack([Y, Y], axis=1), A, "one label per sample"),
        (X, None, A, "No sample is labeled"),
    ],
)
def test_bad_data_gets_one_clear_sentence(X, y, A, message):
    with pytest.raises(ValueError, match=message):
        HPL().fit(X, y, semantics=A)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rho": 1.0}, "rho is 1.0, but it must be at least 0 and below 1"),
        ({"omega": -0.1}, "omega is -0.1"),
        ({"alpha": 2}, "alpha is 2"),
        ({"theta": 0.0}, "theta is 0.0, which makes 0 super-prototypes"),
        ({"theta": 1.5}, "must make 1 to 12"),
        ({"variant": "hpl2"}, "variant is 'hpl2', but it is one of hpl, hpl1"),
        ({"init": "random"}, "init is 'random'"),
        ({"candidates": "none"}, "candidates is 'none'"),
        ({"candidates": [99]}, "candidates has 99"),
        ({"candidates": []}, "candidates is empty"),
        ({"candidates": np.arange(12) > 8}, "True or False instead of classes"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"prior": np.ones(3)}, r"prior has shape \(3,\)"),
        ({"prior": -np.ones(12)}, "prior has numbers below 0"),
        ({"prior": np.zeros(12)}, "prior is 0 for all candidates"),
        ({"theta": "a"}, "theta is 'a'"),
        ({"random_state": "a"}, "random_state is 'a'"),
        ({"callback": 3}, "callback is 3"),
        ({"prior": {"a": 1}}, "prior is {'a': 1}"),
        ({"rho": "x"}, "rho is 'x'"),
        ({"tol": None}, "tol is None"),
        ({"max_iter": 2.5}, "max_iter is 2.5"),
        ({"whiten": "yes"}, "whiten is 'yes'"),
        ({"candidates": None}, "candidates is None"),
        ({"candidates": 8}, "candidates is 8"),
    ],
)
def test_bad_parameters_get_one_clear_sentence(parameters, message):
    with pytest.raises(UserError, match=message):
        HPL(**parameters).fit(X, Y, semantics=A)


@pytest.mark.parametrize("offset", [0, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_far_from_zero_and_samples_that_are_all_alike_are_whitened(offset, dtype):
    task = make_task(n_seen=9, n_unseen=3, n_features=20, n_attributes=4, samples_per_class=20)
    model = HPL().fit((task.X + offset).astype(dtype), task.y, semantics=task.semantics)
    assert (model.transduction_ == task.truth).mean() > 0.9
    labels = np.repeat(np.arange(7), 20)
    same = np.random.default_rng(0).normal(size=(7, 2))[labels].astype(dtype) + offset
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        HPL().fit(same, np.where(labels > 4, -1, labels), semantics=np.random.default_rng(1).normal(size=(7, 4)))


@pytest.mark.parametrize("missing", [None, float("nan"), -1])
def test_a_list_of_names_may_mark_what_is_asked_for_in_any_way(missing):
    names = [f"class {j}" for j in range(12)]
    labels = [names[j] if j >= 0 else missing for j in Y]
    model = HPL().fit(X, labels, semantics=A, class_names=names)
    np.testing.assert_array_equal(model.transduction_, np.array(names)[HPL().fit(X, Y, semantics=A).transduction_])


def test_names_may_be_numbers_and_texts_at_once():
    names = np.array([j if j % 2 else str(j) for j in range(12)], dtype=object)
    labels = np.array([names[j] if j >= 0 else None for j in Y], dtype=object)
    frame = pytest.importorskip("pandas").DataFrame(A, index=names)
    model = HPL().fit(X, labels, semantics=frame)
    assert len(model.most_informative(3)) == 3
    np.testing.assert_array_equal(model.transduction_, names[HPL().fit(X, Y, semantics=A).transduction_])


def test_names_that_do_not_fit():
    names = [f"class {j}" for j in range(12)]
    labels = np.array([names[j] if j >= 0 else None for j in Y], dtype=object)
    labels[0] = "zebra"
    with pytest.raises(UserError, match="y has class 'zebra'"):
        HPL().fit(X, labels, semantics=A, class_names=names)
    with pytest.raises(UserError, match=r"y has class '-1'.*NumPy converted a missing label to text"):
        HPL().fit(X, np.array([names[j] if j >= 0 else "-1" for j in Y]), semantics=A, class_names=names)
    with pytest.raises(UserError, match="class_names has 11 names"):
        HPL().fit(X, labels, semantics=A, class_names=names[:11])
    with pytest.raises(UserError, match="occurs 2 times"):
        HPL().fit(X, labels, semantics=A, class_names=[*names[:11], names[0]])


def test_one_sample_per_class_falls_back_to_the_total_covariance():
    first = np.array([np.flatnonzero(c == Y)[0] for c in range(9)])
    rows = np.concatenate([first, np.flatnonzero(Y == -1)])
    with pytest.warns(UserWarning, match="total covariance"):
        HPL().fit(X[rows], Y[rows], semantics=A)


def test_a_seen_class_has_its_number_among_the_seen_classes():
    problem = check_problem([5, -1, 2, 5, 3], A)
    assert problem.seen_columns(~problem.asked).tolist() == [2, 0, 2, 1]
    assert problem.seen_columns(np.array([4])).tolist() == [1]


@pytest.mark.filterwarnings("ignore:.*received no sample")
def test_duplicate_descriptions_are_named():
    with pytest.warns(UserWarning, match="same description.*10 and 11"):
        HPL().fit(X, Y, semantics=broken(A, 11, A[10]))


def test_fewer_samples_than_classes():
    rows = np.concatenate([np.flatnonzero(Y >= 0), np.flatnonzero(Y == -1)[:1]])
    with pytest.warns(UserWarning, match="1 sample for 3 candidate classes"):
        model = HPL().fit(X[rows], Y[rows], semantics=A)
    assert model.transduction_[-1] == TASK.truth[rows[-1]]


def test_a_pool_of_one_class_is_not_torn_apart_and_empty_classes_are_reported():
    rows, known = np.flatnonzero((Y >= 0) | (TASK.truth == 9)), Y >= 0
    with pytest.warns(UserWarning, match="of 3 classes received no sample"):
        model = HPL().fit(X[rows], Y[rows], semantics=A)
    alone = HPL().fit(X[known], Y[known], semantics=A).predict(X[TASK.truth == 9])
    assert (model.transduction_[Y[rows] == -1] == 9).mean() >= (alone == 9).mean()


def test_inductive_works_silently():
    known = Y >= 0
    model = HPL().fit(X[known], Y[known], semantics=A)
    assert np.mean(model.predict(X[~known]) == TASK.truth[~known]) > 0.75


def test_no_unseen_class_works_silently():
    known = Y >= 0
    y = Y[known].copy()
    y[::4] = -1
    model = HPL().fit(X[known], y, semantics=A[:9])
    assert np.mean(model.transduction_ == Y[known]) > 0.9


def test_sparse_semantics_and_integer_features():
    model = HPL().fit((100 * X).astype(int), Y, semantics=sparse.csr_matrix(A))
    dense = HPL().fit((100 * X).astype(int), Y, semantics=A)
    np.testing.assert_array_equal(model.transduction_, dense.transduction_)


def test_class_names_and_missing_marks_give_names_back():
    names = np.array([f"class {j}" for j in range(12)])
    labels = np.array([names[j] if j >= 0 else None for j in Y], dtype=object)
    model = HPL().fit(X, labels, semantics=A, class_names=names)
    by_number = HPL().fit(X, Y, semantics=A)
    np.testing.assert_array_equal(model.transduction_, names[by_number.transduction_])
    np.testing.assert_array_equal(model.classes_, names)
    assert model.predict(X[:1])[0] in names


@pytest.mark.extra
@pytest.mark.parametrize("missing", ["none", "nan", "NA", "minus one"])
def test_pandas_frames_name_the_classes(missing):
    pd = pytest.importorskip("pandas", reason="needs pandas: pip install 'superproto[frames]'")
    mark = {"none": None, "nan": float("nan"), "NA": pd.NA, "minus one": -1}[missing]
    names = [f"class {j}" for j in range(12)]
    labels = pd.Series([names[j] if j >= 0 else mark for j in Y], dtype=object)
    frame = pd.DataFrame(A, index=names, columns=[f"attribute {i}" for i in range(4)])
    model = HPL().fit(pd.DataFrame(X, columns=[f"f{i}" for i in range(6)]), labels, semantics=frame)
    np.testing.assert_array_equal(model.transduction_, np.array(names)[HPL().fit(X, Y, semantics=A).transduction_])


@pytest.mark.extra
def test_polars_frames_name_the_classes():
    pl = pytest.importorskip("polars", reason="needs polars: pip install 'superproto[frames]'")
    names = [f"class {j}" for j in range(12)]
    labels = pl.Series([names[j] if j >= 0 else None for j in Y])
    frame = pl.DataFrame({"name": names, **{f"attribute {i}": A[:, i] for i in range(4)}})
    model = HPL().fit(X, labels, semantics=frame)
    np.testing.assert_array_equal(model.transduction_, np.array(names)[HPL().fit(X, Y, semantics=A).transduction_])


def test_metadata_routing_through_a_pipeline():
    from sklearn import config_context
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    plain = Pipeline([("scale", StandardScaler()), ("hpl", HPL())]).fit(X, Y, hpl__semantics=A)
    with config_context(enable_metadata_routing=True):
        routed = Pipeline([("scale", StandardScaler()), ("hpl", HPL().set_fit_request(semantics=True))])
        routed.fit(X, Y, semantics=A)
    np.testing.assert_array_equal(plain["hpl"].transduction_, routed["hpl"].transduction_)


def test_nothing_heavy_is_imported_before_it_is_needed():
    import subprocess
    import sys

    code = "import sys, superproto; print(sorted({'sklearn', 'scipy', 'matplotlib', 'pandas'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_fit_is_silent_on_good_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HPL().fit(X, Y, semantics=A)
