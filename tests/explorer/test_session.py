"""Answers are kept, undone and fitted; questions come in two stages, and some are blind."""

from __future__ import annotations

import numpy as np
import pytest

from superproto.errors import UserError
from superproto.explorer.questions import BLIND_EVERY, SURE, Check, PoolView, estimate_errors, next_question
from superproto.explorer.refit import MOST_LABELS
from superproto.explorer.run import keep_task_run, open_run
from superproto.explorer.session import Session


def answer_next(session, task, wrong=False):
    """What an oracle (or somebody who is always wrong) says to the next question."""
    asked = session.question()
    name = str(task.class_names[task.truth[asked.row]])
    session.answer([asked.row], "class", "3" if wrong and name != "3" else "6" if wrong else name, asked.kind)
    return asked


def refit(session):
    assert session.refit()
    session.refitter.wait()
    assert session.refitter.status["error"] is None


def test_the_first_labels_are_the_models(session, task):
    asked = task.y < 0
    assert (session.labels()[asked] == task.truth[asked]).mean() > 0.8
    assert (session.labels()[~asked] == task.y[~asked]).all()


def test_an_answer_holds_and_survives_a_restart(opened, task):
    session = opened()
    row = session.question().row
    session.answer([row], "class", "8", "cluster")
    assert session.labels()[row] == 8
    assert opened().labels()[row] == 8


def test_none_of_these_is_no_class_and_leaves_the_fit(session):
    row = session.question().row
    session.answer([row], "none", source="cluster")
    assert session.labels()[row] == -2
    refit(session)
    assert session.labels()[row] == -2
    assert session.found.labels[row] == -2


def test_undo_goes_back_all_the_way_after_a_restart_too(opened, task):
    session = opened()
    before = session.labels()
    rows = [answer_next(session, task, wrong=True).row for _ in range(5)]
    session.answer(rows, "none", source="map")
    assert (session.labels() != before).any()
    session = opened()
    assert sorted(session.undo()) == sorted(rows)
    for row in reversed(rows):
        assert session.undo() == [row]
    assert session.undo() == []
    np.testing.assert_array_equal(session.labels(), before)
    assert session.n_questions == 0


def test_undo_brings_back_an_earlier_answer(session):
    row = session.question().row
    session.answer([row], "class", "3")
    session.answer([row], "class", "6")
    session.undo()
    assert session.labels()[row] == 3


def test_a_refit_takes_answers_as_facts_shows_what_changed_and_can_be_taken_back(opened, task):
    session = opened()
    rows = np.flatnonzero((session.labels() == 3) & (task.y < 0))[:12].tolist()
    session.answer(rows, "class", "6", "grid")
    before = session.found.labels.copy()
    assert session.pending() == len(rows)
    refit(session)
    assert session.pending() == 0
    assert (session.found.labels[rows] == 6).all()
    found = session.differences()
    assert found.answers == len(rows)
    assert found.changed == (session.found.labels != before).sum()
    assert {row for group in found.groups for row in group.rows} >= set(rows)
    assert opened().record.number == 1
    session = opened()
    session.take_back_fit()
    np.testing.assert_array_equal(session.found.labels, before)
    assert (session.labels()[rows] == 6).all(), "the answers stay"
    assert opened().record.number == 0
    with pytest.raises(UserError, match="first model"):
        opened().take_back_fit()


def test_answers_may_name_a_class_that_was_no_candidate(session, task):
    row = int(np.flatnonzero(task.y < 0)[0])
    session.answer([row], "class", "8")
    refit(session)
    assert "8" in session.model.candidates


def test_answers_about_atypical_samples_hold_but_do_not_place_their_class(opened, task):
    session = opened()
    rows = np.flatnonzero((task.y < 0) & (task.truth == 3))
    rows = rows[np.argsort(-session.found.doubt[rows])][: MOST_LABELS + 4].tolist()
    session.answer(rows, "class", "3", "doubtful")
    refit(session)
    assert (session.found.labels[rows] == 3).all()
    assert len(session.model.fitted_rows_) == len(task.X) - 4
    assert set(rows) - set(session.model.fitted_rows_.tolist())
    session = opened()
    assert (session.found.labels[rows] == 3).all(), "as it was before the restart"


def test_copies_of_a_picture_share_the_answer(task, tmp_path):
    from superproto.evaluation.training import fit_task
    from superproto.explorer.run import RunContent, keep_run

    pool = np.flatnonzero(task.y < 0)
    keys = [f"content {min(row, pool[0]) if row in pool[:3] else row}" for row in range(len(task.X))]
    content = RunContent("copies", task.X, [str(i) for i in range(len(keys))], task.y, list("0123456789"),
                         task.semantics, keys=keys)  # fmt: skip
    keep_run(tmp_path, content)
    fit_task(task, rejection=False).save(tmp_path / "model.safetensors")
    session = Session(open_run(tmp_path))
    session.answer([int(pool[1])], "class", "7")
    assert (session.labels()[pool[:3]] == 7).all()
    session.close()


