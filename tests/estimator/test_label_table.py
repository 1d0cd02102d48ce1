"""HAND OUT: labels with their doubt, refusal of strangers, and which attributes can be seen."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superproto import Task, UserError, load_model
from superproto.baselines.registry import METHODS
from superproto.datasets import make_task
from superproto.datasets.feature_files import Features
from superproto.estimator.label_table import COLUMNS, label_rows, open_features, write_labels
from superproto.evaluation.attribute_visibility import inspect_attributes, visibility
from superproto.evaluation.rejection import best_threshold, learn_rejection
from superproto.evaluation.training import fit_task
from superproto.metrics import area_under_curve
from superproto.reporting.attribute_report import write_report


def task_of(setting: str = "zsl", **knobs: Any) -> Task:
    shape = {"n_seen": 12, "n_unseen": 4, "n_features": 12, "n_attributes": 8, "samples_per_class": 12}
    return make_task(setting=setting, **{**shape, **knobs})


@pytest.fixture(scope="module")
def task() -> Task:
    return task_of()


@pytest.fixture(scope="module")
def model(task: Task) -> Any:
    return fit_task(task, "hpl")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def test_the_table_has_the_promised_columns_and_the_input_s_order(model: Any, task: Task, tmp_path: Path) -> None:
    ids = np.array([f"img, {i}.jpg" for i in range(len(task.X))])
    handed = write_labels(tmp_path / "l.csv", model, Features(task.X, ids))
    rows = read(tmp_path / "l.csv")
    assert tuple(rows[0]) == COLUMNS == ("id", "label", "probability", "margin", "runner_up")
    assert [row["id"] for row in rows] == ids.tolist()
    assert [row["label"] for row in rows] == model.predict(task.X).tolist()
    assert handed.rows == len(task.X)


def test_a_pool_row_gets_its_transduction(model: Any, task: Task, tmp_path: Path) -> None:
    write_labels(tmp_path / "l.csv", model, Features(task.X[task.asked], None))
    assert [row["label"] for row in read(tmp_path / "l.csv")] == model.transduction_[task.asked].tolist()


def test_probability_margin_and_runner_up_are_those_of_predict_proba(model: Any, task: Task) -> None:
    lines = next(label_rows(model, task.X))
    proba = model.predict_proba(task.X)
    ordered = np.sort(proba, axis=1)
    assert np.allclose(lines.probability, ordered[:, -1])
    assert np.allclose(lines.margin, ordered[:, -1] - ordered[:, -2])
    second = model.classes_[np.argsort(proba, axis=1, kind="stable")[:, -2]]
    assert np.mean(lines.runner_up == second) > 0.95  # probabilities of zero tie, scores do not
    assert not (lines.runner_up == lines.label).any()


def test_chunks_change_nothing(model: Any, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = next(label_rows(model, task.X))
    monkeypatch.setattr("superproto.estimator.label_table.chunk_length", lambda *_: 7)
    parts = list(label_rows(model, task.X))
    assert len(parts) > 10
    assert np.array_equal(np.concatenate([part.label for part in parts]), whole.label)
    assert np.concatenate([part.id for part in parts]).tolist() == [str(i) for i in range(len(task.X))]


def test_doubtful_rows_come_first(model: Any, task: Task, tmp_path: Path) -> None:
    write_labels(tmp_path / "l.csv", model, Features(task.X, None), doubtful_first=True, reject=True)
    rows = read(tmp_path / "l.csv")
    refused = [not row["label"] for row in rows]
    assert refused == sorted(refused, reverse=True)
    assert 0 < sum(refused) < len(rows)
    margins = [float(row["margin"]) for row in rows if row["label"]]
    assert margins == sorted(margins)
    assert sorted(int(row["id"]) for row in rows) == list(range(len(task.X)))


def test_one_candidate_has_no_runner_up(tmp_path: Path) -> None:
    task = task_of(n_unseen=1)
    model = fit_task(task, "prototypes", rejection=False)
    write_labels(tmp_path / "l.csv", model, Features(task.X[:3], None))
    assert [row["runner_up"] for row in read(tmp_path / "l.csv")] == [""] * 3
    assert read(tmp_path / "l.csv")[0]["margin"] == "1.000000"


def test_parquet_says_the_same_as_csv(model: Any, task: Task, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("l.csv", "l.parquet"):
        write_labels(tmp_path / name, model, Features(task.X, None), reject=True)
    table = parquet.read_table(tmp_path / "l.parquet").to_pylist()
    rows = read(tmp_path / "l.csv")
    assert list(table[0]) == list(COLUMNS)
    assert [row["label"] or "" for row in table] == [row["label"] for row in rows]
    assert [f"{row['margin']:.6f}" for row in table] == [row["margin"] for row in rows]


def test_features_of_every_kind_give_the_same_labels(model: Any, task: Task, tmp_path: Path) -> None:
    X = task.X[:20]
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    np.savez(tmp_path / "x.npz", features=X)
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", fmt="%.9g")
    answers = []
    for name in ("x.npy", "columns.npy", "x.npz", "x.csv"):
        lines = next(label_rows(model, *open_features(tmp_path / name)))
        answers.append(lines.label.tolist())
    assert answers[0] == model.predict(X).tolist()
    assert all(answer == answers[0] for answer in answers)


def test_mistakes_in_the_rows_are_named(model: Any, task: Task, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="The rows have 5 features, but the model was fitted with 12"):
        write_labels(tmp_path / "l.csv", model, Features(task.X[:, :5], None))
    X = task.X.copy()
    X[7, 2] = np.nan
    with pytest.raises(UserError, match="Row 7 has NaN or infinity"):
        write_labels(tmp_path / "l.csv", model, Features(X, None))
    np.save(tmp_path / "flat.npy", X[0])
    with pytest.raises(UserError, match=r"features of shape \(12,\)"):
        open_features(tmp_path / "flat.npy")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "flat.npy").read_bytes()[:-3])
    with pytest.raises(UserError, match="Truncated"):
        open_features(tmp_path / "cut.npy")
    assert not (tmp_path / "l.csv").exists()


def test_a_failure_half_way_leaves_the_old_labels(model: Any, task: Task, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "l.csv"
    path.write_text("old")
    monkeypatch.setattr("superproto.estimator.label_table.chunk_length", lambda *_: 7)
    X = task.X.copy()
    X[-1] = np.inf
    with pytest.raises(UserError, match="has NaN or infinity"):
        write_labels(path, model, Features(X, None))
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["l.csv"]


def test_strangers_are_refused_and_members_are_not(task: Task) -> None:
    known = task.restricted(np.setdiff1d(np.arange(16), [14, 15]))
    model = fit_task(known, "hpl")
    strangers = next(label_rows(model, task.X[np.isin(task.truth, [14, 15])], reject=True)).label
    members = next(label_rows(model, known.X[known.asked], reject=True)).label
    assert np.mean([label is None for label in strangers]) > 0.8
    assert np.mean([label is None for label in members]) < 0.2


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
@pytest.mark.parametrize("inductive", [False, True])
def test_the_threshold_is_learned_in_every_setting(setting: str, inductive: bool) -> None:
    model = fit_task(task_of(setting), "prototypes", inductive=inductive)
    learned = model.rejection_
    assert np.isfinite(learned["threshold"])
    assert learned["kept"] + learned["refused"] >= 1  # refusing nothing is always possible
    assert 0 <= learned["kept"] <= 1 >= learned["refused"] >= 0
    assert learned["members"] > 0 < learned["strangers"]


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_learns_when_to_refuse(method: str, task: Task) -> None:
    if method in ("hpl-published", "hpl1"):
        pytest.skip("the same code as hpl, slower")
    learned = fit_task(task, method).rejection_
    assert 0 <= learned["auroc"] <= 1
    assert np.isfinite(learned["threshold"])


def test_the_threshold_travels_in_the_model_s_file(model: Any, task: Task, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.rejection_ == model.rejection_
    before, after = (next(label_rows(m, task.X, reject=True)).label.tolist() for m in (model, again))
    assert before == after


def test_the_truth_of_the_questions_changes_no_threshold(task: Task) -> None:
    truth = task.truth.copy()
    truth[task.asked] = truth[task.asked][::-1]
    thresholds = [fit_task(t, "prototypes").rejection_ for t in (task, replace(task, truth=truth))]
    assert thresholds[0] == thresholds[1]


def test_a_model_without_a_threshold_says_how_to_get_one(task: Task) -> None:
    model = fit_task(task, "prototypes", rejection=False)
    with pytest.raises(UserError, match=r"has no threshold to refuse rows by. Fit it with `superproto fit`"):
        next(label_rows(model, task.X, reject=True))


def test_too_few_classes_to_learn_from_are_a_warning() -> None:
    few = task_of(n_seen=3)
    with pytest.warns(UserWarning, match="No row can be refused with this model"):
        model = fit_task(few, "prototypes")
    assert not hasattr(model, "rejection_")
    learn_rejection(METHODS["prototypes"](), task_of(n_seen=4, n_unseen=1))


def test_area_and_threshold_are_those_of_the_definition() -> None:
    members, strangers = np.array([3.0, 2.0, 1.0, 0.0]), np.array([0.5, -1.0, 0.0])
    pairs = [(m > s) + 0.5 * (m == s) for m in members for s in strangers]
    is_member = np.arange(len(members) + len(strangers)) < len(members)
    assert area_under_curve(np.concatenate([members, strangers]), is_member) == pytest.approx(np.mean(pairs))
    threshold, kept, refused = best_threshold(members, strangers)
    assert 0.5 < threshold < 1
    assert (kept, refused) == (0.75, 1.0)


def with_noise_attributes(task: Task, n: int) -> Task:
    noise = np.random.default_rng(5).standard_normal((len(task.semantics), n)).astype(np.float32)
    return replace(task, semantics=np.hstack([task.semantics, noise]))


@pytest.fixture(scope="module")
def half_visual() -> Task:
    return with_noise_attributes(task_of(n_seen=40, n_attributes=5, separation=2.0, samples_per_class=8), 5)


def test_attributes_that_are_noise_are_found(half_visual: Task) -> None:
    report = inspect_attributes(half_visual, [f"v{j}" for j in range(5)] + [f"n{j}" for j in range(5)])
    assert {entry.name[0] for entry in report.attributes[:5]} == {"v"}
    assert np.mean([entry.auc for entry in report.attributes[5:]]) < 0.65 < report.attributes[4].auc
    assert max(report.drops, key=lambda drop: drop.gain).left_out == 5


def test_visibility_is_asked_of_classes_that_were_not_trained_on(half_visual: Task) -> None:
    fold = half_visual.folds(3)[0]
    scrambled = replace(fold, semantics=fold.semantics.copy())
    rows = np.array(scrambled.semantics)
    rows[fold.unseen_classes] = np.random.default_rng(0).permutation(rows[fold.unseen_classes])
    before, after = visibility(fold)[0][:5], visibility(replace(fold, semantics=rows))[0][:5]
    assert before.mean() > 0.8
    assert abs(after.mean() - 0.5) < 0.2


def test_the_truth_of_the_test_classes_is_not_looked_at(half_visual: Task) -> None:
    truth = half_visual.truth.copy()
    truth[half_visual.asked] = truth[half_visual.asked][::-1]
    assert inspect_attributes(half_visual) == inspect_attributes(replace(half_visual, truth=truth))


def test_the_report_is_a_table_and_a_page(half_visual: Task, tmp_path: Path) -> None:
    report = inspect_attributes(half_visual, ["<b>", *"abcdefghi"])
    write_report(tmp_path / "a.csv", report)
    rows = read(tmp_path / "a.csv")
    assert [row["name"] for row in rows] == [entry.name for entry in report.attributes]
    write_report(tmp_path / "a.html", report)
    page = (tmp_path / "a.html").read_text()
    assert report.suggestion() in page
    assert "<b></" not in page
    assert report.as_dict()["drops"][0]["left_out"] == 1


def test_constant_attributes_say_nothing(task: Task) -> None:
    flat = replace(task, semantics=np.hstack([task.semantics, np.ones((16, 1), np.float32)]))
    found = {entry.column: entry for entry in inspect_attributes(flat).attributes}
    assert (found[8].auc, found[8].correlation) == (0.5, 0.0)


def test_one_fold_is_refused(task: Task) -> None:
    with pytest.raises(UserError, match="folds=1 shows no spread"):
        inspect_attributes(task, folds=1)
