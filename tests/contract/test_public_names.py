"""The names that scripts outside the project use: imports, parameters, fitted attributes, METHODS, metrics, data."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import superproto
from builders import fit_quietly, small_task
from superproto import HPL, datasets, metrics
from superproto.baselines import METHODS

TOP = ["HPL", "Task", "UserError", "WithinClassWhitening", "load_model", "tune"]
KEYS = """
eszsl sae ale devise sje sync exem cdl capd gfzsl msplit-lbi dap conse prototypes gfzsl-em dipl dsrl bidilel sp-zsr
tmv-hlp stzsl tstd ale-trans mdp wdvsc bmvsc cdvsc label-spreading transclip stata zlap em-dirichlet inmap
zero-shot hpl hpl-published hpl1 f-clswgan dcn se-zsl preser vzsl qfsl ganzrl
"""
OF_THE_PAPER = ["rho", "omega", "alpha", "theta", "max_iter", "tol", "random_state"]
FURTHER = """
candidates whiten variant init order alternate dictionary_solver discriminative_weight alignment_scale prior verbose
callback checkpoint
"""
TASK_FIELDS = "X y semantics class_names candidates setting protocol pool name paths truth"
SIGNATURES = {
    metrics.per_class_accuracy: ["y_true", "y_pred"],
    metrics.top_k_accuracy: ["y_true", "scores", "k"],
    metrics.harmonic_mean: ["u", "s"],
    metrics.ausuc: ["y_true", "scores", "seen"],
    datasets.read_splits: ["path"],
    HPL.fit: ["self", "X", "y", "semantics", "class_names"],
    HPL.predict: ["self", "X"],
    HPL.predict_proba: ["self", "X"],
    HPL.decision_function: ["self", "X"],
}


@pytest.mark.parametrize("name", TOP)
def test_a_name_of_the_package_can_be_imported(name):
    assert name in dir(superproto)
    assert getattr(superproto, name).__name__ == name


def test_every_key_of_the_contract_is_a_method():
    # Later ones: the yardstick of other people's figures, and two generative methods.
    assert set(METHODS) == {*KEYS.split(), "kmeans", "cada-vae", "f-vaegan-d2"}
    for name in METHODS:
        assert {"fit", "predict", "decision_function"} <= set(dir(METHODS[name])), name


def test_the_parameters_of_the_contract_are_there_and_have_defaults():
    parameters = inspect.signature(HPL).parameters
    assert {*OF_THE_PAPER, *FURTHER.split()} <= set(parameters)
    assert all(parameter.default is not inspect.Parameter.empty for parameter in parameters.values())
    assert list(parameters)[: len(OF_THE_PAPER)] == OF_THE_PAPER


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__qualname__)
def test_arguments_have_the_names_of_the_contract(function):
    names = SIGNATURES[function]
    assert list(inspect.signature(function).parameters)[: len(names)] == names


def test_load_takes_setting_protocol_and_split_by_name():
    parameters = inspect.signature(datasets.load).parameters
    expected = {"setting": "zsl", "protocol": "ps", "split": "test"}
    assert {name: parameters[name].default for name in expected} == expected
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in expected)


def test_a_task_has_the_fields_of_the_contract():
    task = datasets.make_task(n_seen=6, n_unseen=3, samples_per_class=5)
    assert all(hasattr(task, name) for name in TASK_FIELDS.split())
    assert task.truth.shape == task.y.shape
    assert all(type(fold) is superproto.Task for fold in task.folds(2))
    assert type(datasets.digits()) is superproto.Task


@pytest.fixture(scope="module")
def example() -> tuple[Any, Any]:
    task = small_task("gzsl")
    return task, fit_quietly(HPL(candidates="all"), task.X, task.y, task.semantics)


def test_fitted_attributes_have_the_shapes_of_the_contract(example):
    task, model = example
    (n, d), c = task.X.shape, len(task.semantics)
    shapes = {
        "transduction_": (n,), "label_distributions_": (n, c), "classes_": (c,), "class_prior_": (c,),
        "visual_prototypes_": (c, d), "doubt_": (n,), "class_doubt_": (c,), "missing_": (c,),
        "objective_": (model.n_iter_,),
    }  # fmt: skip
    assert {name: np.shape(getattr(model, name)) for name in shapes} == shapes
    q = model.codes_.shape[1]
    assert model.codes_.shape == (c, q)
    assert model.visual_super_prototypes_.shape == (q, d)
    assert model.semantic_super_prototypes_.shape == (q, task.semantics.shape[1])
    assert len(model.most_informative(3)) == 3


def test_labels_and_probabilities_of_new_samples_have_columns_as_classes(example):
    task, model = example
    assert model.predict(task.X[:5]).shape == (5,)
    assert model.predict_proba(task.X[:5]).shape == (5, len(model.classes_))
    assert model.decision_function(task.X[:5]).shape == (5, len(model.classes_))
    np.testing.assert_allclose(np.asarray(model.label_distributions_).sum(axis=1), 1)


def test_without_descriptions_a_class_describes_itself():
    task = small_task(n_unseen=0, separation=5.0)
    assert np.mean(HPL().fit(task.X, task.truth).predict(task.X) == task.truth) > 0.9


def test_as_published_survives_clone_and_is_an_ordinary_hpl():
    model = HPL.as_published(rho=0.3)
    copy = clone(model)
    assert type(copy) is HPL
    assert copy.get_params() == model.get_params()
    assert (copy.rho, copy.whiten, copy.discriminative_weight, copy.alignment_scale) == (0.3, False, 1.0, None)
