"""Model files that are damaged, or forged with a seal that fits: an error or a model, never a crash or a flood."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

from builders import fit_quietly, small_task
from superproto.baselines import METHODS
from superproto.baselines.registry import load_model
from superproto.errors import UserError
from superproto.estimator.model_file import KEY, seal_of

from .damage import LONG_RUN, MANY, damaged, read_within_bounds

TASK = small_task()
DAMAGED, FORGERIES = 40, 30
KEYS = ("hpl", "eszsl", "cdl", "zlap", "gfzsl", "kmeans")
FORGED = [0, 1, -1, 2**31, 2**40, 1e308, float("nan"), None, "x", True, [], {}, {"array": "nope"}, "\ud800", [1] * 100]


def test_the_long_run_has_ten_thousand_model_files():
    assert LONG_RUN * len(KEYS) * (DAMAGED + FORGERIES) >= 10_000


@pytest.fixture(scope="module", params=KEYS)
def model_file(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / f"{request.param}.model"
    fit_quietly(METHODS[request.param](), TASK.X, TASK.y, TASK.semantics).save(path)
    return path


def test_a_damaged_model_is_refused_or_answers_as_before(model_file, tmp_path):
    content, rng, path = model_file.read_bytes(), np.random.default_rng(0), tmp_path / "damaged"
    expected = load_model(model_file).predict(TASK.X)
    for _ in range(DAMAGED * MANY):
        path.write_bytes(damaged(content, rng))
        found = read_within_bounds(lambda: load_model(path).predict(TASK.X))
        assert found is None or found.tolist() == expected.tolist()


def test_a_forged_model_with_a_fitting_seal_is_an_error_or_a_model(model_file, tmp_path):
    with safe_open(model_file, framework="numpy") as file:
        text = file.metadata()[KEY].partition(" ")[2]
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    rng, path = np.random.default_rng(0), tmp_path / "forged"
    for _ in range(FORGERIES * MANY):
        header, arrays = json.loads(text), dict(tensors)
        _forge(header, arrays, rng)
        forged = json.dumps(header)
        path.write_bytes(save(arrays, {KEY: f"{seal_of(forged, arrays)} {forged}"}))
        read_within_bounds(lambda: load_model(path).predict(TASK.X))


def _forge(header, arrays, rng):
    if rng.random() < 0.6:
        place = [path for path in _places(header) if path]
        *way, last = place[rng.integers(len(place))]
        node = header
        for key in way:
            node = node[key]
        node[last] = copy.deepcopy(FORGED[rng.integers(len(FORGED))])
        return
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[name]
    changes = [
        np.zeros((0, 10**8), array.dtype),
        array.reshape(-1),
        np.ascontiguousarray(array.T),
        np.ones_like(array) * (np.nan if array.dtype.kind == "f" else 1),
        np.full_like(array, 1e30 if array.dtype.kind == "f" else 1),
        np.ascontiguousarray(array[: max(1, len(array) // 2)]) if array.ndim else array,
    ]
    arrays[name] = np.ascontiguousarray(changes[rng.integers(len(changes))].astype(array.dtype))


def _places(node, way=()):
    for key, part in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _places(part, (*way, key))
    yield way


def test_an_empty_array_cannot_claim_millions_of_features(model_file, tmp_path):
    with safe_open(model_file, framework="numpy") as file:
        header = json.loads(file.metadata()[KEY].partition(" ")[2])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header["fitted"]["n_features_in_"] = 300_000_000
    arrays["claim"] = np.zeros((0, 300_000_000))
    text = json.dumps(header)
    (tmp_path / "forged").write_bytes(save(arrays, {KEY: f"{seal_of(text, arrays)} {text}"}))
    with pytest.raises(UserError, match="its number of features"):
        load_model(tmp_path / "forged")
