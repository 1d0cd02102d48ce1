"""MEASURE the page of `superproto explore`: how soon it shows, how soon an answer is on disk, what a refit takes.

The server is the command itself in a process of its own, and the browser is Chromium; both see made-up samples.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from superproto.errors import UserError
from superproto.experiments.records import Entry
from superproto.experiments.speed.data import Size, cub_sized, synthetic
from superproto.experiments.speed.machine import Rates, peak_memory, time_together
from superproto.hpl.estimator import HPL
from superproto.samples.chunks import Array

PICTURES = Size(labeled=2_000, pool=8_000, features=256, seen=40, unseen=10, attributes=32)
ROWS = Size(labeled=20_000, pool=980_000, features=16, seen=40, unseen=10, attributes=12)
N_ANSWERS, N_REPEATS, N_REFIT_ANSWERS = 300, 3, 10
# Bounds are ratios where a busy machine would decide otherwise.
MOST_PAGES, MOST_COMMITS, MOST_FITS, MOST_GRID, MOST_MEMORY = 3, 20, 1, 3.0, 1e9
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
_SIDE = 64


def explorer_page(folder: Path, rates: Rates) -> Entry:
    """10,000 pictures: the first question in a browser beside a bare page, an answer beside a bare commit."""
    with tempfile.TemporaryDirectory() as place:
        run = _write_run(Path(place) / "run", PICTURES, photos=Path(place) / "photos")
        with _server(run) as server, _browser() as browser:
            seconds = time_together(
                {
                    "bare page": lambda: _shown(browser, server, "static/icon.svg", "svg"),
                    "first question": lambda: _shown(browser, server, "", ".question img"),
                    "grid": lambda: _shown(browser, server, "#grid", ".space .tile img"),
                },
                N_REPEATS,
            )
            seconds["an answer (95 %)"] = float(np.quantile(_answer_seconds(server, PICTURES.labeled), 0.95))
        seconds["a bare commit (95 %)"] = float(np.quantile(_commit_seconds(Path(place) / "bare.db"), 0.95))
    ratios = {
        "first question / bare page": seconds["first question"] / seconds["bare page"],
        "grid / bare page": seconds["grid"] / seconds["bare page"],
        "an answer / a bare commit": seconds["an answer (95 %)"] / seconds["a bare commit (95 %)"],
    }
    return {
        "sizes": {"pictures": PICTURES.labeled + PICTURES.pool, "answers": N_ANSWERS},
        "seconds": seconds,
        "ratios": ratios,
        "kept": {
            f"{name} <= {most}": ratios[name] <= most
            for name, most in (("first question / bare page", MOST_PAGES), ("an answer / a bare commit", MOST_COMMITS))
        },
    }


def explorer_refit(folder: Path, rates: Rates) -> Entry:
    """At CUB's size, d = 2048: a refit with ten answers, until the page can show it, beside a bare fit."""
    from superproto.explorer.run import open_run
    from superproto.explorer.session import Session

    X, y, A = cub_sized(folder)
    with tempfile.TemporaryDirectory() as place:
        session = Session(open_run(_keep_run(Path(place), X, y, A)))

        def refit() -> None:
            for _ in range(N_REFIT_ANSWERS):
                asked = session.question()
                if asked is not None:
                    session.answer([asked.row], "class", _name(session.labels()[asked.row]), asked.kind)
            session.refit()
            session.refitter.wait()

        seconds = time_together({"fit": lambda: HPL().fit(X, y, semantics=A), "refit": refit}, N_REPEATS)
        error = session.refitter.status["error"]
        session.close()
    if error is not None:
        raise UserError(f"The refit failed: {error}")
    return {
        "sizes": {"labeled": int((y >= 0).sum()), "pool": int((y < 0).sum()), "features": X.shape[1]},
        "seconds": seconds,
        "ratios": {"refit / fit": seconds["refit"] / seconds["fit"]},
        "kept": {f"refit / fit <= {MOST_FITS}": seconds["refit"] / seconds["fit"] <= MOST_FITS},
    }


