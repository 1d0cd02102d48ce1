"""MEASURE what answers are worth: an oracle answers the page's own questions about birds, with refits in between."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from statistics import mean

from superproto.datasets.task import Task
from superproto.errors import UserError
from superproto.experiments.bird_task import PACK, bird_task
from superproto.experiments.records import Entry
from superproto.experiments.speed.machine import Rates

# The questions and the refit were chosen on other draws of the classes.
DRAWS = (20, 21, 22, 23, 24)
N_ANSWERS, REFIT_EVERY = 30, 10
LEAST_OF_SENTENCES, LEAST_OF_NAMES = 0.90, 0.88


def explorer_answers(folder: Path, rates: Rates) -> Entry:
    """Per-class accuracy before any answer and after each ten, for descriptions by sentences and by names alone."""
    if not (folder / PACK).is_file():
        raise UserError(f"The study needs {PACK}. Give the folder that holds it: --data DIR.")
    scores = {
        words: [oracle_scores(bird_task(folder / PACK, seed=draw, words=words)) for draw in DRAWS]
        for words in ("sentences", "names")
    }
    means = {words: [mean(column) for column in zip(*found)] for words, found in scores.items()}
    return {
        "sizes": {"draws": len(DRAWS), "answers": N_ANSWERS},
        "answers": list(range(0, N_ANSWERS + 1, REFIT_EVERY)),
        "accuracy": means,
        "draws": scores,
        "kept": {
            f"sentences, 10 answers >= {LEAST_OF_SENTENCES}": means["sentences"][1] >= LEAST_OF_SENTENCES,
            f"names, 30 answers >= {LEAST_OF_NAMES}": means["names"][-1] >= LEAST_OF_NAMES,
        },
    }


def oracle_scores(task: Task) -> list[float]:
    """The scores of one draw: what the page's questions, truly answered, make of the labels."""
    from superproto.evaluation.training import fit_task
    from superproto.explorer.run import MODEL, keep_task_run, open_run
    from superproto.explorer.session import Session
    from superproto.metrics import per_class_accuracy

    if task.truth is None:
        raise UserError("The task has no truth to answer with.")
    pool, truth = task.y < 0, task.truth
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keep_task_run(Path(place), task)
        fit_task(task, rejection=False).save(Path(place) / MODEL)
        session = Session(open_run(place))
        scores = [float(per_class_accuracy(truth[pool], session.found.labels[pool]))]
        for number in range(1, N_ANSWERS + 1):
            asked = session.question()
            if asked is None:
                break
            session.answer([asked.row], "class", str(task.class_names[truth[asked.row]]), asked.kind)
            if number % REFIT_EVERY == 0:
                session.refit()
                session.refitter.wait()
                scores.append(float(per_class_accuracy(truth[pool], session.found.labels[pool])))
        session.close()
    return scores
