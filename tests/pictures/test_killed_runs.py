"""A run that is killed at any moment goes on where it stopped, and ends as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("PIL", reason="pictures need Pillow")
pytestmark = [
    pytest.mark.extra,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX"),
]
N_KILLS = 20
# The whole command, with an encoder that needs no network and takes a while for each batch of two pictures.
SCRIPT = """
import sys, time
sys.path.insert(0, sys.argv.pop(1))
from conftest import FakeEncoder
from superproto.cli.exit_codes import run_command
from superproto.pictures import embedding, labeling
embedding.BATCH = 2
class Slow(FakeEncoder):
    def embed(self, views):
        time.sleep(0.02)
        return super().embed(views)
labeling.open_encoder = lambda name: Slow()
sys.exit(run_command(sys.argv[1:]))
"""
RESULTS = ("labels.csv", "model.safetensors", "fit.json", "report.html", "features.npy", "semantics.npy")


@pytest.fixture
def photos(tmp_path, picture):
    """Eight classes, six of them sorted."""
    colors = ("red", "green", "blue", "yellow")
    names = [f"{color} {shape} plain" for color in colors for shape in ("disc", "square")]
    for place, name in enumerate(names):
        folder = tmp_path / "photos" / (name if place < 6 else "unsorted")
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(6):
            picture(100 * place + number, name).save(folder / f"{place}_{number}.png")
    lines = [",".join([name, *(str(int(word in name)) for word in (*colors, "square"))]) for name in names]
    (tmp_path / "classes.csv").write_text("name,red,green,blue,yellow,square\n" + "\n".join(lines))
    return tmp_path / "photos"


def start(photos, run):
    words = ["label", photos, "--classes", photos.parent / "classes.csv", "--run", run]
    command = [sys.executable, "-c", SCRIPT, os.path.dirname(__file__), *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_twenty_kills_change_nothing_in_the_result(photos, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    begun = time.perf_counter()
    assert start(photos, whole).wait() == 0
    seconds = time.perf_counter() - begun
    generator, kills = np.random.default_rng(0), 0
    for _ in range(3 * N_KILLS):
        process = start(photos, killed)
        # Moments of the run, whatever its speed on this machine.
        time.sleep(seconds * generator.random())
        kills += process.poll() is None
        process.kill()
        process.wait()
        if kills >= N_KILLS:
            break
    assert kills >= N_KILLS
    assert start(photos, killed).wait() == 0
    for name in RESULTS:
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    left = {path.name for path in killed.iterdir()} - {path.name for path in whole.iterdir()}
    assert not {name for name in left if not name.endswith(".part")}