def test_the_first_stage_asks_about_each_cluster_once(session, task):
    asked = [answer_next(session, task) for _ in range(3)]
    assert [question.kind for question in asked] == ["cluster"] * 3
    assert len({int(session.found.labels[question.row]) for question in asked}) == 3
    assert all(len(question.members) == 8 for question in asked)
    assert session.question().kind == "doubtful"


def test_every_twentieth_question_is_blind_and_about_a_sure_label(session, task):
    asked = [answer_next(session, task) for _ in range(2 * BLIND_EVERY)]
    assert [number for number, question in enumerate(asked, 1) if question.kind == "blind"] == [20, 40]
    assert sum(check.blind for _, check in session.checks) == 2
    doubt = session.found.doubt
    assert doubt[asked[19].row] <= max(SURE, np.quantile(doubt[task.asked], 0.15))


def test_a_skipped_sample_is_not_asked_again(session):
    rows = set()
    for _ in range(6):
        question = session.question()
        session.answer([question.row], "skip", source=question.kind)
        rows.add(question.row)
    assert len(rows) == 6
    assert session.labels()[list(rows)].min() >= 0, "a skip says nothing"


def view(**changes):
    known = {
        "labels": np.array([0, 0, 0, 1, 1, 1]),
        "doubt": np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        "answers": np.full(6, -1),
        "skipped": np.zeros(6, bool),
        "asked": np.ones(6, bool),
        "targets": np.ones(2, bool),
    }
    return PoolView(**{**known, **changes})


def test_the_cluster_with_most_expected_errors_comes_first_and_shows_its_surest_member():
    found = next_question(view(), 0)
    assert (found.kind, found.row, found.size) == ("cluster", 3, 3)
    assert found.expected == pytest.approx(1.5)


def test_a_cluster_whose_name_was_given_to_others_comes_first():
    answers = np.array([-1, -1, -1, 0, -1, -1])
    found = next_question(view(answers=answers, targets=np.ones(2, bool)), 1)
    assert (found.row, found.name_taken) == (0, True)


def test_no_question_is_left_when_all_are_answered():
    assert next_question(view(answers=np.zeros(6, int)), 6) is None


def test_blind_errors_raise_the_estimate():
    sure = view(doubt=np.full(6, 0.01))
    silent = estimate_errors(sure, [])
    assert silent.wrong == pytest.approx(0.06)
    assert estimate_errors(sure, [Check(0.0, True, True)] * 10).wrong > 2.9
    assert estimate_errors(sure, [Check(0.0, False, True)] * 10).wrong < silent.wrong


def test_answers_put_the_doubt_right():
    doubtful = view(doubt=np.full(6, 0.6))
    assert estimate_errors(doubtful, []).wrong == pytest.approx(3.6)
    assert estimate_errors(doubtful, [Check(0.6, False, False)] * 20).wrong < 1
    assert estimate_errors(doubtful, [Check(0.6, True, False)] * 20).wrong > 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([10**6], "class", "3"), "no sample"),
        (([True], "class", "3"), "no sample"),
        (([], "class", "3"), "1 to 500"),
        (([0], "class", "horse"), "'horse' is no answer"),
        (([0], "delete", None), "'delete' is no answer"),
    ],
)
def test_wrong_answers_are_refused(session, arguments, said):
    with pytest.raises(UserError, match=said):
        session.answer(*arguments)


def test_a_run_is_opened_once_at_a_time(folder, session):
    with pytest.raises(UserError, match="in use"):
        open_run(folder)


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(UserError, match="is not the folder of a run"):
        open_run(tmp_path)
    with pytest.raises(UserError, match="does not exist"):
        open_run(tmp_path / "nothing")


def test_keeping_the_same_run_again_changes_nothing(folder, task):
    before = (folder / "features.npy").stat().st_mtime_ns
    keep_task_run(folder, task)
    assert (folder / "features.npy").stat().st_mtime_ns == before


def test_of_two_clusters_with_one_answer_the_larger_gets_the_name():
    from types import SimpleNamespace

    from superproto.explorer.refit import rename_clusters

    model = SimpleNamespace(
        visual_prototypes_=np.eye(3), class_bias_=np.arange(3.0), codes_=np.eye(3), visual_super_prototypes_=np.eye(3)
    )
    found, answers = np.array([0, 1, 1, 1, 2]), np.array([0, 0, -1, -1, -1])
    renamed = rename_clusters(model, np.ones(3, dtype=bool), found, answers)
    np.testing.assert_array_equal(renamed.visual_prototypes_[0], np.eye(3)[1])
    np.testing.assert_array_equal(renamed.class_bias_, [1.0, 0.0, 2.0])
