"""READ: find exact copies and near copies of pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from superproto.samples.chunks import Array

_BITS_APART = 3
_LEAST_COSINE = 0.97
_LARGEST_BUCKET = 200


def exact_copies(contents: Mapping[str, str]) -> list[list[str]]:
    """Groups of paths with the same content. `contents` maps paths to hashes."""
    groups = defaultdict(list)
    for path, content in contents.items():
        groups[content].append(path)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def near_copies(paths: Sequence[str], fingerprints: Sequence[int], features: Array) -> list[tuple[str, str]]:
    """Pairs of pictures whose fingerprints differ in at most 3 of 64 bits and whose features have a high cosine.

    Two fingerprints that differ in three bits are equal in at least one of four quarters. Only such pairs are compared.
    """
    buckets = defaultdict(list)
    for number, fingerprint in enumerate(fingerprints):
        for quarter in range(4):
            buckets[quarter, fingerprint >> (16 * quarter) & 0xFFFF].append(number)
    pairs = {
        pair
        for members in buckets.values()
        if 1 < len(members) <= _LARGEST_BUCKET
        for pair in combinations(members, 2)
        if (fingerprints[pair[0]] ^ fingerprints[pair[1]]).bit_count() <= _BITS_APART
    }
    return sorted((paths[a], paths[b]) for a, b in pairs if _cosine(features[a], features[b]) >= _LEAST_COSINE)


def _cosine(a: Array, b: Array) -> float:
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-12))
