"""Builders of the inputs that the functions of a fit take."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from superproto import HPL
from superproto.estimator.validation import check_problem
from superproto.hpl.composition import build_objective
from superproto.hpl.fit_data import FitData
from superproto.hpl.parameters import check_parameters
from superproto.hpl.pool_diagnosis import measure_evenness
from superproto.hpl.seen_classes import SeenClasses
from superproto.hpl.start import first_state
from superproto.hpl.weights import choose_weights
from superproto.samples.chunks import rows_of
from superproto.samples.whitening import learn_metric


@pytest.fixture(scope="session")
def read_task() -> Callable[..., SimpleNamespace]:
    """``read_task(task, **parameters)``: the data, seen classes and parameters of a fit, whitened."""

    def read(task: Any, **parameters: Any) -> SimpleNamespace:
        problem = check_problem(task.y, task.semantics, candidates=task.candidates)
        params = check_parameters(
            HPL(**parameters), problem, parameters.get("init", "means"), np.arange(problem.n_classes)
        )
        metric = learn_metric(rows_of(task.X), problem.labels, problem.n_classes)
        data = FitData.of(task.X, problem, metric, params.unit, params.constants.label_weight)
        seen = SeenClasses.of(data, params.unit, params.temperature, params.constants)
        return SimpleNamespace(data=data, seen=seen, params=params)

    return read


@pytest.fixture(scope="session")
def diagnose(read_task: Callable[..., SimpleNamespace]) -> Callable[..., SimpleNamespace]:
    """``diagnose(task, **parameters)``: the same, with the evenness of the pool and the weights."""

    def measure(task: Any, **parameters: Any) -> SimpleNamespace:
        found = read_task(task, **parameters)
        params = found.params
        found.evenness = measure_evenness(found.data, found.seen, params)
        found.weights = choose_weights(found.data, found.seen, found.evenness, params)
        return found

    return measure


@pytest.fixture(scope="session")
def compose(diagnose: Callable[..., SimpleNamespace]) -> Callable[..., SimpleNamespace]:
    """``compose(task, **parameters)``: the same, with the objective and the first state."""

    def build(task: Any, **parameters: Any) -> SimpleNamespace:
        found = diagnose(task, **parameters)
        found.fresh = first_state(found.data, found.seen.predicted, found.params)
        found.objective, found.start = build_objective(found.data, found.seen, found.fresh, found.weights, found.params)
        return found

    return build
