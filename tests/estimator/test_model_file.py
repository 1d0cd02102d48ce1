"""KEEP: a model file gives back the model to the bit, in another process; no damaged or forged file does harm."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from builders import SHALLOW
from superproto import HPL, Task, UserError, load_model
from superproto.baselines.prototypes import Prototypes
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.estimator.forecast import NO_FORECAST, Forecast
from superproto.estimator.model_file import seal_of

READ_ALL = """
import sys, warnings, numpy as np
from pathlib import Path
from superproto import load_model
folder = Path(sys.argv[1])
rows = np.load(folder / "rows.npy")
answers = {}
for path in sorted(folder.glob("*.model")):
    model = load_model(path)
    answers[path.stem + ".labels"] = model.predict(rows)
    answers[path.stem + ".scores"] = model.decision_function(rows)
    answers[path.stem + ".transduction"] = model.transduction_
np.savez(folder / "answers.npz", **answers)
"""


def small_task(setting: str = "zsl") -> Task:
    return make_task(setting=setting, n_seen=8, n_unseen=3, n_features=10, n_attributes=6, samples_per_class=12)


def fitted(method: str, setting: str = "zsl") -> Any:
    task = small_task(setting)
    y = task.class_names.astype(object)[task.y]
    y[task.asked] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[method](candidates=task.candidates, random_state=0).fit(
            task.X, y, semantics=task.semantics, class_names=task.class_names
        )


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], np.ndarray, Any]:
    """Every method's model, and the answers of a new process that read the files."""
    folder = tmp_path_factory.mktemp("models")
    rows = np.random.default_rng(1).normal(size=(300, 10)).astype(np.float32)
    rows[:20] = small_task().X[-20:]
    np.save(folder / "rows.npy", rows)
    models = {name: fitted(name) for name in SHALLOW}
    for name, model in models.items():
        model.save(folder / f"{name}.model")
    subprocess.run([sys.executable, "-c", READ_ALL, str(folder)], check=True, timeout=200)
    return folder, models, rows, np.load(folder / "answers.npz")


@pytest.mark.parametrize("method", SHALLOW)
def test_another_process_gives_the_same_answers_to_the_bit(method: str, elsewhere: Any) -> None:
    _, models, rows, answers = elsewhere
    assert np.array_equal(answers[f"{method}.labels"], models[method].predict(rows))
    assert np.array_equal(answers[f"{method}.scores"], models[method].decision_function(rows))
    assert np.array_equal(answers[f"{method}.transduction"], models[method].transduction_)


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    fitted("hpl").save(tmp_path / "a")
    fitted("hpl").save(tmp_path / "b.model.v2")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b.model.v2").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b.model.v2"]


def test_a_loaded_model_keeps_parameters_and_every_fitted_attribute(tmp_path: Path) -> None:
    model = fitted("hpl")
    model.save(tmp_path / "m", pool=True)
    again = load_model(tmp_path / "m")
    assert again.get_params() == model.get_params()
    public = {name for name in vars(model) if not name.startswith("_")}
    assert set(vars(again)) == public
    assert np.array_equal(again.label_distributions_, model.label_distributions_)
    assert again.data_hash_ == model.data_hash_


@pytest.mark.parametrize("forecast", [Forecast(0.5, 0.25), NO_FORECAST])
def test_a_forecast_comes_back(forecast: Forecast, tmp_path: Path) -> None:
    model = fitted("hpl")
    assert isinstance(model.forecast_, Forecast)
    model.forecast_ = forecast
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m").forecast_
    np.testing.assert_array_equal([again.accuracy, again.chance], forecast)


@pytest.mark.parametrize("forged", [[0.5], ["half", 0.5], {"accuracy": 0.5}, [[0.5], [0.5]]])
def test_a_forged_forecast_is_refused(forged: Any, model_file: Path, tmp_path: Path) -> None:
    def forge(header: dict[str, Any], tensors: dict[str, Any]) -> None:
        header["fitted"]["forecast_"] = {"forecast": forged}

    rewritten(model_file, tmp_path / "m", forge, reseal=True)
    with pytest.raises(UserError):
        load_model(tmp_path / "m")


