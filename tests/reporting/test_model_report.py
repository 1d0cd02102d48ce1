"""The page of one's own fit: how samples were labeled, which labels are uncertain, and what its parameters were."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superproto import HPL
from superproto.baselines.registry import load_model
from superproto.cli.report import report_on
from superproto.datasets import load, make_task, pack_arrays
from superproto.datasets.packs import Pack, write_pack
from superproto.errors import UserError
from superproto.estimator.forecast import NO_FORECAST, Forecast
from superproto.evaluation.training import fit_task
from superproto.reporting.charts.frame import percent
from superproto.reporting.model_report import build_report, summarize_model
from superproto.reporting.pool_map import evenly_by_label, project
from superproto.reporting.verdict import Findings, next_steps, say_verdict

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of 9 seen and 4 unseen classes, one of which has a name that no page must run."""
    task = make_task(
        n_seen=9, n_unseen=4, samples_per_class=14, n_features=12, n_attributes=7, setting="gzsl", random_state=0
    )
    names = task.class_names.astype(object)
    names[task.unseen_classes[0]] = EVIL
    split = np.where(task.asked, "test", "train")
    path = tmp_path_factory.mktemp("packs") / "small.npz"
    write_pack(path, pack_arrays(task.X, names[task.truth], task.semantics, names, split=split))
    return path


@pytest.fixture(scope="module")
def own(pack: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "own.model"
    fit_task(load(pack), rejection=False).save(path)
    return path


def test_a_models_page_lists_every_candidate_and_every_uncertain_label(own: Path, pack: Path) -> None:
    page = str(report_on(own, pack).render())
    for title in ("Share of each class", "Uncertain labels", "Typical samples of each class"):
        assert title in page
    assert "Class descriptions that match no cluster" in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_page_shows_the_uncertainty_of_the_model(pack: Path) -> None:
    task = load(pack)
    model = fit_task(task, rejection=False)
    table = summarize_model(model, task)["samples"]["uncertainty"]["samples"]
    shown = [row[1] for row in table.rows]
    expected = np.sort(model.doubt_[task.asked])[::-1][: len(shown)]
    assert shown == [percent(value) for value in expected]


def test_a_class_whose_description_fits_nothing_is_named(own: Path) -> None:
    model = load_model(own)
    model.class_doubt_ = np.where(np.asarray(model.seen_classes_), 0.0, 0.99)
    page = str(build_report(model).render())
    assert "probably belong to other classes" in page


@pytest.mark.parametrize("share", ["rejected", "refused"])
def test_the_learned_threshold_is_a_sentence_for_files_of_every_version(own: Path, share: str) -> None:
    model = load_model(own)
    model.rejection_ = {"threshold": 0.25, "auroc": 0.875, "kept": 0.9, share: 0.8}
    page = str(build_report(model).render())
    assert "keeps 90% of the samples of known classes and rejects 80% of those of unknown classes" in page
    model.rejection_ = {"threshold": 0.25}
    assert "A label is rejected" not in str(build_report(model).render())


def test_a_model_without_its_pack_still_has_a_page(own: Path) -> None:
    assert "Estimated share of each candidate class" in report_on(own).render()


def test_a_pack_with_other_classes_is_refused(own: Path, tmp_path: Path) -> None:
    other = make_task(n_seen=4, n_unseen=2, samples_per_class=6, n_features=12, n_attributes=7, random_state=0)
    seen = np.flatnonzero(other.y >= 0)
    pool = np.flatnonzero(other.y == -1)
    names = np.array([f"other {i}" for i in range(6)])
    pack = Pack("o", np.asarray(other.X), other.truth, other.semantics, names, {"trainval": seen, "test_unseen": pool})
    write_pack(tmp_path / "o.npz", pack)
    with pytest.raises(UserError, match="have different classes"):
        report_on(own, tmp_path / "o.npz")


def test_a_page_is_refused_for_another_setting_than_that_of_the_fit(own: Path, pack: Path) -> None:
    with pytest.raises(UserError, match="was fitted for the setting zsl, not gzsl"):
        report_on(own, pack, setting="gzsl")


def test_what_tune_wrote_is_shown_with_its_folds() -> None:
    task = make_task(n_seen=6, n_unseen=3, samples_per_class=10, n_features=8, n_attributes=5, random_state=0)
    model = HPL().fit(task.X, task.y, semantics=task.semantics)
    tuned = {"reason": "The default was kept.", "folds": [{"name": "fold 1", "classes": ["a", "b"], "score": 0.5}]}
    page = str(build_report(model, task, tuned=tuned).render())
    assert "The default was kept." in page
    assert "fold 1" in page
    assert "['" not in page


def test_the_page_starts_with_a_verdict_and_ends_with_next_steps(own: Path, pack: Path) -> None:
    page = str(report_on(own, pack).render())
    titles = re.findall(r"<h2 id=[^>]*>([^<]*)</h2>", page)
    assert titles[0] == "Verdict"
    assert titles[-1] == "Next steps"
    assert f"superproto predict {own} {pack} -o predicted.csv --uncertain-first" in page
    assert "All parameters have their default values." in page
    assert "dictionary_solver" not in page


def findings(**changed: Any) -> Findings:
    start = Findings(4, np.zeros(10), [f"id {i}" for i in range(10)], [], [], [], None)
    return start._replace(**changed)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "Most labels look reliable: 0 of 10 labels are uncertain"),
        ({"uncertainty": np.repeat([0.9, 0.1], [2, 8])}, "Some labels should be checked before they are used: 2 of 10"),
        ({"uncertainty": np.repeat([0.9, 0.1], [5, 5])}, "Do not use these labels without checking them: 5 of 10"),
        ({"unmatched": ["zebra", "fox"]}, "Do not use these labels without checking them"),
        ({"unmatched": ["zebra"]}, "The description matches no cluster of samples for zebra"),
        ({"absent": ["fox"]}, "fox probably have no sample here"),
        ({"empty": ["wolf"]}, "No sample received the label wolf"),
        ({"accuracy": 0.5}, "50 % per-class accuracy"),
        ({"forecast": Forecast(0.5, 0.25)}, "Forecast: 50 % per-class accuracy on unseen classes (chance: 25 %)"),
        ({"uncertainty": None}, "give the data set with --pack"),
        ({"uncertainty": np.zeros(0)}, "no unlabeled samples"),
    ],
)
def test_the_verdict_says_whether_labels_can_be_used_and_what_speaks_against_it(
    changed: dict[str, Any], words: str
) -> None:
    assert words in " ".join(say_verdict(findings(**changed)))


