"""CHOOSE: parameters come from held-out classes; a killed search goes on; the default stays unless clearly beaten."""

from __future__ import annotations

import builtins
import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superproto import Task, UserError, tune
from superproto.baselines.registry import METHODS, make_model
from superproto.datasets import make_task
from superproto.evaluation.tuning.search import SEARCHES, Study, Trial, choose_search, grid_point, has_optuna
from superproto.evaluation.tuning.spaces import Span, default_space, default_values, grid_of
from superproto.evaluation.tuning.tuner import TuningProgress, score_of

RIDGES = {"ridge": [0.001, 0.01, 0.1, 1.0, 10.0], "kernel": ["linear", "rbf"]}


@pytest.fixture(scope="module")
def task() -> Task:
    return make_task(n_seen=12, n_unseen=4, n_features=10, n_attributes=8, samples_per_class=10, separation=1.5)


needs_optuna = pytest.mark.skipif(not has_optuna(), reason="needs Optuna")


def searches() -> list[Any]:
    return [pytest.param(name, marks=[needs_optuna] if name == "tpe" else []) for name in SEARCHES]


def without_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Optuna were not installed: it is not found, and importing it is an error."""
    monkeypatch.setattr("superproto.evaluation.tuning.search.find_spec", lambda name: None)
    real = builtins.__import__

    def guarded(name: str, *rest: Any, **named: Any) -> Any:
        assert not name.startswith("optuna")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", guarded)


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_ships_a_space_of_its_own_parameters(method: str) -> None:
    space = default_space(method)
    assert "whiten" in space
    assert set(space) <= set(inspect.signature(METHODS[method]).parameters)
    assert not {"candidates", "random_state", "max_iter"} & set(space)
    for values in grid_of(space).values():
        assert len(values) >= 2


@pytest.mark.parametrize("method", list(METHODS))
def test_every_value_of_a_shipped_space_has_the_type_that_the_method_takes(method: str) -> None:
    for name, values in grid_of(default_space(method)).items():
        for value in values:
            make_model(method, {name: value})


def test_the_space_of_hpl_has_the_paper_s_parameters_and_the_whitening() -> None:
    assert {"rho", "omega", "alpha", "theta", "whiten"} <= set(default_space("hpl"))


def test_points_of_a_span_are_written_as_a_person_would() -> None:
    assert Span(0.01, 1, log=True).points(3) == [0.01, 0.1, 1.0]
    assert Span(1, 3, whole=True).points(9) == [1, 2, 3]


def test_a_grid_visits_every_point_once_and_ends() -> None:
    points = [grid_point(RIDGES, number, seed=3) for number in range(1, 12)]
    assert points[-1] is None
    assert len({json.dumps(point) for point in points[:-1]}) == 10
    assert points != [grid_point(RIDGES, number, seed=4) for number in range(1, 12)]


def test_a_grid_of_a_trillion_points_is_never_written_down() -> None:
    huge = {f"parameter {i}": list(range(1000)) for i in range(4)}
    assert len({json.dumps(grid_point(huge, number, seed=0)) for number in range(1, 6)}) == 5


@needs_optuna
def test_a_suggestion_depends_on_the_past_alone() -> None:
    space = {"rho": Span(0.1, 0.9), "whiten": (False, True), "n": Span(1, 20, log=True, whole=True)}
    first, second = (Study("tpe", space, 0, None, {}) for _ in range(2))
    for number in range(14):
        params = first.ask()
        assert params == second.ask() == first.ask()
        assert bool(params) == bool(number)
        for study in (first, second):
            study.tell(Trial(number, params or {}, (0.1 * number, 0.2), None, 1.0))
    second.trials[-1] = second.trials[-1]._replace(scores=(0.0, 0.0))
    assert first.ask() != second.ask()


@needs_optuna
def test_the_median_of_the_finished_trials_stops_one_that_is_below_it() -> None:
    study = Study("grid", RIDGES, 0, None, {})
    for number, score in enumerate((0.5, 0.6, 0.7, 0.8)):
        study.ask()
        assert not study.falls_behind([0.0])  # too few are finished
        study.tell(Trial(number, {}, (score, score), None, 1.0))
    study.ask()
    assert not study.falls_behind([0.66])
    study.ask()
    assert study.falls_behind([0.64])


def test_without_optuna_a_grid_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    without_optuna(monkeypatch)
    assert choose_search(None) == "grid"
    with pytest.raises(UserError, match=r"needs Optuna: pip install \"superproto\[tune\]\""):
        choose_search("tpe")


@pytest.mark.parametrize("search", searches())
def test_the_chosen_parameters_are_the_best_trial_s_and_the_record_says_all(task: Task, search: str) -> None:
    told: list[TuningProgress] = []
    tuned = tune(task, "prototypes", RIDGES, n_trials=8, search=search, progress=told.append)
    complete = [trial for trial in tuned.trials if trial["stopped"] is None]
    best = max(complete, key=lambda trial: float(np.mean(trial["scores"])))
    assert tuned.params == ({} if tuned.default_kept else best["params"])
    assert len(tuned.trials) == 9 == len(told)
    assert told[-1].best.mean == pytest.approx(np.mean(best["scores"]))
    assert [fold["default_score"] for fold in tuned.folds] == tuned.trials[0]["scores"]
    hidden = [name for fold in tuned.folds for name in fold["classes"]]
    assert len(hidden) == len(set(hidden))
    assert set(hidden) <= set(task.class_names[task.seen_classes])


def test_the_same_seed_gives_the_same_trials(task: Task) -> None:
    first, second = (tune(task, "prototypes", n_trials=4, seed=5) for _ in range(2))
    assert [t["params"] for t in first.trials] == [t["params"] for t in second.trials]
    assert [t["scores"] for t in first.trials] == [t["scores"] for t in second.trials]


def test_gzsl_is_tuned_by_the_harmonic_mean() -> None:
    task = make_task(setting="gzsl", n_seen=9, n_unseen=3, n_features=8, n_attributes=6, samples_per_class=10)
    tuned = tune(task, "prototypes", RIDGES, n_trials=2, search="grid")
    assert tuned.metric == "harmonic_mean"
    assert tuned.trials[0]["scores"] == [score_of(fold, "prototypes", {}) for fold in task.folds(3, 0)]


@needs_optuna
def test_hopeless_trials_are_stopped_after_a_fold(task: Task) -> None:
    ridges = {"ridge": [1.0, 0.9, 0.8, 0.7, 1e9, 1.1, 1.2, 1.3]}
    tuned = tune(task, "prototypes", ridges, n_trials=8, search="grid")
    assert any(trial["stopped"] and len(trial["scores"]) < 3 for trial in tuned.trials)


def test_a_point_that_a_method_refuses_is_a_bad_trial_and_not_the_end(task: Task) -> None:
    tuned = tune(task, "prototypes", {"ridge": [-1.0, 0.2, 0.3]}, n_trials=3, search="grid")
    refused = [trial for trial in tuned.trials if trial["params"] == {"ridge": -1.0}]
    assert refused[0]["stopped"] == "ridge is -1.0, but it must be at least 0."
    assert len(tuned.trials) == 4


def test_after_the_time_limit_nothing_is_begun_but_the_default_is_known(task: Task) -> None:
    tuned = tune(task, "prototypes", n_trials=50, time_limit=0)
    assert [trial["number"] for trial in tuned.trials] == [0]
    assert tuned.default_kept


def test_the_time_limit_is_kept_by_the_length_of_the_fits_so_far(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits of ten seconds and a limit of 95: six trials of three fits would end at 180."""
    clock = {"now": 1000.0}

    def slow(fold: Task, method: str, params: Any, seed: int) -> float:
        clock["now"] += 10.0
        return 0.5

    monkeypatch.setattr("superproto.evaluation.tuning.tuner.monotonic", lambda: clock["now"])
    monkeypatch.setattr("superproto.evaluation.tuning.tuner.score_of", slow)
    tuned = tune(task, "prototypes", {"ridge": [0.5, 0.6, 0.7, 0.8, 0.9]}, n_trials=5, time_limit=95, search="grid")
    assert len(tuned.trials) == 3
    assert clock["now"] <= 1095


