"""The leaderboard: its plan, a run that resumes, paired comparisons, views that nothing breaks, stale blocks."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from superproto.baselines.registry import DEEP, METHODS
from superproto.cli import exit_codes
from superproto.datasets import load, make_task, pack_arrays
from superproto.datasets.packs import write_pack
from superproto.errors import UserError
from superproto.evaluation.evaluate import evaluate
from superproto.experiments.leaderboard import tuned_parameters, views
from superproto.experiments.leaderboard.jobs import run_leaderboard, run_references
from superproto.experiments.leaderboard.ranking import Cell, Column, build_leaderboard
from superproto.experiments.leaderboard.views import (
    LEADERBOARD_BLOCKS,
    LeaderboardRecords,
    build_leaderboard_page,
    cells_table,
    leaderboard_latex,
    leaderboard_markdown,
    mean_text,
    ranking_table,
    signed,
)
from superproto.experiments.plans import LeaderboardPlan, MethodCard, read_leaderboard_plan
from superproto.experiments.records import Record, append_record, read_records
from superproto.experiments.runner import Run, run_methods

PLAN = """
groups.inductive = ["prototypes", "ale"]
groups.transductive = ["kmeans", "hpl"]
seeds = 3
chance = ["ale"]
limit = 300
folds = 2
untuned = ["hpl"]
data = [{ title = "A|B & 50%_x", find = "small.npz", dataset = "small", features = "=drawn" }]
parts = [
  { data = "small.npz", features = "whitened", trials = 2, seconds = 60 },
  { data = "small.npz", features = "raw" },
]
skips = [{ method = "hpl", features = "raw", reason = "it whitens | by itself" }]

[[references]]
data = "small.npz"
features = "raw"
method = "prototypes"
figure = 50.0
params = { whiten = false, ridge = 0.2 }

[[references]]
data = "small.npz"
features = "whitened"
shrinkage = 0.1
method = "prototypes"
figure = 60.0
params = { whiten = false, ridge = 0.2 }
"""


RAW_PROTOTYPES = ("run", "prototypes", "gzsl", False)


def ranking_rows(leaderboard: Any) -> Any:
    return ranking_table(leaderboard, "gzsl", "whitened").rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack, a plan, and the records of the whole plan."""
    folder = tmp_path_factory.mktemp("leaderboard")
    task = make_task(
        n_seen=8, n_unseen=4, n_features=8, n_attributes=6, samples_per_class=9, setting="gzsl", separation=1.5
    )
    split = np.where(task.asked, "test", "train")
    labels = task.class_names[task.truth]
    write_pack(folder / "small.npz", pack_arrays(task.X, labels, task.semantics, task.class_names, split=split))
    (folder / "plan.toml").write_text(PLAN)
    assert run_leaderboard(read_leaderboard_plan(folder / "plan.toml"), folder, folder / "whole.jsonl") == 22
    return folder


@pytest.fixture(scope="module")
def plan(folder: Path) -> LeaderboardPlan:
    return read_leaderboard_plan(folder / "plan.toml")


@pytest.fixture(scope="module")
def records(folder: Path) -> list[Record]:
    return read_records(folder / "whole.jsonl")