def test_next_steps_name_the_samples_and_the_classes_to_look_at() -> None:
    found = findings(uncertainty=np.arange(10) / 10, unmatched=["zebra"])
    steps = next_steps(found, "a.model", "a.npz", "gzsl", tuned=False)
    assert "id 9, id 8, id 7" in steps[0].text
    assert any("descriptions of zebra" in step.text for step in steps)
    assert steps[-1].command == "superproto tune a.npz -o tuned.json --setting gzsl"


def test_next_steps_for_a_folder_of_pictures_need_no_pack() -> None:
    commands = [step.command for step in next_steps(findings(), "a.model", None, "zsl", tuned=False)]
    assert "superproto explore PHOTOS" in commands
    assert not any("PACK" in command or "None" in command for command in commands)


def test_the_page_has_a_forecast_where_enough_classes_are_seen(pack: Path) -> None:
    task = load(pack)
    model = HPL().fit(task.X, task.y, semantics=task.semantics)
    assert np.isfinite(model.forecast_.accuracy)
    assert "Forecast: " in build_report(model, task).render()
    model.forecast_ = NO_FORECAST
    page = build_report(model, task).render()
    assert "Forecast" not in page
    assert "nan" not in page


def test_the_map_has_every_sample_with_its_id_and_every_class_with_its_name(own: Path, pack: Path) -> None:
    task = load(pack)
    drawn = summarize_model(load_model(own), replace(task, paths=np.array([f"s{i}" for i in range(len(task.X))])))
    chart = str(drawn["samples"]["map"]["chart"])
    for i in np.flatnonzero(task.asked):
        assert f"s{i}: " in chart
    assert "&lt;script&gt;" in chart


