"""The demo does what it says: labels digits it was never shown, and leaves one page that needs nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from superproto.reporting.digits_demo import Demo, build_demo_page, pixels_of, run_demo, try_choice


@pytest.fixture(scope="module")
def demo() -> Demo:
    return run_demo(every=False)


def test_the_pool_helps_on_the_demos_digits(demo: Demo) -> None:
    assert demo.accuracy(demo.transductive) > 0.95 > demo.accuracy(demo.inductive) > 0.5


def test_truth_never_reaches_the_fit(demo: Demo) -> None:
    assert (demo.task.y[demo.task.asked] == -1).all()
    assert len(demo.transductive.labels) == demo.task.asked.sum() == len(demo.inductive.labels)


def test_a_class_mean_is_drawn_as_its_mean_picture(demo: Demo) -> None:
    from superproto.samples.whitening import apply_metric

    model = demo.transductive.model
    zeros = np.asarray(demo.task.X[demo.task.truth == 0], dtype=float)
    center = apply_metric(model.metric_, zeros).mean(axis=0, keepdims=True)
    drawn = pixels_of(demo.transductive, np.asarray(demo.task.X), center)[0]
    assert np.corrcoef(drawn, zeros.mean(axis=0))[0, 1] > 0.9


def test_one_choice_of_digits_is_scored_both_ways(demo: Demo) -> None:
    found = try_choice(demo.task, (3, 6, 7))
    assert found.transductive == pytest.approx(demo.accuracy(demo.transductive))
    assert found.inductive == pytest.approx(demo.accuracy(demo.inductive))


def test_the_page_is_one_small_offline_file(demo: Demo, tmp_path: Path) -> None:
    text = build_demo_page(demo).write(tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(text) < 5e6
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    # Every picture of the pool is on it, and the prototypes after each iteration shown.
    assert text.count("<image") >= demo.task.asked.sum() + 3 * 4


def test_wrong_labels_are_marked_and_only_they(demo: Demo) -> None:
    wrong = int((demo.transductive.labels != demo.task.truth[demo.task.asked]).sum())
    assert build_demo_page(demo).render().count('class="wrong"') == wrong


def test_the_command_prints_scores_and_where_the_report_is(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from superproto.cli import main; main()",
        "demo",
        "--quick",
        "--output",
        str(tmp_path / "out"),
    ]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert found.returncode == 0, found.stderr
    assert "inductive" in found.stdout
    assert "transductive" in found.stdout
    assert "Next, your own data: superproto pack --help, then superproto fit --help" in found.stdout
    assert found.stdout.rstrip().endswith(str(tmp_path / "out" / "report.html"))
    assert (tmp_path / "out" / "demo.svg").read_text(encoding="utf-8").startswith("<svg")
