"""Count what a reader of one ``HPL().fit`` has to follow: functions, modules, and calls that leave their module.

    python benchmarks/trace_fit.py

A module switch is a call from a function of superproto to one that lives in another module. Counted are the different
pairs of caller and callee, and all such calls while the fits run.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from types import FrameType
from typing import Any

from superproto import HPL
from superproto.datasets import digits, make_task


Function = tuple[str, str]


def trace(task: Any) -> tuple[set[Function], Counter[tuple[Function, Function]]]:
    """Functions that a fit calls, and how often a caller in one module calls a callee in another."""
    functions: set[Function] = set()
    switches: Counter[tuple[Function, Function]] = Counter()

    def place(frame: FrameType | None) -> tuple[str, str] | None:
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module.startswith("superproto"):
                name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name).split(".<locals>")[0]
                return module, name
            frame = frame.f_back
        return None

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not frame.f_globals.get("__name__", "").startswith("superproto"):
            return
        if frame.f_code.co_name.startswith("<"):
            return
        callee, caller = place(frame), place(frame.f_back)
        assert callee is not None
        functions.add(callee)
        if caller is not None and caller[0] != callee[0]:
            switches[caller, callee] += 1

    sys.setprofile(watch)
    try:
        HPL(random_state=0).fit(task.X, task.y, semantics=task.semantics)
    finally:
        sys.setprofile(None)
    return functions, switches


def main() -> None:
    """Print the counts for two tasks together."""
    functions, switches = set(), Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for task in (digits(), make_task(n_seen=20, n_unseen=5)):
            found = trace(task)
            functions |= found[0]
            switches += found[1]
    modules = {module for module, _ in functions}
    pairs = {(caller[0], callee[0]) for caller, callee in switches}
    print(f"{len(functions)} functions in {len(modules)} modules")
    print(f"{len(switches)} different module switches between {len(pairs)} pairs of modules, {switches.total()} in all")


if __name__ == "__main__":
    main()
