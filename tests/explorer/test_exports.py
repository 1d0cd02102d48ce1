"""What holds about the samples, in the formats of other tools; events of two people come together."""

from __future__ import annotations

import csv
import json
import os
import shutil

import numpy as np
import pytest

from superproto.cli.exit_codes import run_command
from superproto.errors import UserError
from superproto.explorer import exports
from superproto.explorer.events import Event, current_state, event_line, read_events
from superproto.explorer.run import RunContent, keep_run, open_run
from superproto.explorer.session import Session


@pytest.fixture
def answered(session):
    """The run with a confirmed, a corrected and an excluded sample."""
    rows = np.flatnonzero(session.run.asked)[:3].tolist()
    session.answer(rows[:1], "class", session.run.class_names[session.labels()[rows[0]]])
    session.answer(rows[1:2], "class", "8")
    session.answer(rows[2:], "none")
    return session, rows


def test_csv_has_a_line_for_each_sample_that_was_asked_for(answered):
    session, rows = answered
    lines = list(csv.DictReader(exports.export_bytes(session, "csv").decode().splitlines()))
    assert len(lines) == session.run.asked.sum()
    by_id = {line["id"]: line for line in lines}
    assert by_id[str(rows[1])] == {"id": str(rows[1]), "label": "8", "doubt": "0.000000", "source": "person"}
    assert by_id[str(rows[2])]["label"] == ""
    assert by_id[str(rows[2])]["source"] == "none of these"
    assert {line["source"] for line in lines} == {"person", "none of these", "model"}


