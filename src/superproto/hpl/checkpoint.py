"""KEEP what a fit has reached: one file, replaced whole after each outer iteration, from which the same fit goes on.

The file holds the solver's state bit for bit, so a resumed fit ends where an uninterrupted one does. It knows which fit
it belongs to: data (a fingerprint of all rows), descriptions and parameters; only how long to iterate may change. A
seal over the content shows damage.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.estimator.model_file import seal_of
from superproto.files import check_writable, write_whole
from superproto.hpl.objective.state import Continuation, State
from superproto.hpl.solver import SolverProgress

_KEY = "superproto-checkpoint"
_FIELDS = (*(name for name in State._fields if name != "continuation"), *Continuation._fields)
_FREE = ("max_iter", "tol", "verbose", "callback", "checkpoint")


class LastingPath(str):
    """The path of a checkpoint that the end of the fit does not remove: its owner does, once the model is saved."""

    __slots__ = ()


class Checkpoint:
    """The file of one fit; without a path nothing is read or written.

    ``progress`` is where the fit stood, or None when there is no file yet. It is read before the first pass, so that a
    wrong file is found early.
    """

    def __init__(self, path: str | os.PathLike[str] | None, owner: str) -> None:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise UserError(f"checkpoint is {path!r}, but it is the path of a file, or None.")
        self.path = None if path is None else Path(path)
        self.lasting = isinstance(path, LastingPath)
        self.owner = owner
        self.progress = self.read()

    @property
    def keep(self) -> Callable[[SolverProgress], None] | None:
        """What writes the progress after an iteration, if there is a path."""
        return None if self.path is None else self.write

    def read(self) -> SolverProgress | None:
        """Where the fit stood, or None when there is no file yet."""
        from safetensors import SafetensorError, safe_open

        if self.path is None:
            return None
        # Before the first pass, not after the first iteration.
        check_writable(self.path)
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="numpy") as file:
                owner, _, seal = (file.metadata() or {}).get(_KEY, "").partition(" ")
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"{self.path} is no checkpoint, or not a whole one ({error}). Give another name.") from None
        if not owner:
            raise UserError(f"{self.path} is a safetensors file, but no checkpoint. Give another name.")
        if owner != self.owner:
            raise UserError(
                f"{self.path} is the checkpoint of another fit: other data, descriptions or parameters. "
                "Delete it, or give checkpoint= another name."
            )
        if not seal or {f"state.{name}" for name in _FIELDS} - set(arrays):
            raise UserError(f"{self.path} is the checkpoint of another version of superproto. Delete it.")
        if seal != seal_of(owner, arrays):
            raise UserError(f"{self.path} was altered or damaged: its content does not match its seal. Delete it.")
        return _progress(arrays)

    def write(self, progress: SolverProgress) -> None:
        """Replace the file; when that fails, the one before it is still there."""
        from safetensors.numpy import save

        assert self.path is not None
        arrays = _arrays(progress)
        content = save(arrays, {_KEY: f"{self.owner} {seal_of(self.owner, arrays)}"})
        with write_whole(self.path) as handle:
            handle.write(content)

    def remove(self) -> None:
        """The fit is over: a next one starts afresh."""
        if self.path is not None and not self.lasting:
            self.path.unlink(missing_ok=True)


def signature(model: Any, init: Any) -> str:
    """sha256 of the data that a model was given, of the parameters that decide its fit, and of what it starts from."""
    seal = hashlib.sha256(f"{model.data_hash_} {getattr(model, '_row_seal', '')}".encode())
    for name, value in sorted({**model.get_params(deep=False), "init": init}.items()):
        if name not in _FREE:
            seal.update(f"\n{name} ".encode())
            seal.update(_content(value))
    return seal.hexdigest()


def _content(value: Any) -> bytes:
    if hasattr(value, "visual_prototypes_"):
        value = value.visual_prototypes_
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes()
    plain = isinstance(value, (str, int, float, list, tuple, type(None)))
    return (repr(value) if plain else type(value).__name__).encode()


def _arrays(progress: SolverProgress) -> dict[str, Any]:
    state = {f"state.{name}": np.asarray(value, order="C") for name, value in _flat(progress.state).items()}
    return {
        **state,
        "objective": np.array(progress.objective, dtype=np.float64),
        "ended": np.array([progress.converged, progress.revived], dtype=np.int64),
        "first_prototypes": np.ascontiguousarray(progress.first_prototypes),
    }


def _progress(arrays: dict[str, Any]) -> SolverProgress:
    values = {name: value if value.ndim else value.item() for name, value in arrays.items()}
    fields = {name: values[f"state.{name}"] for name in _FIELDS}
    continuation = Continuation(**{name: fields.pop(name) for name in Continuation._fields})
    converged, revived = arrays["ended"].tolist()
    state = State(**fields, continuation=continuation)
    return SolverProgress(state, arrays["objective"].tolist(), bool(converged), revived, arrays["first_prototypes"])


def _flat(state: State) -> dict[str, Any]:
    """The fields of the state, those of its continuation beside the others."""
    fields = state._asdict()
    continuation = fields.pop("continuation")
    return {**fields, **continuation._asdict()}