def with_scores(monkeypatch: pytest.MonkeyPatch, default: list[float], other: list[float]) -> None:
    """Let the default and every other point have these scores on the folds."""
    calls = {"n": 0}

    def scripted(fold: Task, method: str, params: Any, seed: int) -> float:
        calls["n"] += 1
        return (other if params else default)[(calls["n"] - 1) % 3]

    monkeypatch.setattr("superproto.evaluation.tuning.tuner.score_of", scripted)


@pytest.mark.parametrize(
    ("default", "other", "kept"),
    [
        ([0.5, 0.6, 0.7], [0.52, 0.62, 0.72], False),  # the same gain everywhere: clear
        ([0.5, 0.6, 0.7], [0.7, 0.55, 0.66], True),  # larger on average, but only for one fold
        ([0.5, 0.6, 0.7], [0.5, 0.6, 0.7], True),
        ([0.5, 0.6, 0.7], [0.4, 0.6, 0.7], True),
        ([0.5, 0.6, 0.7], [0.562, 0.64, 0.7], True),  # +3.4 with a standard error of 1.8: chance may do that
        ([0.5, 0.6, 0.7], [0.53, 0.64, 0.75], False),  # +4 with a standard error of 0.6
    ],
)
def test_the_default_stays_unless_the_gain_is_clear_by_a_paired_test(
    default: list[float], other: list[float], kept: bool, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_scores(monkeypatch, default, other)
    tuned = tune(task, "prototypes", {"ridge": [0.5, 0.6]}, n_trials=2, search="grid")
    assert tuned.default_kept == kept
    assert bool(tuned.params) != kept
    assert tuned.score == pytest.approx(np.mean(default if kept else other))


def test_the_truth_of_the_test_classes_changes_no_choice_and_no_prediction(task: Task) -> None:
    truth = task.truth.copy()
    truth[task.asked] = np.random.default_rng(0).permutation(truth[task.asked])
    scrambled = replace(task, truth=truth)
    assert not np.array_equal(scrambled.truth, task.truth)
    found = [tune(t, "prototypes", RIDGES, n_trials=6, search="grid") for t in (task, scrambled)]
    assert found[0].params == found[1].params
    assert found[0].data == found[1].data
    assert [t["scores"] for t in found[0].trials] == [t["scores"] for t in found[1].trials]
    answers = [
        make_model("prototypes", record.params).fit(t.X, t.y, semantics=t.semantics).transduction_
        for record, t in zip(found, (task, scrambled))
    ]
    assert np.array_equal(*answers)


@pytest.mark.parametrize("search", searches())
def test_a_search_that_was_killed_goes_on_as_if_it_had_not_been(task: Task, tmp_path: Path, search: str) -> None:
    whole = tune(task, "prototypes", RIDGES, n_trials=6, search=search)
    path = tmp_path / "trials.jsonl"

    def kill(told: TuningProgress) -> None:
        if told.trial.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(task, "prototypes", RIDGES, n_trials=6, search=search, trials_file=path, progress=kill)
    with path.open("ab") as handle:
        handle.write(b'{"number": 4, "par')  # the line during which the power went
    done: list[int] = []
    resumed = tune(
        task, "prototypes", RIDGES, n_trials=6, search=search, trials_file=path,
        progress=lambda told: done.append(told.trial.number),
    )  # fmt: skip
    assert done == [4, 5, 6]
    assert resumed.params == whole.params
    assert [t["params"] for t in resumed.trials] == [t["params"] for t in whole.trials]
    assert [t["scores"] for t in resumed.trials] == [t["scores"] for t in whole.trials]


def test_a_finished_search_is_not_done_again(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trials.jsonl"
    first = tune(task, "prototypes", RIDGES, n_trials=2, search="grid", trials_file=path)
    monkeypatch.setattr("superproto.evaluation.tuning.tuner.score_of", lambda *_: pytest.fail("a fit was made"))
    assert tune(task, "prototypes", RIDGES, n_trials=2, search="grid", trials_file=path).params == first.params


def test_trials_of_another_search_are_refused(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    tune(task, "prototypes", RIDGES, n_trials=1, search="grid", trials_file=path)
    with pytest.raises(UserError, match=r"holds trials of another search \(different: seed, data\)"):
        tune(task, "prototypes", RIDGES, n_trials=1, search="grid", trials_file=path, seed=1)
    path.write_text("id,label\n1,2\n")
    with pytest.raises(UserError, match="is not a file of trials"):
        tune(task, "prototypes", RIDGES, n_trials=1, search="grid", trials_file=path)


def test_a_full_disk_says_so_and_leaves_the_old_record(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = tune(task, "prototypes", RIDGES, n_trials=1, search="grid")
    path = tmp_path / "tuned.json"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UserError, match="cannot be written: No space left on device"):
        tuned.save(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["tuned.json"]


def test_the_record_is_json_with_the_parameters(task: Task, tmp_path: Path) -> None:
    tuned = tune(task, "prototypes", RIDGES, n_trials=2, search="grid")
    tuned.save(tmp_path / "tuned.json")
    content = json.loads((tmp_path / "tuned.json").read_text())
    assert content["params"] == tuned.params
    assert content["method"] == "prototypes"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "hpll"}, "there is no method 'hpll'. Did you mean 'hpl"),
        ({"space": {"ridg": [1]}}, "prototypes has no parameter 'ridg' to tune. Did you mean 'ridge'"),
        ({"space": {"ridge": 3}}, "Give a Span, or a list of values to try"),
        ({"space": {"ridge": []}}, "Give a Span, or a list of values to try"),
        ({"space": {}}, "space is empty"),
        ({"space": {"ridge": Span(2, 1)}}, "goes from 2 to 1. Give the smaller end first"),
        ({"space": {"ridge": Span(0, 1, log=True)}}, "starts at 0, but a logarithmic span starts above 0"),
        ({"folds": 1}, "folds=1 shows no spread over classes"),
        ({"n_trials": 0}, "at least 1 is needed"),
        ({"search": "magic"}, "search='magic' is not known"),
        ({"folds": 99}, "99 class-disjoint folds need"),
    ],
)
def test_mistakes_are_named(given: dict[str, Any], message: str, task: Task) -> None:
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        tune(task, **{"method": "prototypes", **given})


