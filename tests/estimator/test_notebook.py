"""SHOW a fit in a notebook."""

from __future__ import annotations

import numpy as np
import pytest

from builders import small_task
from superproto import HPL
from superproto.baselines.registry import METHODS, load_model


@pytest.mark.parametrize("method", ["hpl", "eszsl", "zlap"])
def test_a_notebook_shows_how_many_samples_got_which_class(method):
    task = small_task()
    model = METHODS[method]().fit(task.X, task.y, semantics=task.semantics)
    page = model._repr_mimebundle_()["text/html"]
    assert page == model._repr_html_()
    assert f"{int(task.asked.sum())} samples labeled among {len(task.unseen_classes)} candidates" in page
    for c in task.unseen_classes:
        assert f'<td style="text-align:right">{np.count_nonzero(model.transduction_[task.asked] == c)}</td>' in page


def test_before_the_fit_a_notebook_shows_scikit_learns_diagram():
    assert "sk-" in HPL()._repr_html_()
    assert "text/html" in HPL()._repr_mimebundle_(include=None, exclude=None)


def test_names_are_escaped_and_many_classes_are_cut():
    task = small_task()
    names = np.array([f"<b>{i}" for i in range(len(task.semantics))], dtype=object)
    y = np.array([None if label < 0 else names[label] for label in task.y], dtype=object)
    page = HPL(candidates="all").fit(task.X, y, semantics=task.semantics, class_names=names)._repr_html_()
    assert "<b>1" not in page
    assert "&lt;b&gt;" in page
    assert page.count("<tr>") <= 12


def test_a_model_that_was_read_and_one_without_a_pool_are_shown_too(tmp_path):
    task = small_task()
    model = HPL().fit(task.X, task.y, semantics=task.semantics)
    model.save(tmp_path / "a.model")
    assert "classes" in load_model(tmp_path / "a.model")._repr_html_()
    known = ~task.asked
    assert "no sample was unlabeled" in HPL().fit(task.X[known], task.y[known], semantics=task.semantics)._repr_html_()
