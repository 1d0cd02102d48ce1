"""READ: the progress of a pass is reported under the words that its kernel declares."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from superproto.estimator.base import ask_chunk
from superproto.samples import kernels, progress
from superproto.samples.chunks import ArrayRows, unchanged
from superproto.samples.whitening import Metric, RootRows


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> progress.ProgressRows:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    return progress.ProgressRows(ArrayRows(np.ones((6, 3)), chunk_rows=2))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (partial(kernels.lengths, metric=Metric()), "lengths of rows"),
        (partial(kernels.on_square_roots, function=partial(kernels.lengths, metric=Metric())), "lengths of rows"),
        (unchanged, "pass"),
    ],
)
def test_lines_have_the_words_of_the_innermost_kernel(function, words, rows, capsys) -> None:
    list(rows.visit(function))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"{words}: 33% of 6 rows, about")


def test_rows_under_roots_report_too(rows, capsys) -> None:
    list(RootRows(rows).visit(partial(kernels.lengths, metric=Metric())))
    assert capsys.readouterr().err.startswith("lengths of rows: ")


def test_words_are_declared_beside_the_kernels() -> None:
    declared = (kernels.moments, kernels.lengths, kernels.second_moment, ask_chunk)
    words = ["whitening", "lengths of rows", "Gram matrix", "labels"]
    assert [kernel.progress_label for kernel in declared] == words
