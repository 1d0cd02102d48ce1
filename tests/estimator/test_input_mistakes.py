"""Mistakes with arrays: each is named with its place and its cure."""

from __future__ import annotations

import numpy as np
import pytest

from builders import small_task
from superproto import HPL
from superproto.errors import UserError

TASK = small_task()
X, Y, A = np.array(TASK.X), np.array(TASK.y), np.array(TASK.semantics)


def changed(value):
    rows = X.copy()
    rows[7, 3] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "labels", "table", "message"),
    [
        (changed(np.nan), Y, A, r"NaN at row 7, column 3 \(1 values"),
        (changed(np.inf), Y, A, "infinity at row 7, column 3"),
        (None, Y, A, "X is NoneType, but a table of numbers is needed"),
        ({"a": 1}, Y, A, "X is dict, but a table of numbers is needed"),
        (X.reshape(len(X), 3, -1), Y, A, r"Found array with dim 3: X has shape .* Flatten each sample"),
        (np.array(3.0), Y, A, "Found array with dim 0"),
        (X[0], Y, A, r"X has shape \(12,\), but a row per sample is needed"),
        (np.full((len(Y), 2), "a"), Y, A, r"X holds text\. X has type <U1"),
        (np.full((len(Y), 2), "2020-01-01", dtype="M8[D]"), Y, A, "X holds dates"),
        (X.astype(complex), Y, A, r"Complex data not supported. X has type complex128. Give numbers"),
        (X, Y, A[np.maximum(Y, 0)], "it seems to describe each sample"),
        (X, Y >= 0, A, "y is true or false"),
        (X, np.where(Y < 0, -2, Y), A, "y has class -2. Give class numbers, and -1 where a label is sought"),
        (X, Y, {"a": 1}, r"semantics\['a'\] has shape \(\). Give one vector of numbers per class"),
        (np.ma.masked_invalid(changed(np.nan)), Y, A, "X is a masked array"),
        (X, np.ma.masked_equal(Y, -1), A, "y is a masked array"),
        (X, Y, None, "semantics is None, so there is no unseen class"),
    ],
)
def test_a_mistake_is_named_with_its_cure(rows, labels, table, message):
    with pytest.raises(UserError, match=message):
        HPL().fit(rows, labels, semantics=table)


def test_lists_and_frames_are_checked_as_arrays_are():
    with pytest.raises(UserError, match="NaN at row 7, column 3"):
        HPL().fit(changed(np.nan).tolist(), Y, semantics=A)
    with pytest.raises(UserError, match="Reshape your data"):
        HPL().fit(X[0].tolist(), Y, semantics=A)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(UserError, match="NaN at row 7, column 3"):
        HPL().fit(pandas.DataFrame(changed(np.nan)), Y, semantics=A)


def test_rows_to_predict_are_checked_too():
    model = HPL(max_iter=2).fit(X, Y, semantics=A)
    with pytest.raises(UserError, match="NaN at row 7, column 3"):
        model.predict(changed(np.nan))
    with pytest.raises(UserError, match="Reshape your data"):
        model.predict(X[0])


@pytest.mark.filterwarnings("ignore:.*received no sample")
def test_without_semantics_seen_classes_may_be_asked_for():
    found = HPL(candidates="all", max_iter=2).fit(X, Y).transduction_
    assert set(found.tolist()) <= set(Y[Y >= 0].tolist())


def test_class_names_that_nothing_describes_are_refused():
    with pytest.raises(UserError, match="class_names has 'zebra'"):
        HPL().fit(X[:4], ["a", "a", "b", "b"], class_names=["a", "b", "zebra"])


@pytest.mark.extra
def test_frames_in_another_order_are_refused():
    import pandas as pd

    frame, labels = pd.DataFrame(X), pd.Series(Y)
    with pytest.raises(UserError, match="the same index in another order"):
        HPL().fit(frame, labels.iloc[::-1], semantics=A)
