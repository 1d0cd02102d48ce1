"""Draw trees of classes: a dendrogram with named leaves, from the merges of a hierarchical clustering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from scipy.cluster.hierarchy import leaves_list

from superproto.reporting.charts.frame import color, element, figure, joined, mark, shorten, words

# Longest name of a leaf; the rest of the width is for the tree.
MOST_CHARACTERS = 48


def leaf_order(merges: Sequence[Sequence[float]], leaves: int) -> list[int]:
    """Return the leaves from top to bottom, ordered so that branches do not cross.

    Merge i joins two nodes to the node number ``leaves + i``.

    >>> leaf_order([(0, 2, 0.1), (1, 3, 0.5)], 3)
    [1, 0, 2]
    """
    if not merges:
        return list(range(leaves))
    # The order of SciPy's dendrogram, without its recursion. It does not depend on cluster sizes.
    linkage = np.column_stack([np.asarray(merges, float)[:, :3], np.zeros(len(merges))])
    return [int(leaf) for leaf in leaves_list(linkage)]


def dendrogram(
    merges: Sequence[Sequence[float]],
    names: Sequence[str],
    marked: Sequence[bool],
    *,
    alt: str,
    row: float = 15,
    width: float = 640,
) -> Markup:
    """Draw merges (a, b, height) as a tree from right (leaves) to left. Marked leaves have another color and a ring."""
    leaves, names = len(names), [shorten(name, MOST_CHARACTERS) for name in names]
    place = {node: 12 + i * row for i, node in enumerate(leaf_order(merges, leaves))}
    right = width - 12 - 6.6 * max((len(name) for name in names), default=0)
    highest = max((merge[2] for merge in merges), default=0.0) or 1.0
    at = dict.fromkeys(range(leaves), right)
    purely_marked = {leaf: bool(marked[leaf]) for leaf in range(leaves)}
    parts: list[Markup] = []
    for i, (a, b, height) in enumerate(merges):
        left, other, node = int(a), int(b), leaves + i
        x = right - (right - 10) * height / highest
        purely_marked[node] = purely_marked[left] and purely_marked[other]
        style = f"{color(1 if purely_marked[node] else 6)} branch"
        path = f"M{at[left]:.1f} {place[left]:.1f}H{x:.1f}V{place[other]:.1f}H{at[other]:.1f}"
        parts.append(element("path", d=path, class_=style))
        at[node], place[node] = x, (place[left] + place[other]) / 2
    for leaf, name in enumerate(names):
        parts.append(mark(1 if marked[leaf] else 6, right + 6, place[leaf], size=3, hollow=bool(marked[leaf])))
        parts.append(words(name, right + 13, place[leaf] + 4, size="tick strong" if marked[leaf] else "tick"))
    return figure(width, 16 + leaves * row, joined(parts), alt=alt)