def test_the_pool_s_distributions_are_kept_only_when_asked_for(tmp_path: Path) -> None:
    fitted("hpl").save(tmp_path / "m")
    assert not hasattr(load_model(tmp_path / "m"), "label_distributions_")


def test_what_serves_a_fit_alone_is_left_out(tmp_path: Path) -> None:
    task = small_task()
    model = HPL(callback=lambda done: None, random_state=np.random.RandomState(0))
    model.fit(task.X, task.y, semantics=task.semantics).save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.callback is None
    assert again.random_state is None


@pytest.mark.extra
@pytest.mark.parametrize("names", [[2, 5, 9], [0.5, 1.5, 2.5], ["a", "bb", "日本"], ["x", 3, 2.5]])
def test_class_names_of_any_type_come_back(names: list[Any], tmp_path: Path) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(3, 4)), index=pd.Index(names, dtype=object if len(set(map(type, names))) > 1 else None)
    )
    y = pd.Series([names[0], names[1], None] * 6, dtype=object)
    model = Prototypes().fit(rng.normal(size=(18, 5)), y, semantics=frame)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.classes_.dtype == model.classes_.dtype
    assert again.transduction_.tolist() == model.transduction_.tolist()


def test_array_parameters_come_back(tmp_path: Path) -> None:
    task = small_task()
    prior = np.linspace(1, 2, 11)
    HPL(prior=prior, candidates=[8, 9]).fit(task.X, task.y, semantics=task.semantics).save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert np.array_equal(again.prior, prior)
    assert again.candidates == [8, 9]


def test_an_unfitted_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"This HPL is not fitted. Call fit before save"):
        HPL().save(tmp_path / "m")


def test_a_stranger_s_class_is_refused(tmp_path: Path) -> None:
    class Mine(Prototypes):
        pass

    task = small_task()
    with pytest.raises(UserError, match=r"Mine is not a method of superproto.baselines.METHODS"):
        Mine().fit(task.X, task.y, semantics=task.semantics).save(tmp_path / "m")


def test_an_attribute_that_is_no_data_is_named(tmp_path: Path) -> None:
    model = fitted("prototypes")
    model.helper_ = object()
    with pytest.raises(UserError, match="helper_ is a object, which a model file cannot hold"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def rewritten(
    source: Path, target: Path, change: Callable[[dict[str, Any], dict[str, Any]], None], reseal: bool
) -> None:
    """The same file after a change of header and tensors; a forger also renews the seal."""
    with safe_open(source, framework="numpy") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name).copy() for name in file.keys()}  # noqa: SIM118
    seal, _, text = metadata["superproto"].partition(" ")
    header = json.loads(text)
    change(header, tensors)
    text = json.dumps(header)
    save_file(tensors, target, {"superproto": f"{seal_of(text, tensors) if reseal else seal} {text}"})


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("one") / "hpl.model"
    fitted("hpl").save(path)
    return path


