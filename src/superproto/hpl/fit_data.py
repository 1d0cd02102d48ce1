"""What a fit is given, ready to compute with: labeled samples, unlabeled samples, descriptions, class masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from superproto.estimator.validation import Problem
from superproto.samples.centering import center_descriptions
from superproto.samples.chunks import Array, rows_of
from superproto.samples.kernels import unit_rows
from superproto.samples.whitened import WhitenedSamples, labeled_and_pool
from superproto.samples.whitening import Metric


@dataclass(frozen=True)
class FitData:
    """Samples behind a metric, and the classes.

    ``labels`` (n,) are the classes of the labeled samples; ``counts`` (C,) and ``sums`` (C, d) are those of the labeled
    samples of each class. ``candidates`` (c,) are the classes that an unlabeled sample may have, ``allowed`` (C,) the
    same as a mask; ``generalized`` where both seen and unseen classes are among them, ``seen_compete`` where any seen
    class is. ``texts`` (C, d) are the descriptions at length 1, where they live in the space of the features (CLIP's
    text vectors); None for attributes.
    """

    labeled: WhitenedSamples
    labels: Array
    pool: WhitenedSamples | None
    descriptions: Array
    texts: Array | None
    described: bool
    names: Array
    seen: Array
    allowed: Array
    candidates: Array
    counts: Array
    sums: Array
    n_classes: int
    seen_compete: bool
    generalized: bool

    @classmethod
    def of(
        cls, X: Any, problem: Problem, metric: Metric, center: bool, label_weight: float = 1.0,
        in_one_space: bool = False,
    ) -> FitData:  # fmt: skip
        """From checked input; ``center``: descriptions are taken about their mean.

        ``label_weight`` is that of a label of a class that counts as unseen, in unlabeled samples. ``in_one_space``:
        descriptions are vectors in the space of the features.
        """
        known, asked = labeled_and_pool(problem.labels)
        labels, n_classes = problem.labels[known], problem.n_classes
        labeled = WhitenedSamples(rows_of(X, known), metric)
        pool = WhitenedSamples(rows_of(X, asked), metric) if len(asked) else None
        counts, sums = labeled.class_sums(labels, n_classes)
        few = ~problem.seen & (counts > 0)
        counts[few] *= label_weight
        sums[few] *= label_weight
        seen, allowed = problem.seen, problem.allowed
        compete = bool((allowed & seen).any())
        return cls(
            labeled=labeled, labels=labels, pool=pool, names=problem.names, described=problem.described,
            descriptions=center_descriptions(problem.semantics, centered=center),
            texts=unit_rows(problem.semantics) if in_one_space and not metric.root else None,
            seen=seen, allowed=allowed, candidates=np.flatnonzero(allowed), counts=counts, sums=sums,
            n_classes=n_classes, seen_compete=compete, generalized=compete and bool((allowed & ~seen).any()),
        )  # fmt: skip
