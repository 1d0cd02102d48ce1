"""The training loop: budgets, seeds, divergence, interrupts, and a length chosen on held-out seen classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from superproto.baselines.deep.training import Loop, Process, TrainingData, choose_length, hold_out

pytestmark = pytest.mark.extra


class Counter(Process):
    """Counts its steps; the loss is what ``losses`` says for a step."""

    def __init__(self, losses: Any = lambda step: 1.0) -> None:
        import torch

        self.torch, self.losses = torch, losses
        self.weight = torch.nn.Linear(1, 1, bias=False)
        self.networks = (self.weight,)
        self.weight.weight.data.fill_(0.0)
        self.drawn: list[float] = []

    def step(self) -> Any:
        self.weight.weight.data += 1
        self.drawn.append(float(self.torch.rand(1)))
        return self.torch.tensor(self.losses(len(self.drawn)))

    def learned(self) -> dict[str, Any]:
        return {"count": float(self.weight.weight.detach()), "drawn": self.drawn}


def some_data(n_classes: int = 12, per_class: int = 4) -> TrainingData:
    labels = np.repeat(np.arange(n_classes - 2), per_class)
    seen = np.arange(n_classes) < n_classes - 2
    rows = np.eye(n_classes, dtype=np.float32)[labels]
    return TrainingData(rows, labels, np.full((3, n_classes), np.nan), np.eye(n_classes), seen, ~seen)


def test_the_loop_makes_as_many_steps_as_it_is_told(torch: Any):
    learned, steps = Loop(37, None, 0).run(Counter)
    assert (learned["count"], steps) == (37, 37)


def test_the_loop_ends_when_its_time_is_over(torch: Any):
    assert Loop(10**9, 0.05, 0).run(Counter)[1] < 10**6


def test_a_seed_decides_what_is_drawn_and_the_global_numbers_stay_as_they_were(torch: Any):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    first, second, other = (Loop(5, None, seed).run(Counter)[0]["drawn"] for seed in (1, 1, 2))
    assert first == second != other
    assert torch.rand(1) == expected


@pytest.mark.parametrize(("loss", "said"), [(float("nan"), "no number"), (float("inf"), "inf"), (1e30, "1e")])
def test_divergence_is_told_with_its_cause_and_earlier_weights_are_used(torch: Any, loss: float, said: str):
    with pytest.warns(UserWarning, match=rf"diverged at step 75: the loss is {said}.*smaller learning_rate"):
        learned, steps = Loop(200, None, 0).run(lambda: Counter(lambda step: loss if step > 60 else 1.0))
    assert (learned["count"], steps) == (50, 75)


def test_an_interrupt_ends_training_and_leaves_the_global_numbers(torch: Any):
    def interrupted(step: int) -> float:
        if step == 5:
            raise KeyboardInterrupt
        return 1.0

    before = torch.get_rng_state()
    with pytest.raises(KeyboardInterrupt):
        Loop(100, None, 0).run(lambda: Counter(interrupted))
    assert torch.equal(torch.get_rng_state(), before)


def test_progress_lines_tell_step_and_loss(torch: Any, capsys, monkeypatch):
    monkeypatch.setattr("superproto.baselines.deep.training.SECONDS_BETWEEN_LINES", 0.0)
    Loop(50, None, 0, verbose=True).run(Counter)
    assert "step 25 of 50: loss 1, about" in capsys.readouterr().err
    Loop(50, None, 0).run(Counter)
    assert capsys.readouterr().err == ""


def test_held_out_classes_are_seen_ones_and_the_task_s_own_pool_is_left_out():
    data = some_data()
    smaller, truth = hold_out(data, np.random.RandomState(0))
    assert len(smaller.semantics) == 10
    assert smaller.candidates.sum() == 2
    assert np.array_equal(smaller.seen, ~smaller.candidates)
    assert set(truth) == set(np.flatnonzero(smaller.candidates))
    assert not set(truth) & set(smaller.labels)
    assert len(smaller.pool) == 8
    assert np.isfinite(smaller.pool).all()
    assert len(smaller.rows) + len(smaller.pool) == len(data.rows)
    assert np.array_equal(smaller.pool.argmax(axis=1), truth)


def test_the_length_is_where_held_out_classes_are_recognized_best(torch: Any):
    def score(learned: dict[str, Any], features: Any) -> Any:
        right = np.arange(len(features)) < 8 - abs(learned["count"] - 60) / 10
        return np.where(right[:, None], features[:, :10], -features[:, :10])

    n_steps, curve = choose_length(Loop(120, None, 0), some_data(), lambda data: Counter(), score)
    assert n_steps == 60
    assert curve.shape == (12, 2)
    assert curve[:, 1].argmax() == 5
