"""Hand-set numbers of the model that are no parameters of the estimator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """One value of each for all data sets; an ablation fits with others (:meth:`HPL.with_constants`).

    ``relaxation``, in [0, 1): how strongly class sizes follow the prior; 0 not at all, near 1 exactly. An estimated
    prior has this strength until few labels change, and then as much of it as the class sizes found without it confirm.
    ``own_vote``, in [0, 1]: how much of its own influence on a prototype a sample feels when it is assigned. 1 is all
    of it, as in K-means; guesses then confirm themselves. ``code_ridge``: added to the least squares of the codes, in
    units of their mean eigenvalue. Larger: codes use more super-prototypes, each a little. Free prototypes have none,
    as in the paper. ``refine``: whether converged fits are refined.
    """

    relaxation: float = 0.9
    own_vote: float = 0.0
    code_ridge: float = 0.3
    refine: bool = True
