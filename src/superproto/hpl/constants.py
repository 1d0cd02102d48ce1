"""Hand-set numbers of the model that are no parameters of the estimator."""

from __future__ import annotations

from dataclasses import dataclass, field, fields


def _number(value: float, unit: str) -> float:
    """A field with its unit; ``benchmarks/constants.jsonl`` records what other values do on held-out seen classes."""
    return field(default=value, metadata={"unit": unit})


@dataclass(frozen=True)
class Constants:
    """One value of each for all data sets. An ablation fits with other values (:meth:`HPL.with_constants`).

    ``relaxation``: strength f of the class prior in a pool that looks even; 0 none, near 1 exact class sizes.
    ``own_vote``: the part of its own influence on a prototype that a sample keeps when it is assigned; 1 as in K-means.
    ``code_ridge``: ridge of the codes. Larger: codes use more super-prototypes, each a little.
    ``prototype_ridge``: ridge of the regression from descriptions to prototypes.
    ``small_pool_weight``: weight a of a description in small pools, a / (1 + expected samples)^3.
    ``uneven_weight``: how many times its reliability a description weighs where class sizes are free.
    ``label_weight``: weight of a label of a class with few labels.
    ``few_labels``: a candidate with at most so many labels is still placed by the unlabeled samples.
    ``most_opened``: how many such candidates there may be for each class that teaches what descriptions mean.
    ``settled``: the prior is relaxed once an outer iteration changes at most this share of the labels.
    ``relaxed``: how strong the prior is after that, at least.
    ``confirmed``: agreement of class sizes with the prior, below which it is relaxed as far as that.
    ``share_pseudo_count``: pseudo-count of the shares of seen and unseen classes in the generalized setting.
    ``even_odds``: how many times as probable even class sizes are as uneven ones, before a pool is seen.
    ``even_agreement``: without labels, the ratio of vote scales at which class sizes are still taken to be even.
    ``least_gain``, ``least_prospect``: what a split must gain to be kept, and must promise to be tried.
    ``doubtful``: coherence below which a candidate seems to be absent.
    ``vote_weight``: weight of the texts' votes in the assignment; 0 leaves them out.
    ``diagnose``: whether the evenness of the pool is measured; otherwise sizes are taken to be even.
    ``free_sizes``: whether uneven class sizes have a prior of their own.
    ``refine``: whether converged fits are refined. ``forecast``: whether left-out seen classes are labeled as if they
    were unseen.
    """

    relaxation: float = _number(0.9, "share of exact class sizes")
    own_vote: float = _number(0.0, "share of the self-influence")
    code_ridge: float = _number(0.3, "mean eigenvalues of the codes' normal matrix")
    prototype_ridge: float = _number(0.3, "mean diagonal of the kernel of descriptions")
    small_pool_weight: float = _number(100.0, "effective samples")
    uneven_weight: float = _number(5.0, "reliabilities of a description")
    label_weight: float = _number(3.0, "unlabeled samples")
    few_labels: float = _number(10, "labels")
    most_opened: float = _number(2.0, "classes per seen class")
    settled: float = _number(0.03, "share of the labels")
    relaxed: float = _number(0.3, "share of the prior's strength")
    confirmed: float = _number(0.97, "agreement of class sizes with the prior")
    share_pseudo_count: float = _number(20.0, "samples")
    even_odds: float = _number(4.0, "prior odds")
    even_agreement: float = _number(0.7, "ratio of inverse temperatures")
    least_gain: float = _number(0.05, "contribution of an average class to the objective")
    least_prospect: float = _number(0.025, "contribution of an average class to the objective")
    doubtful: float = _number(0.1, "lengths of a seen class's mean")
    vote_weight: float = _number(0.5, "votes of one text")
    diagnose: bool = True
    free_sizes: bool = True
    refine: bool = True
    forecast: bool = True


def numbers() -> dict[str, str]:
    """Name and unit of every hand-set number."""
    return {item.name: item.metadata["unit"] for item in fields(Constants) if "unit" in item.metadata}
