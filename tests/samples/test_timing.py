"""Time spans: nested ones are counted once."""

from __future__ import annotations

from superproto.samples.timing import measured, span


def test_spans_nest_and_cost_nothing_unmeasured():
    from time import perf_counter, sleep

    with span("nobody listens"):
        pass
    start = perf_counter()
    with measured() as seconds, span("outer"):
        sleep(0.01)
        with span("inner"):
            sleep(0.02)
    whole = perf_counter() - start
    assert seconds["inner"] >= 0.02
    assert 0.01 <= seconds["outer"] <= whole - seconds["inner"]