def explorer_rows(folder: Path, rates: Rates) -> Entry:
    """A million rows without pictures: the grid in a browser, and the most memory of the server."""
    with tempfile.TemporaryDirectory() as place:
        run = _write_run(Path(place) / "run", ROWS)
        with _server(run) as server, _browser() as browser, peak_memory(0.02, server.process) as taken:
            seconds = time_together(
                {
                    "grid": lambda: _shown(browser, server, "#grid", ".space .tile"),
                    "map": lambda: _shown(browser, server, "#map", "canvas[data-kind]"),
                },
                N_REPEATS,
            )
            seconds["an answer (95 %)"] = float(np.quantile(_answer_seconds(server, ROWS.labeled), 0.95))
    return {
        "sizes": {"rows": ROWS.labeled + ROWS.pool, "features": ROWS.features},
        "seconds": seconds,
        "bytes": {"server": taken["peak"]},
        "kept": {
            f"grid < {MOST_GRID:g} s": seconds["grid"] < MOST_GRID,
            f"memory of the server < {MOST_MEMORY / 1e9:g} GB": taken["peak"] < MOST_MEMORY,
        },
    }


class _Server(NamedTuple):
    """A page that is served: its address with the token, the port, the number of the process."""

    address: str
    port: int
    process: int

    @property
    def home(self) -> str:
        return self.address.partition("?")[0]


@contextmanager
def _server(run: Path) -> Iterator[_Server]:
    words = [sys.executable, "-c", "from superproto.cli import main; main()", "explore", str(run), "--no-browser"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        found = re.match(r"http://[\d.]+:(\d+)/\S*", process.stdout.readline() if process.stdout else "")
        if found is None:
            raise UserError(f"`superproto explore {run}` gave no address; its message is above.")
        yield _Server(found[0], int(found[1]), process.pid)
    finally:
        process.terminate()
        process.wait()
        if process.stdout:
            process.stdout.close()


@contextmanager
def _browser() -> Iterator[Any]:
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        raise UserError("The study needs Chromium and its driver: apt-get install chromium; pip install playwright.")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def _shown(browser: Any, server: _Server, where: str, selector: str) -> None:
    """Open an address in a browser that knows nothing yet, until this part of the page can be seen."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    value = server.address.partition("token=")[2]
    context.add_cookies([{"name": f"superproto-{server.port}", "value": value, "url": server.home}])
    page = context.new_page()
    page.goto(server.home + where, wait_until="commit")
    page.locator(selector).first.wait_for()
    context.close()


def _answer_seconds(server: _Server, first: int) -> list[float]:
    """Seconds of each of some answers, from the request to the acknowledgment, which is after the disk."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {
        "Origin": server.home.rstrip("/"),
        "Content-Type": "application/json",
        "Cookie": f"superproto-{server.port}={server.address.partition('token=')[2]}",
    }
    seconds = []
    for row in range(first, first + N_ANSWERS):
        body = json.dumps({"rows": [row], "kind": "class", "class": row % 10})
        start = perf_counter()
        connection.request("POST", "/api/answer", body, headers)
        answer = connection.getresponse()
        answer.read()
        seconds.append(perf_counter() - start)
        if answer.status != 200:
            raise UserError(f"An answer was refused with {answer.status}.")
    connection.close()
    return seconds


def _commit_seconds(path: Path) -> list[float]:
    """Seconds of commits of one row to an SQLite file that is written through."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE events (row INTEGER, kind TEXT)")
    seconds = []
    for row in range(N_ANSWERS):
        start = perf_counter()
        database.execute("INSERT INTO events VALUES (?, 'confirm')", (row,))
        seconds.append(perf_counter() - start)
    database.close()
    return seconds


def _write_run(folder: Path, size: Size, photos: Path | None = None) -> Path:
    X, y, A = synthetic(size)
    if photos is not None:
        _write_pictures(photos, len(X))
    return _keep_run(folder, X, y, A, photos)


def _keep_run(folder: Path, X: Array, y: Array, A: Array, photos: Path | None = None) -> Path:
    """The folder of a run with a model of two iterations."""
    from superproto.explorer.run import MODEL, RunContent, keep_run

    names = np.array([_name(number) for number in range(len(A))], dtype=object)
    ids = [f"{row // 1000}/{row}.jpg" for row in range(len(X))]
    keep_run(folder, RunContent("bench", X, ids, y, names.tolist(), A, photos=photos))
    labels = np.array([None if label < 0 else names[label] for label in y], dtype=object)
    HPL(max_iter=2, random_state=0).fit(X, labels, semantics=A, class_names=names.astype(str)).save(folder / MODEL)
    return folder


def _name(number: int) -> str:
    return f"class {number}"


def _write_pictures(photos: Path, count: int) -> None:
    from PIL import Image

    generator = np.random.default_rng(0)
    for row in range(count):
        path = photos / f"{row // 1000}" / f"{row}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 256, (_SIDE // 8, _SIDE // 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((_SIDE, _SIDE)).save(path)