def test_a_path_in_place_of_a_task_is_told_how_to_read_it() -> None:
    with pytest.raises(UserError, match=r"task is str, not a Task. Read one with superproto.datasets.load\(path\)"):
        tune("birds.npz")  # type: ignore[arg-type]


def test_a_grid_needs_no_optuna_and_goes_on_with_it(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trials.jsonl"
    whole = tune(task, "prototypes", RIDGES, n_trials=4, search="grid")
    with monkeypatch.context() as patched:
        without_optuna(patched)
        tune(task, "prototypes", RIDGES, n_trials=2, trials_file=path)
    resumed = tune(task, "prototypes", RIDGES, n_trials=4, search="grid", trials_file=path)
    assert [t["params"] for t in resumed.trials] == [t["params"] for t in whole.trials]


@pytest.mark.parametrize("method", list(METHODS))
def test_every_default_lies_inside_its_span(method: str) -> None:
    accepted = inspect.signature(METHODS[method]).parameters
    for name, values in default_space(method).items():
        default = accepted[name].default
        if isinstance(values, Span):
            assert not isinstance(default, bool), name
            assert values.low <= default <= values.high, name
        else:
            assert (type(default), default) in [(type(value), value) for value in values], name


@pytest.mark.parametrize("method", list(METHODS))
def test_a_grid_has_the_default_of_every_parameter(method: str) -> None:
    space = default_space(method)
    grid = grid_of(space, default_values(method, space))
    accepted = inspect.signature(METHODS[method]).parameters
    for name, values in grid.items():
        assert accepted[name].default in values, name


@pytest.mark.parametrize("method", list(METHODS))
def test_a_span_reaches_to_both_sides_of_its_default(method: str) -> None:
    accepted = inspect.signature(METHODS[method]).parameters
    for name, values in default_space(method).items():
        default = accepted[name].default
        if isinstance(values, Span) and not values.whole:
            near = (0.8 * default, 1.25 * default) if values.log else (default - 0.04, default + 0.04)
            assert values.low <= near[0], name
            assert near[1] <= values.high, name


@needs_optuna
def test_a_good_default_draws_the_search_to_its_neighborhood() -> None:
    """The search is told where the default lies: with it the best so far, later points come close to it."""
    space, nearest = {"rho": Span(0.0, 1.0)}, []
    for defaults in ({}, {"rho": 0.9}):
        study = Study("tpe", space, 0, None, {}, defaults)
        study.ask()
        study.tell(Trial(0, {}, (1.0, 1.0), None, 1.0))
        for number in range(1, 12):
            point = study.ask()
            assert point is not None
            study.tell(Trial(number, point, (0.1, 0.1), None, 1.0))
        nearest.append(min(abs(trial.params["rho"] - 0.9) for trial in study.trials[4:]))
    assert nearest[1] < 0.05


def test_a_file_of_something_else_is_left_as_it_is(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("buy milk")
    with pytest.raises(UserError, match="is not a file of trials"):
        tune(task, "prototypes", RIDGES, n_trials=1, search="grid", trials_file=path)
    assert path.read_text() == "buy milk"