def test_a_folder_that_is_none_is_told(plan: LeaderboardPlan, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere is not a folder. Give the folder of the packs"):
        run_leaderboard(plan, tmp_path / "nowhere", tmp_path / "r.jsonl")


def test_parameters_are_chosen_on_seen_classes_and_gzsl_reuses_the_choice(records: list[Record]) -> None:
    searches = [record for record in records if record.kind == "tuning"]
    assert [record.method for record in searches] == ["prototypes", "ale", "kmeans"]
    for search in searches:
        method = search.method
        assert {c for fold in search.scores["hidden_classes"] for c in fold} <= set(range(8)), "4 unseen classes follow"
        runs = [r for r in records if (r.kind, r.method) == ("run", method) and r.params["whiten"] is True]
        assert {r.setting for r in runs} == {"zsl", "gzsl"}
        assert len({json.dumps(r.params) for r in runs}) == 1
        assert all(r.chosen == search.chosen and "held-out seen classes" in r.chosen for r in runs)
        assert search.scores["params"].items() <= runs[0].params.items()


def test_the_bias_of_calibrated_stacking_comes_from_the_labeled_samples_and_is_applied(
    records: list[Record], folder: Path, tmp_path: Path
) -> None:
    biases = [record for record in records if record.kind == "calibration"]
    assert len(biases) == 7, "three methods with two kinds of features, and HPL() with its own"
    assert all(r.scores["harmonic_mean"] >= r.scores["plain_harmonic_mean"] for r in biases), "chosen for the highest H"
    for bias in biases:
        runs = [r for r in records if (r.kind, r.method, r.params) == ("run", bias.method, bias.params)]
        found = {r.scores["calibrated"]["seen_bias"] for r in runs if r.setting == "gzsl"}
        assert found == {bias.scores["seen_bias"]}, bias.method
        assert not any("calibrated" in r.scores for r in runs if r.setting == "zsl")
    one = next(r for r in records if (r.kind, r.method, r.setting, r.params.get("whiten")) == RAW_PROTOTYPES)
    task, bias = load(folder / "small.npz", setting="gzsl"), one.scores["calibrated"]["seen_bias"]
    expected = evaluate(task, "prototypes", {"seen_bias": bias}).scores
    assert {n: one.scores["calibrated"][n] for n in ("unseen", "seen", "harmonic_mean")} == pytest.approx(
        {n: expected[n] for n in ("unseen", "seen", "harmonic_mean")}
    )


def test_the_bias_does_not_see_the_truth_of_the_task(plan: LeaderboardPlan, folder: Path, tmp_path: Path) -> None:
    task = load(folder / "small.npz", setting="gzsl")
    other = replace(task, truth=np.where(task.asked, np.roll(task.truth, 7), task.truth))
    tables = [whole.folds(1)[0] for whole in (task, other)]
    assert tables[0].digest() == tables[1].digest()


def test_a_record_without_calibrated_scores_is_made_again_for_the_first_seed_only(
    plan: LeaderboardPlan, folder: Path, records: list[Record], tmp_path: Path
) -> None:
    path = tmp_path / "older.jsonl"
    for record in records:
        if record.kind != "calibration":
            append_record(path, replace(record, scores={k: v for k, v in record.scores.items() if k != "calibrated"}))
    # prototypes and kmeans have one seed, ale has three; HPL() is run with whitened features alone.
    assert run_leaderboard(plan, folder, path) == 7
    assert run_leaderboard(plan, folder, path) == 0


def test_rows_say_names_years_tuning_means_and_calibrated_h(plan: LeaderboardPlan, records: list[Record]) -> None:
    cards = (MethodCard("ale", "Attribute label embedding", "Akata et al.", 2016),)
    leaderboard = build_leaderboard(replace(plan, cards=cards), records)
    rows = {row[0].text: [str(getattr(entry, "text", entry)) for entry in row] for row in ranking_rows(leaderboard)}
    cell = leaderboard.cells[Column(plan.data[0], "whitened", "gzsl")]["ale"]
    assert rows["ale"][2:5] == ["2016", "inductive", "tuned"]
    assert rows["hpl"][2:5] == ["–", "transductive", "defaults"]
    assert rows["ale"][6] == f"{100 * cell.score:.1f}"
    assert rows["ale"][7:] == [f"{100 * cell.calibrated[-1]:.1f}"] * 2
    assert mean_text([0.5, None, 0.7]) == "60.0 (2 of 3)"
    assert mean_text([None]) == "–"


def test_the_plan_has_a_card_for_every_method_and_published_figures_of_every_deep_one() -> None:
    plan = read_leaderboard_plan()
    assert {card.method for card in plan.cards} == set(plan.methods) == set(METHODS)
    assert all(card.name and card.reference for card in plan.cards)
    assert {card.method for card in plan.cards if card.published and card.differs} == set(DEEP)


def test_an_interrupted_run_goes_on_and_comes_to_the_same_table(
    plan: LeaderboardPlan, folder: Path, records: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, said = tmp_path / "r.jsonl", []

    def stop(text: str) -> None:
        said.append(text)
        if len(said) in (3, 8):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run_leaderboard(plan, folder, path, step=stop)
    searches = sum(record.kind == "tuning" for record in read_records(path))
    kept = tuned_parameters.tune
    calls: list[str] = []
    monkeypatch.setattr(
        tuned_parameters, "tune", lambda task, method, *a, **k: calls.append(method) or kept(task, method, *a, **k)
    )
    run_leaderboard(plan, folder, path, step=stop)
    assert len(said) == 22
    assert said[-1].endswith(" left")
    assert len(calls) == 3 - searches, "a choice that is recorded is not made again"
    assert leaderboard_markdown(build_leaderboard(plan, read_records(path))) == leaderboard_markdown(
        build_leaderboard(plan, records)
    )
    assert run_leaderboard(plan, folder, path) == 0


def test_a_run_that_takes_too_long_is_recorded_as_such(plan: LeaderboardPlan, tmp_path: Path) -> None:
    task = make_task(n_seen=30, n_unseen=4, samples_per_class=60)
    found = run_methods([Run(task, "ale", {"whiten": True})], tmp_path / "r.jsonl", limit=0.01)[0]
    assert found.scores == {}
    assert found.notes == ["not finished within 0.01 s"]
    assert run_methods([Run(task, "ale", {"whiten": True})], tmp_path / "r.jsonl") == [found], "and not tried again"
    cells = build_leaderboard(plan, [replace(found, task="small")]).cells
    assert cells[Column(plan.data[0], "whitened", "zsl")]["ale"] == Cell(missing="not finished within 0.01 s")


def test_again_runs_what_is_recorded_with_the_choices_that_were_made(
    plan: LeaderboardPlan, folder: Path, records: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes((folder / "whole.jsonl").read_bytes())
    monkeypatch.setattr(tuned_parameters, "tune", lambda *a, **k: pytest.fail("a choice was made again"))
    assert run_leaderboard(plan, folder, path, methods=["kmeans"], features=["whitened"], again=True) == 2
    assert len(read_records(path)) == len(records) + 2
    assert leaderboard_markdown(build_leaderboard(plan, read_records(path))) == leaderboard_markdown(
        build_leaderboard(plan, records)
    )


def test_references_are_run_once_and_are_no_rows(
    plan: LeaderboardPlan, folder: Path, records: list[Record], tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    assert run_references(plan, folder, path) == 2
    assert run_references(plan, folder, path) == 0
    assert leaderboard_markdown(build_leaderboard(plan, [*records, *read_records(path)])) == leaderboard_markdown(
        build_leaderboard(plan, records)
    )
    block = LEADERBOARD_BLOCKS["leaderboard-references"](LeaderboardRecords([*records, *read_records(path)], plan))
    for figure, record in zip((50, 60), read_records(path)):
        assert f"| {figure}.0 | {100 * record.scores['per_class_accuracy']:.1f} |" in block


def test_cells_are_means_over_seeds(plan: LeaderboardPlan, records: list[Record]) -> None:
    cells = build_leaderboard(plan, records).cells
    for column, by_method in cells.items():
        own = [
            r.scores["per_class_accuracy" if column.setting == "zsl" else "harmonic_mean"]
            for r in records
            if (r.kind, r.method, r.setting) == ("run", "ale", column.setting)
            and r.params["whiten"] == (column.features == "whitened")
        ]
        assert len(own) == by_method["ale"].seeds == 3
        assert by_method["ale"].score == pytest.approx(np.mean(own))
        assert by_method["ale"].spreads[-1] == pytest.approx(np.std(own, ddof=1))
        assert sum(cell.best for cell in by_method.values()) >= 1


def test_a_corrupt_line_costs_its_own_run_and_no_other(
    plan: LeaderboardPlan, folder: Path, records: list[Record], tmp_path: Path
) -> None:
    lines = (folder / "whole.jsonl").read_text().splitlines()
    at = next(
        i
        for i, r in enumerate(records)
        if (r.kind, r.method, r.setting) == ("run", "kmeans", "zsl") and r.params["whiten"]
    )
    (tmp_path / "r.jsonl").write_text("\n".join([*lines[:at], lines[at][:99], *lines[at + 1 :]]) + "\n")
    with pytest.warns(UserWarning, match=f"line {at + 1} is not a record"):
        leaderboard = build_leaderboard(plan, read_records(tmp_path / "r.jsonl"))
    whole = build_leaderboard(plan, records)
    hurt = Column(plan.data[0], "whitened", "zsl")
    assert leaderboard.cells[hurt]["kmeans"].missing == "not run"
    assert all(leaderboard.cells[c] == whole.cells[c] for c in whole.cells if c.setting == "gzsl")


def test_right_answers_that_do_not_fit_cost_the_comparison_alone(plan: LeaderboardPlan, records: list[Record]) -> None:
    for wrong in (None, {}, {"bits": "?", "unseen": [2], "seen": []}, {"bits": "AA==", "unseen": [-1], "seen": []}):
        changed = [
            replace(r, scores={**r.scores, "right": wrong}) if (r.method, r.setting) == ("kmeans", "zsl") else r
            for r in records
        ]
        cells = build_leaderboard(plan, changed).cells[Column(plan.data[0], "whitened", "zsl")]
        assert cells["kmeans"].against is None
        assert cells["kmeans"].score > 0
        assert cells["prototypes"].against is not None


def test_a_copy_of_the_best_is_level_with_it_and_a_far_worse_one_is_not(
    plan: LeaderboardPlan, records: list[Record]
) -> None:
    column = Column(plan.data[0], "whitened", "gzsl")
    best = next(r for r in records if (r.kind, r.method, r.setting) == ("run", "hpl", "gzsl"))
    bits = {"bits": "A" * len(best.scores["right"]["bits"].rstrip("=")) + "=" * best.scores["right"]["bits"].count("=")}
    worst = {"unseen": 0.0, "seen": 0.0, "harmonic_mean": 0.0, "right": {**best.scores["right"], **bits}}
    first = {"unseen": 0.999, "seen": 0.999, "harmonic_mean": 0.999}
    changed = [
        *(r for r in records if r.method not in ("kmeans", "prototypes")),
        replace(best, method="kmeans", scores={**best.scores, **first}),
        replace(best, method="prototypes", scores=worst),
    ]
    cells = build_leaderboard(plan, changed).cells[column]
    assert cells["kmeans"].best
    assert cells["hpl"].level
    assert not cells["prototypes"].level
    assert cells["prototypes"].against is not None
    assert cells["prototypes"].against.high < 0


def test_hpl_with_other_defaults_than_today_s_is_not_shown(plan: LeaderboardPlan, records: list[Record]) -> None:
    older = [replace(r, params={**r.params, "rho": 0.123}) if r.method == "hpl" else r for r in records]
    cells = build_leaderboard(plan, older).cells[Column(plan.data[0], "whitened", "zsl")]
    assert cells["hpl"].missing == "not run"
    assert cells["kmeans"].against is None


def test_markdown_keeps_its_columns_whatever_a_title_holds(plan: LeaderboardPlan, records: list[Record]) -> None:
    text = leaderboard_markdown(build_leaderboard(plan, records))
    assert r"A\|B & 50%\_x" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    # method, name, year, kind, parameters, one data set, mean; GZSL: calibrated, and its mean.
    assert {len(line.replace(r"\|", "").split("|")) - 2 for line in rows} == {7, 9}
    assert r"– hpl: it whitens \| by itself." in text


def test_what_rounds_to_zero_has_no_minus() -> None:
    assert [signed(points) for points in (-0.04, 0.04, -0.06, 12.34)] == ["+0.0", "+0.0", "−0.1", "+12.3"]


def test_latex_escapes_its_signs(plan: LeaderboardPlan, records: list[Record]) -> None:
    text = leaderboard_latex(build_leaderboard(plan, records))
    assert r"A|B \& 50\%\_x" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 4
    body = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(line.replace(r"\&", "").split("&")) for line in body} == {7, 9}


def test_csv_has_a_line_for_each_cell_and_no_formula(plan: LeaderboardPlan, records: list[Record]) -> None:
    named = replace(plan, groups={**plan.groups, "transductive": ("kmeans",), '=1+"1"': ("hpl",)})
    rows = list(csv.DictReader(io.StringIO(cells_table(build_leaderboard(named, records)).to_csv())))
    assert len(rows) == 4 * 4
    assert {row["kind"] for row in rows if row["method"] == "hpl"} == {'\'=1+"1"'}
    by_cell = {(r["setting"], r["features"], r["method"]): r for r in rows}
    assert by_cell["zsl", "raw", "hpl"]["missing"] == "it whitens | by itself"
    own = next(r for r in records if (r.kind, r.method, r.setting) == ("run", "hpl", "gzsl"))
    assert float(by_cell["gzsl", "whitened", "hpl"]["harmonic_mean"]) == own.scores["harmonic_mean"]


def test_the_page_escapes_and_says_what_was_not_run(plan: LeaderboardPlan, records: list[Record]) -> None:
    shown = replace(plan, groups={**plan.groups, "inductive": ("prototypes",), "<script>alert(1)</script>": ("ale",)})
    text = build_leaderboard_page(build_leaderboard(shown, [r for r in records if r.method != "kmeans"])).render()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "not run" in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_the_short_block_has_hpl_however_it_places(
    plan: LeaderboardPlan, records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "_N_BEST", 2)
    worse = [
        replace(r, scores={**r.scores, "per_class_accuracy": 0.01}) if (r.method, r.setting) == ("hpl", "zsl") else r
        for r in records
    ]
    text = LEADERBOARD_BLOCKS["leaderboard-short"](LeaderboardRecords(worse, plan))
    assert "| `hpl` | 1.0" in text
    assert text.count("| `") == 3


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], folder: Path) -> Any:
    def run(*arguments: Any) -> tuple[int, str, str]:
        given = [
            "research",
            "leaderboard",
            "--plan",
            folder / "plan.toml",
            "--records",
            folder / "whole.jsonl",
            *arguments,
        ]
        code = exit_codes.run_command([str(argument) for argument in given])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_the_verb_shows_filters_and_writes(call: Any, tmp_path: Path) -> None:
    code, out, err = call("--setting", "zsl", "--features", "whitened")
    assert (code, err) == (0, "")
    assert "whitened" in out
    assert "GZSL" not in out
    assert "raw" not in out
    files = [tmp_path / f"leaderboard.{end}" for end in ("html", "md", "tex", "csv")]
    code, out, _ = call(*(part for file in files for part in ("-o", file)))
    assert code == 0
    assert all(file.stat().st_size > 300 for file in files)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--pack", "smal"], "the plan has no data set 'smal'. Did you mean 'small'?"),
        (["--features", "white"], "the plan has no kind of features 'white'."),
        (["--run", "--method", "eszsl"], "the plan has no method 'eszsl'."),
        (["-o", "leaderboard.pdf"], "leaderboard.pdf ends in '.pdf'"),
        (["--records", "nowhere.jsonl"], "nowhere.jsonl does not exist. Give --records, or make it with --run"),
        (["--run", "--data", "nowhere"], "nowhere is not a folder."),
    ],
)
def test_a_mistake_is_one_line(call: Any, arguments: list[str], says: str) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1