def test_a_map_of_many_samples_draws_some_of_every_class() -> None:
    label = np.repeat([0, 1, 2], [10_000, 5, 300])
    drawn = evenly_by_label(label, 900)
    assert len(drawn) == 900
    assert np.bincount(label[drawn]).tolist() == [595, 5, 300]


def test_a_map_of_two_classes_and_of_one_feature_has_two_axes() -> None:
    rows = np.random.default_rng(0).normal(size=(12, 1))
    assert project(rows, np.repeat([0, 1], 6))[0].shape == (12, 2)


def test_pictures_come_from_the_folder_alone(tmp_path: Path) -> None:
    task = make_task(n_seen=6, n_unseen=3, samples_per_class=10, n_features=8, n_attributes=5, random_state=0)
    task = replace(task, paths=np.array([f"../secret-{i}.png" for i in range(len(task.X))]))
    model = HPL().fit(task.X, task.y, semantics=task.semantics)
    with pytest.raises(UserError, match="is outside"):
        build_report(model, task, images=tmp_path)


def test_thumbnails_are_shown_where_pictures_are(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow (extra images)")
    task = make_task(n_seen=6, n_unseen=3, samples_per_class=10, n_features=8, n_attributes=5, random_state=0)
    paths = np.array([f"{i}.png" for i in range(len(task.X))])
    for name in paths:
        image.new("RGB", (20, 30), "red").save(tmp_path / name)
    task = replace(task, paths=paths)
    model = HPL().fit(task.X, task.y, semantics=task.semantics)
    page = build_report(model, task, images=tmp_path).render()
    assert "data:image/jpeg" in page
    assert ("Map of the pictures" in page, "Map of the unlabeled samples" in page) == (True, False)
    (tmp_path / paths[task.asked][0]).write_bytes(b"no picture")
    assert "Share of each class" in build_report(model, task, images=tmp_path).render()


def test_samples_are_called_by_their_ids() -> None:
    task = make_task(n_seen=6, n_unseen=3, samples_per_class=10, n_features=8, n_attributes=5, random_state=0)
    task = replace(task, paths=np.array([f"{i}.png" for i in range(len(task.X))]))
    model = HPL().fit(task.X, task.y, semantics=task.semantics)
    names = np.array([f"bird no. {i}" for i in range(len(task.X))])
    page = str(build_report(model, task, sample_names=names).render())
    assert f"bird no. {np.asarray(task.rows)[task.asked][0]}" in page
    assert ".png" not in page


def test_a_model_of_one_class_has_no_runner_up_and_a_page_all_the_same() -> None:
    task = make_task(n_seen=2, n_unseen=1, samples_per_class=10, n_features=8, n_attributes=5, random_state=0)
    first = np.flatnonzero(task.truth == 0)
    alone = replace(
        task,
        X=task.X[first],
        y=np.where(np.arange(len(first)) % 2, 0, -1),
        truth=task.truth[first],
        semantics=task.semantics[:1],
        class_names=task.class_names[:1],
        rows=np.arange(len(first)),
    )
    model = HPL().fit(alone.X, alone.y, semantics=alone.semantics)
    assert "Every label is correct." in build_report(model, alone).render()
    table = summarize_model(model, alone)["samples"]["uncertainty"]["samples"]
    assert {len(row) for row in table.rows} == {len(table.columns)} == {4}


@pytest.mark.parametrize("name", ["../secret.jpg", "/etc/hostname", "a/../../secret.jpg"])
def test_image_paths_do_not_lead_out_of_the_folder(name, tmp_path):
    from superproto.errors import UserError
    from superproto.reporting.sample_pictures import inside

    (tmp_path / "photos").mkdir()
    with pytest.raises(UserError, match="is outside"):
        inside(tmp_path / "photos", name)
    assert inside(tmp_path / "photos", "a/../b.jpg").name == "b.jpg"


@pytest.mark.parametrize("method", ["cdl", "eszsl", "sae", "dap"])
def test_models_of_other_methods_have_a_report(method, tmp_path):
    from builders import small_task
    from superproto.evaluation.training import fit_task
    from superproto.reporting.model_report import build_report

    task = small_task()
    model = fit_task(task, method, rejection=False)
    assert build_report(model, task).write(tmp_path / "report.html").exists()
