"""ASSEMBLE, generalized: the handicap of classes whose prototypes are predicted, among classes that were seen.

Seen classes keep the prototypes that their labels gave them. Unseen ones get an advantage, learned from the labeled
rows alone, which shrinks as the pool places their prototypes (:mod:`superproto.solver.calibration`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import softmax

from superproto.rows import Array
from superproto.samples import evenly
from superproto.solver import calibration
from superproto.solver.formulations import Formulation, State
from superproto.solver.spherical import normalized

if TYPE_CHECKING:
    from superproto.assembly import Assembly

CALIBRATION_ROWS = 4000


class LeftOut(NamedTuple):
    """Labeled samples of seen classes, some thousands, with the prototype that their class has without them.

    ``own`` (n, d) is that prototype; ``prototypes`` (m, d) are those of all seen classes.
    """

    labeled: calibration.LabeledRows
    own: Array
    prototypes: Array

    def scores(self) -> Array:
        """(n, m) cosines with the seen classes' prototypes, each row taken out of its own class and of the metric."""
        scores, own = calibration.left_out_cosines(self.labeled, self.prototypes, self.own)
        scores[np.arange(len(scores)), self.labeled.classes] = own
        return scores


def left_out(assembly: Assembly, number: int = CALIBRATION_ROWS) -> LeftOut:
    """So many labeled rows of seen classes at most, evenly spread."""
    seen, counts, sums = assembly.problem.seen, assembly.counts, assembly.sums
    known = np.flatnonzero(seen[assembly.labels])
    chosen = known[evenly(len(known), number)]
    classes = (np.cumsum(seen) - 1)[assembly.labels[chosen]]
    lengths = assembly.labeled.lengths()[chosen]
    rows = assembly.labeled.some(chosen).materialize().astype(np.float64)
    plain = assembly.labeled.plain_sums(assembly.labels, assembly.problem.n_classes)
    labeled = calibration.LabeledRows(
        rows * lengths[:, None], classes, plain[seen] / counts[seen, None], counts[seen],
        whitened=assembly.labeled.metric.mean is not None,
    )  # fmt: skip
    return LeftOut(labeled, normalized(sums[seen][classes] - rows, rows), assembly.seen_prototypes)


def unseen_advantage(assembly: Assembly) -> float:
    """b0: what a predicted prototype lacks against a learned one, from the labeled rows alone."""
    seen, rows = assembly.problem.seen, left_out(assembly)
    return calibration.unseen_advantage(
        rows.labeled, assembly.start.P[seen], assembly.start.P[~seen], rows.own,
        assembly.predicted_left_out[rows.labeled.classes],
    )  # fmt: skip


def settle(assembly: Assembly, model: Formulation) -> tuple[Formulation, State]:
    """Stage 0: find the unseen share at the start; then fix pull and advantage of the unseen classes."""
    given, problem, state = model.given, assembly.problem, assembly.start
    if assembly.pool is None:
        return model, state
    for _ in range(3):
        state = model.assign(state)
    unseen = ~problem.seen & problem.allowed
    evidence = float(state.masses[unseen].sum()) / int(unseen.sum()) * assembly.compactness
    pull = assembly.evidence.pull(evidence)
    b0 = float(given.offset[unseen][0])
    offset = given.offset.copy()
    offset[unseen] = calibration.settled_advantage(b0, pull, evidence, _own_share(assembly, state, given.offset))
    lengths = np.linalg.norm(state.Z @ state.D_v, axis=1)
    kappa = np.where(unseen, pull / np.maximum(lengths, 1e-3), given.kappa)
    first = assembly.start._replace(prior=state.prior, log_scaling=state.log_scaling)
    return assembly.formulation(replace(given, offset=offset, kappa=kappa)), first


def _own_share(assembly: Assembly, state: State, offset: Array) -> float:
    """sum Q^2 / sum Q over the unseen columns: how sure a sample taken for unseen is of its class."""
    assert assembly.pool is not None
    columns = np.flatnonzero(assembly.problem.allowed)
    some = assembly.pool.some(evenly(assembly.pool.n, CALIBRATION_ROWS))
    scores = some.scores(state.P[columns]) + offset[columns]
    Q = softmax(scores / assembly.temperature + state.log_scaling, axis=1)
    Q = Q[:, ~assembly.problem.seen[columns]]
    return float((Q**2).sum() / max(float(Q.sum()), 1e-12))