def test_running_again_through_the_verb_runs_nothing_new(call: Any, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes((folder / "whole.jsonl").read_bytes())
    code, out, err = call("--run", "--data", folder, "--records", tmp_path / "r.jsonl", "--setting", "zsl")
    assert code == 0
    assert "2 new runs." in out, "the references alone"
    assert "prototypes, seed 0" in err


def test_lint_fails_when_the_leaderboard_in_a_page_is_stale(
    tmp_path: Path, records: list[Record], capsys: pytest.CaptureFixture[str]
) -> None:
    page, path = tmp_path / "page.md", tmp_path / "leaderboard.jsonl"
    page.write_text("<!-- generated:leaderboard-zsl -->\n<!-- /generated:leaderboard-zsl -->\n")
    found = replace(next(r for r in records if (r.kind, r.method) == ("run", "kmeans")), task="flo_efficientnet_lite0")
    append_record(path, found)
    common = [
        "research",
        "docs",
        "-o",
        str(page),
        "--leaderboard",
        str(path),
        "--records",
        str(tmp_path / "none.jsonl"),
    ]
    assert exit_codes.run_command(common) == 0
    assert f"{100 * found.scores['per_class_accuracy']:.1f}" in page.read_text()
    assert exit_codes.run_command([*common, "--check"]) == 0
    append_record(path, replace(found, scores={**found.scores, "per_class_accuracy": 0.1234}))
    capsys.readouterr()
    assert exit_codes.run_command([*common, "--check"]) == 2
    assert "generated blocks are stale. Run: superproto research docs" in capsys.readouterr().err


def test_there_must_be_something_to_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_codes.run_command(["research", "docs", "--check"]) == 2
    assert "No page in . has generated blocks" in capsys.readouterr().err
    (tmp_path / "README.md").write_text("<!-- generated:results -->\n<!-- /generated:results -->\n")
    assert exit_codes.run_command(["research", "docs", "--check"]) == 2
    assert "Neither benchmarks/records.jsonl nor" in capsys.readouterr().err
