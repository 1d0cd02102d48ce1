"""LOAD: scikit-learn's handwritten digits as a zero-shot problem, in which some digits have no labels.

The data are small, real and need no download: 1797 samples of 8 × 8 pixels. The descriptions state how a *printed*
digit looks: the segments of a seven-segment display, loops, strokes and bows. They were written without the samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from superproto.datasets.pools import part_of_each_class
from superproto.datasets.task import Task
from superproto.errors import UserError

# For each trait, the digits that have it.
DESCRIPTIONS: dict[str, str] = {
    "segment at the top": "02356789",
    "segment at the upper right": "01234789",
    "segment at the lower right": "013456789",
    "segment at the bottom": "0235689",
    "segment at the lower left": "0268",
    "segment at the upper left": "045689",
    "segment in the middle": "2345689",
    "closed loop": "04689",
    "loop above": "489",
    "loop below": "68",
    "empty center": "0",
    "upright stroke": "14",
    "slanted stroke": "247",
    "flat stroke above": "57",
    "flat stroke below": "2",
    "flat stroke in the middle": "4",
    "bow to the right above": "2389",
    "bow to the right below": "03568",
    "bow to the left below": "068",
    "bow to the left above": "0689",
    "mirror image of itself, left and right": "018",
    "mirror image of itself, above and below": "0138",
}


def digits(unseen: Sequence[int] = (3, 6, 7), *, setting: str = "zsl", seed: int = 0) -> Task:
    """Return the digits task: every digit has a description, and all except the unseen digits have labels.

    The default digits are an easy choice for HPL. To measure a method, average over choices of `unseen`.

    Parameters
    ----------
    unseen : sequence of int, default=(3, 6, 7)
        One to nine digits whose samples are unlabeled.
    setting : {"zsl", "gzsl"}, default="zsl"
        With "zsl" the unlabeled samples are those of the unseen digits, which are the candidates. With "gzsl" a fifth
        of the samples of each seen digit is unlabeled too, and all digits are candidates.
    seed : int, default=0
        Draws these samples.

    Examples
    --------
    >>> from superproto.datasets import digits
    >>> task = digits()
    >>> task.X.shape, int(task.asked.sum()), task.unseen_classes.tolist()
    ((1797, 64), 543, [3, 6, 7])
    """
    from sklearn.datasets import load_digits

    hidden = np.unique(np.asarray(unseen, dtype=int))
    if not 1 <= len(hidden) <= 9 or hidden.min() < 0 or hidden.max() > 9:
        raise UserError(f"unseen={tuple(unseen)} must name one to nine of the digits 0 to 9.")
    if setting not in ("zsl", "gzsl"):
        raise UserError(f"setting={setting!r} is not known. Give 'zsl' or 'gzsl'.")
    X, truth = load_digits(return_X_y=True)
    asked = np.isin(truth, hidden)
    if setting == "gzsl":
        seen = np.flatnonzero(~asked)
        asked[seen[part_of_each_class(truth[seen], 0.2, np.random.default_rng(seed))]] = True
    return Task(
        X=X.astype(np.float32),
        y=np.where(asked, -1, truth),
        semantics=_descriptions(),
        class_names=np.array([str(digit) for digit in range(10)]),
        truth=truth,
        candidates="unseen" if setting == "zsl" else "all",
        setting=setting,
        protocol=f"unseen digits {', '.join(map(str, hidden))}",
        pool="unseen" if setting == "zsl" else "mixed",
        name="digits",
    )


def _descriptions() -> np.ndarray:
    """Return the (10, traits) matrix that is 1 where the digit has the trait."""
    return np.array([[float(str(d) in those) for those in DESCRIPTIONS.values()] for d in range(10)], np.float32)
