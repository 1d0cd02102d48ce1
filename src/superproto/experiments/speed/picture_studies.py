"""RESEARCH: measure the speed of embedding and labeling pictures, and whether memory stays constant.

Pictures are drawn into a temporary folder. The mean color of a picture and its stripes are the attributes of its class.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from superproto.errors import UserError
from superproto.experiments.records import Entry
from superproto.experiments.speed.machine import Rates, peak_memory, time_together

N_PHOTOGRAPHS, SIDES = 160, (640, 480)
# Numbers of small pictures: a small folder for comparison, and a large archive.
COUNTS = (10_000, 100_000)
N_REPEATS = 3
LEAST_SHARE = 0.6
MOST_BYTES_PER_PICTURE = 4096
_LEVELS = (50, 130, 210)
_CLASSES = [(*color, stripes) for color in product(_LEVELS, repeat=3) for stripes in (0, 1)]
_UNSEEN = range(3, len(_CLASSES), 6)
_SIDE = 32


def picture_rate(folder: Path, rates: Rates) -> Entry:
    """Measure pictures per second from files to stored features, compared with onnxruntime on decoded arrays."""
    from superproto.pictures.embedding import BATCH, embed_folder
    from superproto.pictures.encoders import open_encoder
    from superproto.pictures.images import decode_file

    encoder = open_encoder()
    with tempfile.TemporaryDirectory() as place:
        photos = Path(place) / "photos"
        paths = _write_photographs(photos)
        views = np.stack([decode_file(path, *encoder.view).view for path in paths])
        batches, runs = np.array_split(views, len(views) // BATCH), iter(range(N_REPEATS))
        seconds = time_together(
            {
                "bare onnxruntime": lambda: [encoder.embed(batch) for batch in batches],
                "embed_folder": lambda: embed_folder(photos, encoder=encoder, run=Path(place) / f"run-{next(runs)}"),
            },
            N_REPEATS,
        )
    share = seconds["bare onnxruntime"] / seconds["embed_folder"]
    ratios = {"embed_folder / bare onnxruntime, pictures per second": share}
    ratios |= {f"{name}, pictures per second": len(paths) / value for name, value in seconds.items()}
    return {
        "sizes": {"pictures": len(paths), "pixels each": SIDES[0] * SIDES[1]},
        "seconds": seconds,
        "ratios": ratios,
        "kept": {f"embed_folder / bare onnxruntime >= {LEAST_SHARE}": share >= LEAST_SHARE},
    }


def many_pictures(folder: Path, rates: Rates) -> Entry:
    """Run `superproto embed` and `superproto label` on 10,000 and 100,000 small pictures, with a one-layer network.

    The network is small because :func:`picture_rate` measures the time of a real one.
    """
    seconds: dict[str, float] = {}
    taken: dict[str, float] = {}
    for count in COUNTS:
        with tempfile.TemporaryDirectory() as place:
            given = _write_task(Path(place), count)
            for verb, words in given.items():
                start = perf_counter()
                taken[f"{verb}, {count:,} pictures"] = _run_measured(words)
                seconds[f"{verb}, {count:,} pictures"] = perf_counter() - start
            right = _share_right(Path(place) / "labels.csv")
    first, last = (taken[f"embed, {count:,} pictures"] for count in (COUNTS[0], COUNTS[-1]))
    per_picture = (last - first) / (COUNTS[-1] - COUNTS[0])
    bound = f"embed: at most {MOST_BYTES_PER_PICTURE} bytes per further picture"
    return {
        "sizes": {"pictures": COUNTS[-1], "classes": len(_CLASSES), "features": 48},
        "seconds": seconds,
        "bytes": taken,
        "ratios": {"embed: bytes per further picture": per_picture, "right labels": right},
        "kept": {bound: per_picture <= MOST_BYTES_PER_PICTURE},
    }


def _run_measured(words: list[str]) -> int:
    """Run a command of superproto in a separate process. Return its peak anonymous memory."""
    command = [sys.executable, "-c", "from superproto.cli import main; main()", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    with peak_memory(0.05, process.pid) as taken:
        status = process.wait()
    if status:
        raise UserError(f"superproto {words[0]} ended with {status}; its message is above.")
    return taken["peak"]


def _write_task(place: Path, count: int) -> dict[str, list[str]]:
    """Write pictures, classes and network. Return the arguments of the two commands."""
    generator, photos = np.random.default_rng(0), place / "photos"
    for number in range(count):
        row = number % len(_CLASSES)
        unsorted = row in _UNSEEN or number >= count // 2
        path = photos / ("unsorted" if unsorted else f"class {row}") / f"{number // 1000}" / f"{row}_{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        _picture(_CLASSES[row], generator, (_SIDE, _SIDE)).save(path)
    with (place / "classes.csv").open("w", newline="") as handle:
        csv.writer(handle).writerows(
            [["name", "red", "green", "blue", "stripes"], *([f"class {n}", *row] for n, row in enumerate(_CLASSES))]
        )
    (place / "network.onnx").write_bytes(_cell_network())
    shared = ["--encoder", f"onnx:{place / 'network.onnx'}", "--run", str(place / "run")]
    labels = ["--classes", str(place / "classes.csv"), "-o", str(place / "labels.csv")]
    return {
        "embed": ["embed", str(photos), "-o", str(place / "features.npz"), *shared],
        "label": ["label", str(photos), *labels, *shared],
    }


def _share_right(labels: Path) -> float:
    with labels.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    return float(np.mean([row["label"] == f"class {Path(row['id']).name.split('_')[0]}" for row in rows]))


def _write_photographs(photos: Path) -> list[Path]:
    generator = np.random.default_rng(0)
    photos.mkdir()
    paths = [photos / f"{number}.jpg" for number in range(N_PHOTOGRAPHS)]
    for number, path in enumerate(paths):
        _picture(_CLASSES[number % len(_CLASSES)], generator, SIDES).save(path, quality=90)
    return paths


def _picture(traits: tuple[int, ...], generator: np.random.Generator, size: tuple[int, int]) -> Any:
    """Draw the class's color with smooth variation; the upper half is darker with ``stripes``; add noise."""
    from PIL import Image

    blotches = generator.normal(0, 12, (8, 8, 3)) + traits[:3]
    small = Image.fromarray(np.clip(blotches, 0, 255).astype(np.uint8))
    pixels = np.asarray(small.resize(size, Image.Resampling.BICUBIC)).astype(np.int16)
    pixels[: size[1] // 2] -= 40 * traits[3]
    pixels += generator.integers(-6, 7, pixels.shape, dtype=np.int16)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def _cell_network() -> bytes:
    """Return an ONNX file of one layer that computes the means of 4 x 4 cells."""
    from onnx import TensorProto, helper

    cell = [_SIDE // 4] * 2
    nodes = [
        helper.make_node("AveragePool", ["pictures"], ["cells"], kernel_shape=cell, strides=cell),
        helper.make_node("Flatten", ["cells"], ["features"]),
    ]
    taken = helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["n", 3, _SIDE, _SIDE])
    given = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 48])
    graph = helper.make_graph(nodes, "means of cells", [taken], [given])
    content: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    ).SerializeToString(deterministic=True)
    return content
