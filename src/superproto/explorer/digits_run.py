"""SHOW: the digits of the demo as a run with pictures, so that the page can be seen without any data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from superproto.datasets.digits import DESCRIPTIONS, digits
from superproto.explorer.run import MODEL, RunContent, keep_run
from superproto.files import write_whole
from superproto.hpl.estimator import HPL

_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SIDE = 120
# Descriptions alone give less than half of these their right name, and an answer for each digit mends that.
UNSEEN_DIGITS = (0, 2, 5, 8, 9)


def keep_digits_run(folder: Path, most: int | None = None, unseen: tuple[int, ...] = UNSEEN_DIGITS) -> Path:
    """Write pictures, features and a model of the digits; the folder of the run, made once and then left as it is.

    most : pictures of each digit, None: all.
    """
    run = folder / "run"
    if (run / MODEL).is_file():
        return run
    whole = digits(unseen)
    by_digit = [np.flatnonzero(whole.truth == digit)[:most] for digit in range(10)]
    rows = np.sort(np.concatenate(by_digit))
    # Without a hint at the digit: the file's name is shown beside a blind question.
    ids = [f"digit-{row:04d}.png" for row in rows]
    photos = folder / "digits"
    photos.mkdir(parents=True, exist_ok=True)
    for name, row in zip(ids, rows):
        _write_picture(photos / name, whole.X[row])
    texts = [", ".join(trait for trait, those in DESCRIPTIONS.items() if str(d) in those) for d in range(10)]
    content = RunContent(
        "digits", whole.X[rows], ids, whole.y[rows], _NAMES, whole.semantics, whole.candidates,
        descriptions=texts, attributes=list(DESCRIPTIONS), photos=photos,
    )  # fmt: skip
    keep_run(run, content)
    labels = np.array([None if label < 0 else _NAMES[label] for label in content.given], dtype=object)
    model = HPL(candidates=whole.candidates, random_state=0)
    model.fit(content.X, labels, semantics=content.semantics, class_names=np.array(_NAMES)).save(run / MODEL)
    return run


def _write_picture(path: Path, features: np.ndarray) -> None:
    from PIL import Image

    pixels = np.pad(np.uint8(255 - np.clip(features.reshape(8, 8) * 15, 0, 255)), 1, constant_values=255)
    with write_whole(path) as handle:
        Image.fromarray(pixels).resize((_SIDE, _SIDE), Image.Resampling.BICUBIC).save(handle, "PNG")
