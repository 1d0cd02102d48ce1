"""Classes that lose all their samples during a fit are restarted where that lowers the objective."""

from __future__ import annotations

from builders import law_task
from superproto import HPL
from superproto.hpl import solver


def test_an_empty_class_is_restarted_where_that_lowers_the_objective(compose):
    """A prototype pushed out of the pool loses its samples; the guard gives them back, and the objective falls."""
    published = HPL.as_published(whiten=True).get_params()
    fit = compose(law_task("zsl", separation=3.0), **published)
    objective, first = fit.objective, fit.start
    members = solver._members(objective.given)
    lost = int(members.unseen[0])
    P = first.P.copy()
    P[lost] *= -5
    emptied = objective.encoding.assign(first._replace(P=P))
    assert lost not in emptied.labels
    found, revived = solver.revive(objective, emptied, first, members)
    assert revived == 1
    assert lost in found.labels
    assert objective.value(found) < objective.value(emptied)
