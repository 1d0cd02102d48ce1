"""The verb `fit`: a data set, or three files, and never one in the place of the other."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from superproto import HPL, load_model


@pytest.fixture
def three(files):
    return ["--features", files / "x.npy", "--labels", files / "y.csv", "--classes", files / "classes.csv"]


def test_three_files_are_fitted_as_the_library_fits_their_arrays(call, files, three, task):
    code, out, err = call("fit", *three, "--setting", "gzsl", "-o", files / "m.model", "--json")
    assert code == 0
    assert json.loads(out)["task"] == "x.npy"
    assert "note: No rejection threshold was learned" in err
    expected = HPL(candidates="all", random_state=0).fit(task.X.astype("f4"), task.y, semantics=task.semantics)
    found = load_model(files / "m.model").transduction_
    assert (found == task.class_names[expected.transduction_]).all()


def test_a_pack_is_fitted_and_labels_its_own_rows(call, packed, tmp_path):
    assert call("fit", packed, "-o", tmp_path / "m.model")[0] == 0
    assert call("predict", tmp_path / "m.model", packed, "-o", tmp_path / "labels.csv")[0] == 0
    with (tmp_path / "labels.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 80
    assert list(rows[0]) == ["id", "label", "probability", "margin", "runner_up"]


def test_a_pack_beside_files_says_how_to_write_it(mistake, files, three, packed):
    told = mistake("fit", files / "x.npy", *three[2:], "-o", files / "m.model")
    assert f"write --features {files / 'x.npy'} --labels FILE --classes FILE" in told
    assert "is read as a data set" in mistake("fit", packed, *three, "-o", files / "m.model")
    assert not (files / "m.model").exists()


@pytest.mark.parametrize(
    ("left_out", "said"),
    [(0, "Give --features too."), (1, "Give --labels too."), (2, "Give --classes too.")],
)
def test_a_file_that_is_missing_is_named(mistake, files, three, left_out, said):
    given = three[: 2 * left_out] + three[2 * left_out + 2 :]
    assert said in mistake("fit", *given, "-o", files / "m.model")


def test_nothing_to_fit_says_where_help_is(mistake, tmp_path):
    told = mistake("fit", "-o", tmp_path / "m.model")
    assert "Give a data set, or --features, --labels and --classes. See: superproto fit --help" in told


def test_a_model_never_replaces_what_it_is_fitted_to(mistake, files, three):
    for name in ("x.npy", "y.csv", "classes.csv"):
        before = (files / name).read_bytes()
        assert "would be replaced" in mistake("fit", *three, "-o", files / name)
        assert (files / name).read_bytes() == before


def test_predict_on_a_pack_keeps_the_labels_that_are_given_unless_all_are_asked_for(call, packed, task, tmp_path):
    model, table = tmp_path / "m.model", tmp_path / "labels.csv"
    assert call("fit", packed, "-m", "eszsl", "--no-rejection", "-o", model)[0] == 0
    code, _, err = call("predict", model, packed, "-o", table)
    assert code == 0
    assert "keep the label" in err
    rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
    assert len(rows) == len(task.X)
    for row, label in zip(rows, task.y):
        if label >= 0:
            assert row[1:] == [str(task.class_names[label]), "1.000000", "1.000000", ""]
    unseen = set(map(str, task.class_names[task.unseen_classes]))
    assert {row[1] for row, label in zip(rows, task.y) if label < 0} <= unseen
    code, _, err = call("predict", model, packed, "-o", table, "--all")
    assert {line.split(",")[1] for line in table.read_text().splitlines()[1:]} <= unseen
    assert "keep the label" not in err


def test_pictures_given_as_features_point_to_label(mistake, files, call, packed, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"")
    model = tmp_path / "m.model"
    assert call("fit", packed, "-o", model, "-m", "eszsl", "--no-rejection")[0] == 0
    for given in (tmp_path / "photos", tmp_path / "photos" / "a.jpg"):
        assert "superproto label" in mistake("predict", model, given, "-o", tmp_path / "l.csv")
        assert "superproto label" in mistake("fit", given, "-o", tmp_path / "x.model")
        tables = ("--labels", files / "y.csv", "--classes", files / "classes.csv")
        assert "superproto label" in mistake("pack", "--features", given, *tables, "-o", tmp_path / "x.npz")


def test_a_pack_given_as_a_model_is_called_that(mistake, packed, tmp_path):
    told = mistake("predict", packed, packed, "-o", tmp_path / "l.csv")
    assert f"is a pack or an archive, not a model. Fit one with: superproto fit {packed} -o MODEL" in told


def test_faults_of_features_name_the_file(mistake, call, packed, tmp_path):
    model = tmp_path / "m.model"
    assert call("fit", packed, "-o", model, "-m", "eszsl", "--no-rejection")[0] == 0
    rows = np.zeros((3, 8))
    rows[1, 2] = np.nan
    np.save(tmp_path / "nan.npy", rows)
    np.save(tmp_path / "wide.npy", np.ones((3, 9)))
    for name, words in (("nan.npy", "Row 1 has NaN"), ("wide.npy", "9 features, but the model was fitted with 8")):
        told = mistake("predict", model, tmp_path / name, "-o", tmp_path / "l.csv")
        assert told.count(str(tmp_path / name)) == 1
        assert words in told
        assert not (tmp_path / "l.csv").exists()


def test_fit_tells_the_forecast_of_the_model(call, files, three):
    code, out, _ = call("fit", *three, "-o", files / "m.model", "--json")
    expected = load_model(files / "m.model").forecast_
    forecast = json.loads(out)["forecast"]
    assert code == 0
    assert forecast == (pytest.approx(expected._asdict()) if np.isfinite(expected.accuracy) else None)
    shown = call("fit", *three, "-o", files / "m.model", "--force")[1]
    assert ("Forecast: " in shown) == (forecast is not None)
    assert forecast is not None
