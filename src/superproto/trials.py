"""CHOOSE: the file in which a search leaves every finished trial, so that a killed one goes on where it stopped.

The first line says what is searched; each further line is a trial. A line counts once its line break is on the disk;
one that was cut off by a kill is dropped, and its trial is done again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from superproto.errors import UserError
from superproto.search import Trial

__all__ = ["TrialFile"]


class TrialFile:
    """Trials on the disk; without a path, in memory alone."""

    def __init__(self, path: str | os.PathLike[str] | None, search: Mapping[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.trials: list[Trial] = []
        if self.path is None:
            return
        if os.path.isdir(self.path):
            raise UserError(f"{self.path} is a folder. Give the name of a file for the trials.")
        wanted = json.loads(json.dumps(search))
        if os.path.exists(self.path) and os.path.getsize(self.path):
            self._resume(wanted)
        else:
            self._write(wanted)

    def add(self, trial: Trial) -> None:
        """Keep a finished trial; it is on the disk when this returns."""
        self.trials.append(trial)
        if self.path is not None:
            self._write({**trial._asdict(), "scores": list(trial.scores)})

    def _resume(self, wanted: Mapping[str, Any]) -> None:
        """Read what is there, cut off a torn last line, and refuse trials of another search."""
        path = self.path
        assert path is not None
        try:
            content = path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            lines = [json.loads(line) for line in whole.splitlines()]
            self.trials = [_trial(line) for line in lines[1:]]
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            text = " ".join(str(error).split())[:100]
            raise UserError(f"{path} is not a file of trials ({text}). Delete it, or name another.") from None
        if not lines:
            self._truncate(0)
            self._write(wanted)
            return
        if lines[0] != wanted:
            different = [key for key in wanted if not isinstance(lines[0], dict) or lines[0].get(key) != wanted[key]]
            raise UserError(
                f"{path} holds trials of another search (different: {', '.join(different) or 'its header'}). "
                "Delete it to start anew, or name another."
            )
        if len(whole) < len(content):
            self._truncate(len(whole))

    def _truncate(self, size: int) -> None:
        assert self.path is not None
        os.truncate(self.path, size)

    def _write(self, content: Mapping[str, Any]) -> None:
        assert self.path is not None
        line = json.dumps(content, ensure_ascii=True).encode() + b"\n"
        try:
            with self.path.open("ab") as handle:
                handle.write(line)
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            raise UserError(f"{self.path} cannot be written: {error.strerror}. Choose another place.") from None


def _trial(line: Any) -> Trial:
    stopped = line["stopped"]
    if not isinstance(line["params"], dict) or not isinstance(stopped, (str, type(None))):
        raise ValueError("a trial has no parameters")
    scores = tuple(float(score) for score in line["scores"])
    return Trial(int(line["number"]), line["params"], scores, stopped, float(line["seconds"]))
