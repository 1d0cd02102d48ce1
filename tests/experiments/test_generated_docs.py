"""Generated blocks of README and docs: they say what the results say, and the results are those that were given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from superproto.baselines.registry import make_model, parameters_of
from superproto.datasets import make_task
from superproto.errors import UserError
from superproto.evaluation.evaluate import evaluate
from superproto.experiments.generated_docs import RecordedResults, read_results, refresh, render_readme, stale
from superproto.experiments.paper.comparison import directions
from superproto.experiments.plans import read_plan
from superproto.experiments.records import Record, Results, append_record, record_of, unmeasured

STUDIES = ("parts", "held_out", "perturbed", "robustness", "constants", "texts")


def recorded(**scores: Any) -> Record:
    task = make_task(n_seen=6, n_unseen=3, samples_per_class=8, n_features=8, n_attributes=5, random_state=0)
    task = replace(task, name="cub_efficientnet_lite0", protocol="ps")
    found = record_of(evaluate(task, "hpl"))
    return replace(found, scores={**found.scores, **scores})


def test_a_block_is_written_from_records_and_goes_stale_with_them(tmp_path: Path) -> None:
    text = "# Title\n<!-- generated:results -->\nold\n<!-- /generated:results -->\nend\n"
    record = recorded(per_class_accuracy=0.8761)
    results = RecordedResults([record])
    new = render_readme(text, results)
    assert "| CUB, EfficientNet-Lite0 | – | – | – | 87.6 |" in new
    assert new.startswith("# Title\n<!-- generated:results -->\n|")
    assert new.endswith("<!-- /generated:results -->\nend\n")
    assert render_readme(new, results) == new
    path = tmp_path / "README.md"
    path.write_text(new, encoding="utf-8")
    assert stale([path], results) == []
    worse = replace(record, scores={**record.scores, "per_class_accuracy": 0.5})
    assert stale([path], RecordedResults([worse])) == [path]
    assert refresh([path], RecordedResults([worse])) == [path]
    assert "| 50.0 |" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- generated:result -->\n<!-- /generated:result -->", "no generated block 'result'. Known: results"),
        ("<!-- generated:results -->\n", "'results' is not closed"),
    ],
)
def test_a_wrong_marker_is_named(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        render_readme(text, RecordedResults())


def test_no_difference_disagrees_only_where_the_paper_has_a_large_one() -> None:
    """The paper loses at least 5 points without alternation, and gains or loses little by the order."""
    base = recorded(per_class_accuracy=0.5, sweeps=10, cpu_seconds=1.0, interval=[0.49, 0.51])
    variants = ({}, {"alternate": False}, {"order": "seen"})
    records = [
        replace(base, method="hpl-published", params=parameters_of(make_model("hpl-published", {**v, "whiten": True})))
        for v in variants
    ]
    found = {(d.ablation, d.measure): d for d in directions(read_plan(), Results(records))}
    assert found["ii", "accuracy"].agrees is None
    assert found["iv", "accuracy"].agrees is False
    assert "after 10 iterations against 10" in found["iv", "accuracy"].reason
    assert found["iv", "seconds"].agrees is False


def test_results_come_from_the_files_that_are_given_and_from_no_others(tmp_path: Path) -> None:
    """The studies were once read from the installed package, whatever the caller gave."""
    files = {name: tmp_path / f"{name}.jsonl" for name in STUDIES}
    paper, leaderboard, speed = (tmp_path / f"{name}.jsonl" for name in ("paper", "leaderboard", "speed"))
    assert read_results(paper, leaderboard, speed, **files) == RecordedResults([], [], {}, [], [], [], [], [], [])
    text = "".join(f"<!-- generated:{name} -->\n<!-- /generated:{name} -->\n" for name in ("parts", "robustness"))
    assert render_readme(text, RecordedResults()).count("Not measured yet") == 2
    append_record(files["parts"], replace(recorded(), task="mine"))
    accuracy = {"start": [0.1], "hpl": [0.2], "kmeans": [0.3], "transclip": [0.4]}
    append_record(files["robustness"], unmeasured("robustness", "c", task="mine", params={"draws": 1}, scores=accuracy))
    found = read_results(paper, leaderboard, speed, **files)
    assert [record.task for record in found.parts] == ["mine"]
    assert "| mine | c | 1 | 10.0 | 20.0 | 30.0 | 40.0 |" in render_readme(text, found)
