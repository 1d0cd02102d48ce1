"""SCORE: diagnostics of a fit: class accuracies, confusions, reliability, seen-unseen curve, super-prototypes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from superproto.datasets.task import Task
from superproto.evaluation.evaluate import Answers
from superproto.metrics import accuracy_by_class, ausuc, confusion, generalized_scores, seen_unseen_curve
from superproto.samples.chunks import Array

_CURVE_POINTS = 80
_BINS = 10


def classes(truth: Array, labels: Array, names: list[str]) -> list[dict[str, Any]]:
    """Return the accuracy and size of every class that occurs, the least accurate first."""
    present, accuracy = accuracy_by_class(truth, labels)
    sizes = np.bincount(truth, minlength=len(names))
    return [
        {"name": names[present[i]], "accuracy": round(float(accuracy[i]), 4), "samples": int(sizes[present[i]])}
        for i in np.argsort(accuracy, kind="stable")
    ]


def confused_pairs(truth: Array, labels: Array, names: list[str], most: int = 15) -> list[dict[str, Any]]:
    """Return the most frequent confusions, as counts and as shares of the true class."""
    known, counts = confusion(truth, labels)
    wrong = counts * ~np.eye(len(known), dtype=bool)
    order = np.argsort(wrong, axis=None, kind="stable")[::-1][:most]
    pairs = [divmod(int(flat), len(known)) for flat in order]
    return [
        {
            "truth": names[known[i]],
            "called": names[known[j]],
            "samples": int(counts[i, j]),
            "share": round(float(counts[i, j] / counts[i].sum()), 4),
        }
        for i, j in pairs
        if wrong[i, j]
    ]


def reliability(truth: Array, found: Answers) -> list[dict[str, Any]]:
    """Return mean confidence, accuracy and number of samples for equal bins of the confidence."""
    confidence = found.probabilities.max(axis=1)
    correct = found.labels == truth
    box = np.clip((confidence * _BINS).astype(int), 0, _BINS - 1)
    return [
        {
            "confidence": round(float(confidence[box == b].mean()), 4),
            "accuracy": round(float(correct[box == b].mean()), 4),
            "samples": int((box == b).sum()),
        }
        for b in range(_BINS)
        if (box == b).any()
    ]


def trade(task: Task, found: Answers) -> dict[str, Any]:
    """Return points of the seen-unseen curve, the area under it, and the accuracies of the model."""
    seen = task.seen_classes
    _, u, s = seen_unseen_curve(task.expected, found.scores, seen)
    kept = np.unique(np.searchsorted(u, np.linspace(0, u[-1], _CURVE_POINTS)).clip(max=len(u) - 1))
    kept = np.union1d(kept, [0, len(u) - 1])
    here = generalized_scores(task.expected, found.labels, seen)
    return {
        "unseen": [round(float(v), 4) for v in u[kept]],
        "seen": [round(float(v), 4) for v in s[kept]],
        "ausuc": round(ausuc(task.expected, found.scores, seen), 4),
        "at": {name: round(float(value), 4) for name, value in here._asdict().items()},
    }


def super_prototypes(model: Any, names: list[str], attribute_names: list[str] | None, most: int = 12) -> dict[str, Any]:
    """Return the super-prototypes with the largest codes in unseen classes.

    Each is described by its attributes furthest above the mean, and by the classes with the largest codes.
    """
    codes, semantic = np.asarray(model.codes_), np.asarray(model.semantic_super_prototypes_)
    unseen = ~np.asarray(model.seen_classes_)
    weight = np.abs(codes[unseen]).sum(axis=0)
    order = np.argsort(-weight, kind="stable")[:most]
    apart = semantic - semantic.mean(axis=0)
    called = attribute_names or [f"attribute {j}" for j in range(semantic.shape[1])]
    return {
        "number": int(codes.shape[1]),
        "shown": [
            {
                "index": int(j),
                "weight": round(float(weight[j] / (weight.sum() or 1.0)), 4),
                "attributes": [[called[a], round(float(apart[j, a]), 4)] for a in np.argsort(-apart[j])[:6]],
                "classes": _loading(codes[:, j], names, unseen),
            }
            for j in order
        ],
    }


def class_tree(model: Any, names: list[str]) -> dict[str, Any]:
    """Return the hierarchical clustering of the classes by their codes (average linkage of unit vectors)."""
    from scipy.cluster.hierarchy import linkage

    codes = np.asarray(model.codes_, dtype=float)
    codes = codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-12)
    merges = linkage(codes, "average", metric="euclidean") if len(codes) > 1 else []
    return {
        "names": names,
        "unseen": [bool(flag) for flag in ~np.asarray(model.seen_classes_)],
        "merges": [[int(a), int(b), round(float(height), 4)] for a, b, height, _ in merges],
    }


def readable(names: Iterable[Any]) -> list[str]:
    """Return class names without the benchmarks' numbers and underscores, if they stay different.

    >>> readable(["001.Black_footed_Albatross", "002.Laysan_Albatross"]), readable(["A+", "A"])
    (['Black footed Albatross', 'Laysan Albatross'], ['A+', 'A'])
    """
    given = [str(name) for name in names]
    numbered = all(re.match(r"\d+\.\D", name) for name in given)
    short = [name.partition(".")[2] if numbered else name for name in given]
    short = [name.replace("_", " ").replace("+", " ").strip() for name in short]
    return short if all(short) and len(set(short)) == len(set(given)) else given


def _loading(code: Array, names: list[str], unseen: Array, most: int = 6) -> list[list[Any]]:
    order = np.argsort(-np.abs(code), kind="stable")[:most]
    return [[names[c], round(float(code[c]), 3), bool(unseen[c])] for c in order]