def test_errors_say_what_a_file_is(model_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "m"
    with pytest.raises(UserError, match="does not exist"):
        load_model(path)
    with pytest.raises(UserError, match="is a folder"):
        load_model(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(UserError, match="is not a model file, or not a whole one"):
        load_model(path)
    save_file({"x": np.zeros(3)}, path)
    with pytest.raises(UserError, match="is a safetensors file, but not a model"):
        load_model(path)
    rewritten(model_file, path, lambda header, _: header.update(format=99, version="9.0"), True)
    with pytest.raises(
        UserError, match=r"has format 99 \(superproto 9.0\), but this superproto .* reads up to 2. Update"
    ):
        load_model(path)
    rewritten(model_file, path, lambda header, _: header.update({"method": "os:system"}), True)
    with pytest.raises(UserError, match=r"its method is 'os:system'"):
        load_model(path)
    rewritten(model_file, path, lambda header, _: header["fitted"].update(predict=1), True)
    with pytest.raises(UserError, match="'predict' is not a fitted attribute"):
        load_model(path)
    rewritten(model_file, path, lambda header, _: header["params"].update(rho=0.1), False)
    with pytest.raises(UserError, match="was altered or damaged: its content does not match its seal"):
        load_model(path)


def test_a_huge_header_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "m"
    for length in (2**63 - 1, 2**40, 200 * 2**20, 10**6):
        path.write_bytes(struct.pack("<Q", length) + b"{" * 1000)
        with pytest.raises(UserError, match="is not a model file"):
            load_model(path)


def test_a_deeply_nested_header_is_refused(model_file: Path, tmp_path: Path) -> None:
    def nest(header: dict[str, Any], tensors: dict[str, Any]) -> None:
        value: Any = 1
        for _ in range(450):
            value = {"list": [value]}
        header["fitted"]["deep_"] = value

    rewritten(model_file, tmp_path / "m", nest, True)
    with pytest.raises(UserError, match="is inconsistent"):
        load_model(tmp_path / "m")
    text = '{"format":1,"fitted":' + "[" * 100_000 + "]" * 100_000 + "}"
    save_file({"x": np.zeros(3)}, tmp_path / "m", {"superproto": f"0 {text}"})
    with pytest.raises(UserError, match="has a header that is not superproto's"):
        load_model(tmp_path / "m")


def test_six_hundred_damaged_files_are_all_refused(model_file: Path, tmp_path: Path) -> None:
    whole, path = model_file.read_bytes(), tmp_path / "m"
    rng = np.random.default_rng(0)
    header_end = 8 + struct.unpack("<Q", whole[:8])[0]
    for number in range(600):
        content = bytearray(whole)
        if number % 3 == 0:
            del content[int(rng.integers(len(content))) :]
        else:
            for _ in range(int(rng.integers(1, 4))):
                # Half of the flips hit the header, where most can go wrong.
                place = int(rng.integers(header_end if number % 3 == 1 else len(content)))
                content[place] ^= 1 << int(rng.integers(8))
        if content == whole:
            continue
        path.write_bytes(content)
        with pytest.raises(UserError):
            load_model(path)


def test_four_hundred_forged_files_are_refused_or_are_working_models(model_file: Path, tmp_path: Path) -> None:
    """The forger renews the seal, so a change of mere numbers is another model; one that does not fit is an error."""
    rng = np.random.default_rng(0)
    rows = np.random.default_rng(1).normal(size=(5, 10))
    outcomes = {"refused": 0, "working": 0}
    for _ in range(400):
        rewritten(model_file, tmp_path / "m", lambda header, tensors: _forge(header, tensors, rng), True)
        try:
            model = load_model(tmp_path / "m")
        except UserError:
            outcomes["refused"] += 1
            continue
        outcomes["working"] += 1
        assert set(model.predict(rows).tolist()) <= set(model.classes_.tolist())
        assert np.allclose(model.predict_proba(rows).sum(axis=1), 1)
    assert outcomes["refused"] > 150


def _forge(header: dict[str, Any], tensors: dict[str, Any], rng: np.random.Generator) -> None:
    name = str(rng.choice(sorted(tensors)))
    key = str(rng.choice(sorted(header["fitted"])))
    array = tensors[name]
    wrong = [None, "text", -1, 1e300, [], {}, {"array": "nowhere"}, {"list": 3}, {"dict": []}, {"number": name}, True]
    forgeries: list[Callable[[], Any]] = [
        lambda: tensors.pop(name),
        lambda: tensors.update({name: array[..., :-1].copy()}),
        lambda: tensors.update({name: array.reshape(-1)}),
        lambda: tensors.update({name: array[None].copy()}),
        lambda: tensors.update({name: np.zeros((0, *array.shape[1:]), array.dtype)}),
        lambda: tensors.update({name: array.astype(rng.choice([np.float32, np.int8, np.uint8, np.float64]))}),
        lambda: tensors.update({name: np.full(array.shape, np.nan)}),
        lambda: header["fitted"].update({key: wrong[int(rng.integers(len(wrong)))]}),
        lambda: header["fitted"].pop(key),
        lambda: header["fitted"].update({key: {"classes": name}}),
        lambda: header["fitted"].update({key: {"array": name, "text": True}}),
        lambda: header.update(fitted=wrong[int(rng.integers(len(wrong)))]),
        lambda: header["params"].update({str(rng.choice(["rho", "nonsense", "__class__"])): "x"}),
        lambda: header["fitted"].update(n_features_in_=int(rng.integers(-5, 10**12))),
    ]
    with np.errstate(all="ignore"):
        forgeries[int(rng.integers(len(forgeries)))]()
