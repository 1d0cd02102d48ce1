"""How files are damaged, and the bounds that reading them must keep to.

``SUPERPROTO_HOSTILE`` multiplies the number of damaged files: 1 in CI, 50 for ``make hostile``.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from superproto.errors import UserError

MANY = int(os.environ.get("SUPERPROTO_HOSTILE", "1"))
LONG_RUN = 50
LONGEST_SECONDS = 10.0
MOST_BYTES = 2**30


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with bits turned, bytes put in, a piece cut out, doubled or moved, or an end cut off."""
    data = bytearray(content)
    how = int(rng.integers(7))
    place, size = int(rng.integers(0, max(1, len(data)))), int(rng.integers(1, 9))
    if how <= 1:
        for at in rng.integers(0, max(1, len(data)), size):
            if len(data):
                data[at] ^= 1 << int(rng.integers(8))
    elif how == 2:
        data[place : place + size] = bytes(rng.integers(0, 256, size, dtype=np.uint8))
    elif how == 3:
        del data[place:]
    elif how == 4:
        del data[place : place + size]
    elif how == 5:
        data[place:place] = data[place : place + 64]
    else:
        data[place : place + 8] = rng.choice([0, 1, 2**31 - 1, 2**32, 2**63 - 1]).tobytes()
    return bytes(data)


def read_within_bounds(read: Callable[[], Any]) -> Any:
    """What reading gives, or None for one clear error; anything else, too long or too much memory fails the test."""
    before, start = _peak(), time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except UserError:
        return None
    finally:
        assert time.monotonic() - start < LONGEST_SECONDS
        assert _peak() - before < MOST_BYTES


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