@pytest.mark.extra
def test_parquet_has_the_same(answered, tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    session, rows = answered
    exports.export_file(session, "parquet", tmp_path / "labels.parquet")
    table = pyarrow.read_table(tmp_path / "labels.parquet").to_pydict()
    assert table["label"][table["id"].index(str(rows[1]))] == "8"
    assert len(table["id"]) == session.run.asked.sum()


def test_label_studio_has_predictions_of_the_model_and_annotations_of_the_person(answered):
    session, rows = answered
    tasks = {task["data"]["id"]: task for task in json.loads(exports.export_bytes(session, "label-studio"))}
    corrected = tasks[str(rows[1])]["annotations"][0]["result"][0]
    assert corrected["value"] == {"choices": ["8"]}
    assert tasks[str(rows[2])]["annotations"][0]["result"] == []
    predicted = [task for task in tasks.values() if "predictions" in task]
    assert len(predicted) == len(tasks) - 3
    assert 0 <= predicted[0]["predictions"][0]["score"] <= 1


def test_fiftyone_has_labels_by_name_without_ending(answered):
    session, rows = answered
    found = json.loads(exports.export_bytes(session, "fiftyone"))
    assert found["labels"][str(rows[1])]["label"] == "8"
    assert found["labels"][str(rows[2])] is None


@pytest.fixture
def with_pictures(task, folder, tmp_path):
    """The run with a file for each sample; two have the same name in different folders."""
    photos = tmp_path / "photos"
    ids = [f"{'a' if number % 2 else 'b'}/{number // 2}.png" for number in range(len(task.X))]
    for name in ids:
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        (photos / name).write_bytes(name.encode())
    names = ["zero/0", "..", "CON", "two", "TWO", "<5>", "six", "seven", "eight", "nine"]
    keep_run(folder, RunContent("photos", task.X, ids, task.y, names, task.semantics, photos=photos))
    from superproto.hpl.estimator import HPL

    labels = np.array([None if label < 0 else names[label] for label in task.y], dtype=object)
    model = HPL(random_state=0).fit(task.X, labels, semantics=task.semantics, class_names=np.array(names))
    model.save(folder / "model.safetensors")
    session = Session(open_run(folder))
    yield session, photos
    session.close()


def test_an_image_folder_links_every_picture_and_changes_none(with_pictures, tmp_path):
    session, photos = with_pictures
    before = {path: path.read_bytes() for path in photos.rglob("*.png")}
    session.answer([int(np.flatnonzero(session.run.asked)[0])], "none")
    target = tmp_path / "sorted"
    plan = exports.plan_links(session, target)
    assert not target.exists(), "a plan makes nothing"
    exports.make_links(plan, target)
    links = [path for path in target.rglob("*") if path.is_symlink()]
    assert len(links) == len(session.run.given) - 1 == len(plan.links)
    assert len({os.path.realpath(link) for link in links}) == len(links)
    assert sorted(path.name for path in target.iterdir())[0] != ".."
    assert len(list(target.iterdir())) == 10
    assert {path: path.read_bytes() for path in photos.rglob("*.png")} == before
    with pytest.raises(UserError, match="not empty"):
        exports.make_links(plan, target)


def test_links_are_not_made_among_the_pictures(with_pictures):
    session, photos = with_pictures
    with pytest.raises(UserError, match="inside the folder of pictures"):
        exports.check_link_folder(session, photos / "sorted")
    exports.check_link_folder(session, photos / ".superproto" / "exports")


def test_the_run_keeps_links_of_the_page(with_pictures):
    session, _ = with_pictures
    found = exports.link_into_run(session, dry_run=True)
    assert found["links"] == len(session.run.given)
    assert not (session.run.folder / "exports").exists()
    exports.link_into_run(session, dry_run=False)
    assert len(list((session.run.folder / "exports").rglob("*.png"))) == found["links"]


# -- two people --------------------------------------------------------------------------------------------------------


def two_people(kept_run, tmp_path):
    folders = [shutil.copytree(kept_run, tmp_path / name) for name in ("ann", "ben")]
    return [Session(open_run(folder)) for folder in folders]


def test_the_events_of_two_people_merge_and_the_later_answer_holds(kept_run, tmp_path):
    ann, ben = two_people(kept_run, tmp_path)
    rows = np.flatnonzero(ann.run.asked)[:3].tolist()
    ann.answer(rows[:2], "class", "3")
    ben.answer(rows[1:], "class", "6")
    exports.export_file(ann, "events", tmp_path / "ann.jsonl")
    theirs = read_events(tmp_path / "ann.jsonl")
    assert ben.merge(theirs) == 2
    assert ben.merge(theirs) == 0, "a second time adds nothing"
    assert ben.labels()[rows].tolist() == [3, 6, 6]
    ann.merge(ben.log.all())
    assert ann.labels()[rows].tolist() == [3, 6, 6]
    assert sorted(ben.undo()) == rows[1:], "one undoes one's own"
    assert ben.labels()[rows].tolist()[:2] == [3, 3]
    ann.merge(ben.log.all())
    assert ann.labels()[rows].tolist()[:2] == [3, 3], "an undo travels too"
    ann.close()
    ben.close()


def test_merging_is_the_same_in_any_order():
    def event(uid, at, new, **more):
        return Event(uid, at, "x", "sample", None, new, "correct", f"batch {uid}", **more)

    events = [event("a", 1.0, "cat"), event("b", 3.0, "dog"), event("c", 2.0, "cow")]
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        merged = sorted((events[i] for i in order), key=lambda e: (e.at, e.uid))
        assert current_state(merged)[0]["sample"].new == "dog"


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        "{}",
        '{"uid": 1}',
        "[" * 10**5,
        '{"uid":"a","at":1e400,"origin":"b","batch":"c","kind":"skip"}',
    ],
)
def test_a_damaged_file_of_events_is_named(tmp_path, line):
    path = tmp_path / "events.jsonl"
    sound = Event("a", 1.0, "b", "c", None, "3", "correct", "d")
    path.write_text(f"{event_line(sound)}\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match="line 2 is no event"):
        read_events(path)


# -- the verb ----------------------------------------------------------------------------------------------------------


def call(capsys, *arguments):
    code = run_command([str(argument) for argument in arguments])
    return (code, *capsys.readouterr())


def test_the_verb_writes_and_merges(kept_run, folder, tmp_path, capsys):
    other = shutil.copytree(kept_run, tmp_path / "other")
    session = Session(open_run(other))
    row = int(np.flatnonzero(session.run.asked)[0])
    session.answer([row], "class", "8")
    session.close()
    code, out, err = call(capsys, "export", other, "--format", "events", "-o", tmp_path / "e.jsonl")
    assert (code, err) == (0, "")
    assert "1 lines" in out
    code, out, _ = call(capsys, "export", folder, "--merge", tmp_path / "e.jsonl", "-o", tmp_path / "labels.csv")
    assert code == 0
    assert "1 new events" in out
    lines = list(csv.DictReader((tmp_path / "labels.csv").read_text().splitlines()))
    assert {line["id"]: line["label"] for line in lines}[str(row)] == "8"
    code, out, _ = call(capsys, "export", folder, "-o", tmp_path / "labels.csv", "--json")
    assert json.loads(out)["lines"] == len(lines)


def test_mistakes_of_the_verb_are_one_line(folder, tmp_path, capsys):
    for arguments, said in [
        (["export", folder], "Give --output"),
        (["export", tmp_path / "nothing", "-o", tmp_path / "x.csv"], "does not exist"),
        (["export", folder, "--format", "imagefolder", "-o", tmp_path / "x"], "no pictures"),
        (["export", folder, "--format", "word", "-o", tmp_path / "x"], "word"),
        (["export", folder, "--merge", folder / "model.safetensors", "-o", tmp_path / "x"], "no event"),
        (["export", folder, "-o", tmp_path / "no" / "x.csv"], "does not exist"),
        (["explore", tmp_path / "nothing"], "does not exist"),
        (["explore", tmp_path], "not the folder of a run"),
        (["explore", folder, "--images", tmp_path], "are for packs"),
        (["explore", folder, "--port", "99999"], "65535"),
    ]:
        code, out, err = call(capsys, *arguments)
        assert (code, out) == (2, "")
        assert said in err
        assert len(err.splitlines()) == 1
