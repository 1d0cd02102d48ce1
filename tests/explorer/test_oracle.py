"""An oracle answers the page's own questions about birds: a few answers mend what weak descriptions got wrong."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("onnxruntime")

from explorer.clients import running
from superproto.evaluation.training import fit_task
from superproto.experiments.bird_task import bird_task
from superproto.explorer.run import keep_task_run, open_run
from superproto.explorer.session import Session
from superproto.metrics import per_class_accuracy

# One of the better draws; docs/explorer.md has the mean of five others.
DRAW = 1
pytestmark = [pytest.mark.extra, pytest.mark.slow]


def oracle_scores(folder, task, answers: int, every: int = 10) -> list[float]:
    """Per-class accuracy before any answer and after each refit; a refit follows ``every`` answers."""
    keep_task_run(folder, task)
    fit_task(task, rejection=False).save(folder / "model.safetensors")
    session, pool = Session(open_run(folder)), task.y < 0

    def score() -> float:
        return float(per_class_accuracy(task.truth[pool], session.found.labels[pool]))

    scores = [score()]
    with running(session) as server:
        page = server.entered()
        for number in range(1, answers + 1):
            asked = page.get("/api/question").json()
            body = {"rows": [asked["row"]], "kind": "class", "class": int(task.truth[asked["row"]])}
            assert page.post("/api/answer", {**body, "source": asked["kind"]}).status_code == 200
            if number % every == 0:
                assert page.post("/api/refit").json()["started"]
                session.refitter.wait()
                assert page.get("/api/state").json()["refit"]["error"] is None
                scores.append(score())
    session.close()
    return scores


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ten_answers_mend_sentences(pack, tmp_path):
    task = bird_task(pack("cub_efficientnet_lite0"), seed=DRAW, words="sentences")
    before, after = oracle_scores(tmp_path, task, 10)
    assert before < 0.6
    assert after > 0.9


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_thirty_answers_mend_names(pack, tmp_path):
    task = bird_task(pack("cub_efficientnet_lite0"), seed=DRAW, words="names")
    scores = oracle_scores(tmp_path, task, 30)
    assert scores[0] < 0.5
    assert scores[-1] > 0.88
    assert np.argmax(scores) > 0
