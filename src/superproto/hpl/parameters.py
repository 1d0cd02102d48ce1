"""The user's parameters, checked, in the solver's terms."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.estimator.validation import Problem
from superproto.hpl.class_order import prior_in_class_order
from superproto.hpl.constants import Constants
from superproto.samples.chunks import Array

_OPTIONS = {
    "variant": ("hpl", "hpl1"),
    "init": ("means", "kmeans", "affinity"),
    "order": ("unseen", "seen"),
    "dictionary_solver": ("blocks", "gradient"),
    "prototypes": ("unit", "free"),
    "prior": ("estimated", "uniform"),
}


@dataclass(frozen=True)
class Parameters:
    """The estimator's parameters and the constants of the model in the solver's terms.

    ``soft``: unit prototypes and a soft assignment; ``estimates_prior``: the class prior is found from the samples.
    """

    beta: float
    lam: float
    gamma: float
    q: int
    two_way: bool
    unit: bool
    soft: bool
    init: Any
    alternate: bool
    dictionary_solver: str
    discriminative: float
    alignment_scale: float | None
    prior: Any
    estimates_prior: bool
    temperature: float
    constants: Constants
    code_ridge: float
    seed: int | None


def check_parameters(model: Any, problem: Problem, init: Any, order: Array) -> Parameters:
    """The parameters of an HPL, checked, as the solver takes them; ``order`` (C,) is that of the problem's classes."""
    _check_numbers(model)
    for name, known in _OPTIONS.items():
        value = init if name == "init" else getattr(model, name)
        if isinstance(value, str) and value not in known:
            raise UserError(f"{name} is '{value}', but it is one of {', '.join(known)}.")
    unit, constants = is_unit(model), model.constants
    return Parameters(
        beta=model.rho / (1 - model.rho),
        lam=model.omega / (1 - model.omega),
        gamma=model.alpha / (1 - model.alpha),
        q=_number_of_super_prototypes(model.theta, problem),
        two_way=model.variant == "hpl1",
        unit=unit,
        soft=unit and model.temperature > 0,
        init=init,
        alternate=model.alternate,
        dictionary_solver=model.dictionary_solver,
        discriminative=float(model.discriminative_weight),
        alignment_scale=model.alignment_scale,
        prior=prior_in_class_order(model.prior, order),
        estimates_prior=isinstance(model.prior, str) and model.prior == "estimated",
        temperature=float(model.temperature),
        constants=constants,
        code_ridge=constants.code_ridge if unit else 0.0,
        seed=_seed(model.random_state),
    )


def is_unit(model: Any) -> bool:
    """Prototypes on the sphere; HPL1's are always free."""
    return bool(model.prototypes == "unit" and model.variant == "hpl")


def with_few_labels_as_unseen(problem: Problem, in_one_space: bool, unit: bool, constants: Constants) -> Problem:
    """The problem with hardly labeled candidates counted as unseen: their few labels help, the pool still places them.

    With more than ``few_labels`` labels a class is as good as seen: its prototype is theirs. Seen classes teach what
    descriptions mean, so half as many of them as are opened must be left; or none, where descriptions are prototypes
    themselves.
    """
    counts = np.bincount(problem.labels[~problem.asked], minlength=problem.n_classes)
    if not unit or not problem.described or not problem.seen.any():
        return problem
    opened = problem.seen & problem.allowed & (counts <= constants.few_labels)
    seen = problem.seen & ~opened
    taught = constants.most_opened * seen.sum() >= opened.sum() if seen.any() else in_one_space
    return replace(problem, seen=seen) if taught else problem


def shares_given(prior: Any, allowed: Array) -> Array:
    """(n,) a user's prior of the candidates, to sum 1."""
    try:
        shares = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise UserError(
            f"prior is {prior!r}, but it is 'estimated', 'uniform', None, or one number per class."
        ) from None
    if shares.shape != allowed.shape:
        raise UserError(f"prior has shape {shares.shape}, but one number for each of {len(allowed)} classes is needed.")
    if not np.isfinite(shares).all() or (shares < 0).any():
        raise UserError("prior has numbers below 0, NaN or infinity. Give shares or sample counts, at least 0.")
    if not shares[allowed].any():
        raise UserError("prior is 0 for all candidates. Give a share to those that the pool may have.")
    chosen = np.maximum(shares[allowed], 1e-12)
    return np.asarray(chosen / chosen.sum())


def _check_numbers(model: Any) -> None:
    for name in ("rho", "omega", "alpha"):
        value = getattr(model, name)
        if not (isinstance(value, Real) and 0 <= float(value) < 1):
            raise UserError(f"{name} is {value!r}, but it must be at least 0 and below 1.")
    for name in ("temperature", "discriminative_weight", "alignment_scale", "tol"):
        value = getattr(model, name)
        if value is None and name == "alignment_scale":
            continue
        if not (isinstance(value, Real) and 0 <= float(value) < np.inf):
            raise UserError(f"{name} is {value!r}, but it must be a finite number of at least 0.")
    if not isinstance(model.alternate, (bool, np.bool_)):
        raise UserError(f"alternate is {model.alternate!r}, but it must be True or False.")
    if not isinstance(model.max_iter, Integral) or model.max_iter < 1:
        raise UserError(f"max_iter is {model.max_iter!r}, but it must be a whole number of at least 1.")
    if model.callback is not None and not callable(model.callback):
        raise UserError(f"callback is {model.callback!r}, but it must be a function of an Iteration, or None.")


def _number_of_super_prototypes(theta: float | None, problem: Problem) -> int:
    """q: as many as seen classes, or this share of all classes; all classes where none is seen."""
    total, seen = problem.n_classes, int(problem.seen.sum())
    if theta is None:
        return seen or total
    if not isinstance(theta, Real) or not np.isfinite(theta):
        raise UserError(f"theta is {theta!r}, but it is None or a number above 0, at most 1.")
    q = round(theta * total)
    if not 1 <= q <= total:
        raise UserError(f"theta is {theta}, which makes {q} super-prototypes; {total} classes must make 1 to {total}.")
    if q == total and 0 < seen < total:
        warnings.warn(
            f"theta is {theta}: as many super-prototypes as classes explain any prototype, so nothing is "
            "transferred from seen to unseen classes. Leave theta at None.",
            UserWarning,
            stacklevel=5,
        )
    return q


def _seed(random_state: Any) -> int | None:
    if random_state is None:
        return None
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if not isinstance(random_state, np.random.RandomState):
        raise UserError(f"random_state is {random_state!r}, but it is None, a whole number or a numpy RandomState.")
    return int(random_state.randint(2**31 - 1))
