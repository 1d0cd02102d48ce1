"""The paper from one command: what the records say is what the page says, and no name in them breaks it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superproto.cli.report import report_on
from superproto.datasets import make_task
from superproto.datasets.packs import Pack, read_pack, write_pack
from superproto.errors import UserError
from superproto.experiments.generated_docs import RecordedResults, render_readme
from superproto.experiments.paper.jobs import jobs_of
from superproto.experiments.paper.page import build_page, reproduce_paper
from superproto.experiments.paper.published import published_rows
from superproto.experiments.plans import Ablation, Data, Figure, PaperTable, Plan, Variant, read_plan
from superproto.experiments.records import Results, append_record, read_records
from superproto.experiments.task_cache import TaskCache

EVIL = "<script>alert(1)</script>"


def small_pack(folder: Path, name: str) -> Path:
    """A pack of 9 seen and 4 unseen classes, one of which has a name that no page must run."""
    task = make_task(n_seen=9, n_unseen=4, samples_per_class=14, n_features=12, n_attributes=7, random_state=0)
    truth, unseen = task.truth, task.unseen_classes
    rows = np.arange(len(truth))
    seen_rows = rows[~np.isin(truth, unseen)]
    names = np.array([f"class {i}" for i in range(len(task.semantics))], dtype=object)
    names[unseen[0]] = EVIL
    held_out = seen_rows[::5]
    splits = {
        "trainval": np.setdiff1d(seen_rows, held_out),
        "test_seen": held_out,
        "test_unseen": rows[np.isin(truth, unseen)],
    }
    path = folder / name
    write_pack(path, Pack(path.stem, np.asarray(task.X), truth, task.semantics, names.astype(str), splits))
    return path


def write_xlsa17(folder: Path, pack: Pack) -> None:
    """The pack as Xian et al. write theirs: columns are samples and classes, indices start at 1."""
    from scipy.io import savemat

    names = np.array([[str(name)] for name in pack.class_names], dtype=object)
    places = {f"{name}_loc": rows[:, None] + 1 for name, rows in pack.splits.items()}
    savemat(folder / "res101.mat", {"features": pack.features.T, "labels": pack.labels[:, None] + 1})
    savemat(folder / "att_splits.mat", {"att": pack.semantics.T, "allclasses_names": names, **places})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packs")
    small_pack(folder, "small.npz")
    return folder


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The shape of the paper's plan at a size for tests."""
    full = read_plan()
    methods = ("eszsl", "hpl-published", "hpl")
    return Plan(
        data=(Data("Small", "small.npz", "CUB", "synthetic"), Data("SUN", "SUN", "SUN", "ResNet-101")),
        tables=tuple(PaperTable(n, "gzsl" if n == 5 else "zsl", "ss" if n == 3 else "ps", methods) for n in (3, 4, 5)),
        ablations=(
            Ablation("ii", "order", (Variant("Seen classes part first", "hpl-published", {"order": "seen"}),
                                     Variant("Unseen classes part first", "hpl-published"))),
        ),
        figures=(Figure("sizes"), Figure("convergence"), Figure("portrait")),
        attributes={},
        seeds=full.seeds,
        chance=full.chance,
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(data: Path, plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Records of the whole small plan, and its page."""
    records = tmp_path_factory.mktemp("records") / "records.jsonl"
    return records, render(data, records, plan)


def render(data: Path, records: Path, plan: Plan, **more: Any) -> str:
    figures = ("framework", "convergence", "portrait", "super-prototypes")
    return str(reproduce_paper(data, records, plan=plan, figures=figures, **more).render())


def test_a_second_run_reuses_every_record(data: Path, plan: Plan, made: tuple[Path, str]) -> None:
    records, page = made
    before = records.read_bytes()
    said: list[str] = []
    assert render(data, records, plan, step=said.append) == page
    assert records.read_bytes() == before
    assert said == []


def test_an_interrupted_run_resumes_to_the_same_page(
    data: Path, plan: Plan, made: tuple[Path, str], tmp_path: Path
) -> None:
    records, page = made
    lines = records.read_bytes().splitlines(keepends=True)
    part = tmp_path / "records.jsonl"
    # As after a crash: some lines, the last one torn. Timings are what they were, so the rest comes back from the file.
    part.write_bytes(b"".join(lines[:5]) + lines[5][:40])
    with pytest.warns(UserWarning, match="line 6 is not a record"):
        render(data, part, plan)
    with pytest.warns(UserWarning, match="line 6 is not a record"):
        kept = {record.key: record for record in read_records(part)}
    assert {record.key for record in read_records(records)} == set(kept)
    same = {r.key: r.scores for r in read_records(records) if r.kind == "run"}
    assert all({**kept[key].scores, "cpu_seconds": s["cpu_seconds"]} == s for key, s in same.items())
    assert page.count("<svg") > 3


def test_the_page_shows_the_recorded_numbers(plan: Plan, made: tuple[Path, str]) -> None:
    records, page = made
    results = Results(read_records(records))
    for method, params in (("eszsl", {"whiten": False}), ("hpl-published", {"whiten": True}), ("hpl", {})):
        score = results.score("small", method, params)
        assert score is not None
        assert f"{100 * score.mean:.1f}" in page


def test_every_published_row_is_on_the_page(made: tuple[Path, str]) -> None:
    for row in published_rows("IV"):
        assert f">{row.method}<" in made[1]
        assert all(f"{value:.1f}" in made[1] for value in row.values.values())


def test_what_is_embedded_is_measured_once(data: Path) -> None:
    full = read_plan()
    tasks = TaskCache(Data("Small", "small.npz", "CUB", "synthetic"), data)
    assert [job.request.method for job in jobs_of(full, None, set(), ["digits", "convergence"])] == ["digits"]
    assert [job.request.method for job in jobs_of(full, tasks, set(), ["digits", "convergence"])] == ["convergence"]


def test_missing_data_is_said(made: tuple[Path, str]) -> None:
    assert "no data" in made[1]
    assert "No data for SUN (ResNet-101)" in made[1]


def test_cells_of_a_users_own_xlsa17_folder_fill_in(data: Path, plan: Plan, tmp_path: Path) -> None:
    """The five folders of the plan; SUN is put beside the small pack."""
    assert [d.find for d in read_plan().data if d.features == "ResNet-101"] == ["APY", "AWA1", "AWA2", "SUN", "CUB"]
    (tmp_path / "SUN").mkdir()
    write_xlsa17(tmp_path / "SUN", read_pack(data / "small.npz"))
    page = str(
        reproduce_paper(tmp_path, tmp_path / "r.jsonl", plan=plan, tables=[2, 4, 5], figures=["convergence"]).render()
    )
    score = Results(read_records(tmp_path / "r.jsonl")).score("SUN", "eszsl", {"whiten": False})
    assert score is not None
    assert f"{100 * score.mean:.1f}" in page
    assert "SUN (ResNet-101, at hand)" in page
    assert "No data for Small (synthetic)." in page


def test_a_class_named_script_is_shown_as_text(made: tuple[Path, str]) -> None:
    assert "<script" not in made[1]
    assert "&lt;script&gt;" in made[1]


def test_the_page_is_small_and_needs_no_network(made: tuple[Path, str]) -> None:
    assert len(made[1].encode()) < 5e6
    assert "http" not in made[1].replace("http://www.w3.org/2000/svg", "")


def test_numbers_of_other_data_do_not_count(data: Path, plan: Plan, made: tuple[Path, str], tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    record = next(
        r for r in read_records(made[0]) if r.method == "eszsl" and r.setting == "zsl" and not r.params["whiten"]
    )
    append_record(records, replace(record, data="other", scores={**record.scores, "per_class_accuracy": 0.98765}))
    page = str(reproduce_paper(data, records, plan=plan, tables=[4], figures=[]).render())
    assert "98.8" not in page


def test_fresh_runs_again_and_keeps_one_record_of_each(
    data: Path, plan: Plan, made: tuple[Path, str], tmp_path: Path
) -> None:
    records = tmp_path / "records.jsonl"
    records.write_bytes(made[0].read_bytes())
    said: list[str] = []
    reproduce_paper(data, records, plan=plan, tables=[4], figures=[], fresh=True, step=said.append)
    assert len(said) == 5
    keys = [record.key for record in read_records(records)]
    assert len(keys) == len(set(keys)) == len(read_records(made[0]))


def test_a_fresh_run_that_was_interrupted_goes_on_without_fresh(data: Path, plan: Plan, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    reproduce_paper(data, records, plan=plan, tables=[4], figures=[])
    before = read_records(records)

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce_paper(data, records, plan=plan, tables=[4], figures=[], fresh=True, step=interrupt)
    assert len(read_records(records)) == 1
    reproduce_paper(data, records, plan=plan, tables=[4], figures=[])
    assert {record.key for record in read_records(records)} == {record.key for record in before}


def test_two_processes_record_what_one_does(data: Path, plan: Plan, made: tuple[Path, str], tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    reproduce_paper(data, records, plan=plan, tables=[4, 5], figures=[], processes=2)
    alone = {record.key: record.scores["interval"] for record in read_records(made[0]) if "interval" in record.scores}
    found = {record.key: record.scores["interval"] for record in read_records(records)}
    assert len(found) == 10
    assert all(alone[key] == pytest.approx(interval, rel=1e-6) for key, interval in found.items())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"tables": [7]}, "'7' is not a table or figure"),
        ({"figures": ["convergance"]}, "'convergance' is not a table or figure"),
    ],
)
def test_an_unknown_table_or_figure_is_named(data: Path, plan: Plan, tmp_path: Path, more: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        reproduce_paper(data, tmp_path / "r.jsonl", plan=plan, **more)


def test_a_missing_data_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere is not a folder"):
        reproduce_paper(tmp_path / "nowhere", tmp_path / "r.jsonl")


def test_a_changed_default_leaves_old_records_out(plan: Plan, made: tuple[Path, str]) -> None:
    records = [replace(r, params={**r.params, "rho": 0.123}) if r.method == "hpl" else r for r in read_records(made[0])]
    assert Results(records).score("small", "hpl") is None


def test_a_page_without_any_record_still_says_what_is_missing() -> None:
    page = str(build_page(read_plan(), [], (2, 3, 4, 5, 6), ("framework", "convergence")).render())
    assert "No data for aPY (ResNet-101)" in page
    assert "Not measured" in page


def test_a_file_of_records_has_a_page(made: tuple[Path, str]) -> None:
    page = str(report_on(made[0]).render())
    assert "hpl-published" in page
    assert "small: zsl, ps" in page


def test_an_empty_file_of_records_is_named(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_bytes(b"\n")
    with pytest.raises(UserError, match="holds no record"):
        report_on(tmp_path / "none.jsonl")


def test_docs_have_the_cells_of_the_page(made: tuple[Path, str]) -> None:
    found = [replace(r, task="flo_efficientnet_lite0") for r in read_records(made[0])]
    text = render_readme(
        "<!-- generated:paper-table-4 -->\n<!-- /generated:paper-table-4 -->\n", RecordedResults(found)
    )
    plain, whitened = (
        Results(found).score("flo_efficientnet_lite0", "eszsl", {"whiten": whiten}) for whiten in (False, True)
    )
    assert plain is not None
    assert whitened is not None
    row = next(line for line in text.splitlines() if line.startswith("| ind. | ESZSL |"))
    assert row.endswith(f"| {100 * plain.mean:.1f} / {100 * whitened.mean:.1f} | no data |")


def test_reproduce_works_outside_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from superproto.cli.exit_codes import run_command

    monkeypatch.chdir(tmp_path)
    small_pack(tmp_path, "flo_efficientnet_lite0.npz")
    assert (
        run_command(
            [
                "research",
                "paper",
                "--data",
                ".",
                "--table",
                "2",
                "--jobs",
                "1",
                "-o",
                "report.html",
                "--records",
                "records.jsonl",
            ]
        )
        == 0
    )
    assert "FLO Lite0 (EfficientNet-Lite0, at hand)" in (tmp_path / "report.html").read_text()
    assert len(read_records(tmp_path / "records.jsonl")) == 1
