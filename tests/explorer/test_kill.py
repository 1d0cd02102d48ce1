"""A server that is killed at any moment has lost no answer that it acknowledged."""

from __future__ import annotations

import http.client
import multiprocessing
import random
import sqlite3
import threading
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from explorer.clients import Running, serve_until_killed
from superproto.explorer.events import EventLog, current_state
from superproto.explorer.run import open_database, open_run
from superproto.explorer.session import Session

pytestmark = [pytest.mark.extra, pytest.mark.slow]
KILLS, LEAST_KILLS, SECONDS = 50, 10, 150


class Person(threading.Thread):
    """Somebody who answers as fast as the server does, about rows of their own."""

    def __init__(self, client, rows, seed):
        super().__init__(daemon=True)
        self.client, self.rows, self.random = client, rows, random.Random(seed)
        self.acknowledged, self.sent = {}, None

    def run(self):
        while True:
            row, number = self.random.choice(self.rows), self.random.randrange(10)
            self.sent = (row, number)
            try:
                answer = self.client.post("/api/answer", {"rows": [row], "kind": "class", "class": number})
            except (OSError, http.client.HTTPException):
                return
            if answer.status_code == 200:
                self.acknowledged[row] = number


def kept_answers(folder):
    """Sample -> class, straight from the database; it must open, and its pages must be sound."""
    database = open_database(folder)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    state, _ = current_state(EventLog(database).all())
    database.close()
    return {int(key): int(said.new) for key, said in state.items()}


def test_every_acknowledged_answer_survives_a_kill(folder, task):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["superproto.explorer.server", "superproto.explorer.session", "uvicorn"])
    chance, parts = random.Random(0), np.array_split(np.flatnonzero(task.y < 0), 2)
    expected, kills, end = {}, 0, time.monotonic() + SECONDS
    while kills < KILLS and time.monotonic() < end:
        told, tell = context.Pipe(duplex=False)
        process = context.Process(target=serve_until_killed, args=(str(folder), tell))
        process.start()
        assert told.poll(60), "the server did not start again"
        client = Running(told.recv()).entered()
        people = [Person(client, rows.tolist(), f"{kills} {number}") for number, rows in enumerate(parts)]
        for person in people:
            person.start()
        time.sleep(chance.uniform(0.0, 0.4))
        process.kill()
        process.join()
        for person in people:
            person.join(30)
        kills += 1
        kept = kept_answers(folder)
        for person in people:
            expected.update(person.acknowledged)
            row, number = person.sent
            # What was sent and not acknowledged may be there or not.
            if kept.get(row) == number:
                expected[row] = number
        assert kept == expected, f"after kill {kills}"
    assert kills >= LEAST_KILLS
    assert len(expected) > 50
    session = Session(open_run(folder))
    assert all(session.labels()[row] == number for row, number in expected.items())
    session.close()


def test_a_kill_in_the_middle_of_a_refit_leaves_the_model_before_it(folder, task):
    context = multiprocessing.get_context("forkserver")
    told, tell = context.Pipe(duplex=False)
    process = context.Process(target=serve_until_killed, args=(str(folder), tell))
    process.start()
    assert told.poll(60)
    client = Running(told.recv()).entered()
    assert client.post("/api/answer", {"rows": [int(np.flatnonzero(task.y < 0)[0])], "kind": "class", "class": 3})
    assert client.post("/api/refit").json()["started"]
    process.kill()
    process.join()
    session = Session(open_run(folder))
    assert session.record.number in (0, 1)
    assert session.pending() == (session.record.number == 0)
    session.close()


def test_the_database_is_written_through(folder):
    database = open_database(folder)
    assert isinstance(database, sqlite3.Connection)
    assert database.execute("PRAGMA synchronous").fetchone() == (2,)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()
