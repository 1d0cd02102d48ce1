"""LOAD: features of a folder of pictures: list files, decode, embed, store. A second call continues the first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from superproto.errors import UserError
from superproto.files import PathLike, write_whole
from superproto.pictures.decoding import decoding_pool, may_pass
from superproto.pictures.duplicates import exact_copies, near_copies
from superproto.pictures.encoders import DEFAULT_ENCODER, PictureEncoder, open_encoder
from superproto.pictures.folder_walk import FoundFile, Skipped, readable_path, walk_pictures
from superproto.pictures.images import Decoded
from superproto.pictures.run_folder import KnownFile, RunFolder
from superproto.samples.chunks import Array

BATCH = 32
RUN_FOLDER = ".superproto"


class EmbeddedFolder(NamedTuple):
    """Features of N pictures, and what was found in the folder.

    features : (N, d) float16; ids : paths below the folder, with forward slashes; contents : the hash of each file's
    content; skipped : files that were left out, with the reason; copies : groups of ids with the same content; near :
    pairs of ids that look nearly the same; computed : the number of pictures that were new.
    """

    features: Array
    ids: list[str]
    contents: list[str]
    skipped: list[Skipped]
    copies: list[list[str]]
    near: list[tuple[str, str]]
    computed: int


class EmbeddingProgress(NamedTuple):
    """Files done, files in total, files per second, and the seconds left."""

    done: int
    total: int
    rate: float
    seconds_left: float


ReportProgress = Callable[[EmbeddingProgress], None]


def embed_folder(
    photos: PathLike,
    *,
    encoder: str | PictureEncoder = DEFAULT_ENCODER,
    run: PathLike | None = None,
    progress: ReportProgress | None = None,
    n_processes: int | None = None,
) -> EmbeddedFolder:
    """Compute the features of every picture below a folder.

    The run's folder (default: `.superproto` inside `photos`) stores features by the content of pictures. A second call
    computes new pictures only, also after the process was killed. Nothing else in `photos` is changed.
    """
    photos = Path(photos)
    found, skipped = walk_pictures(photos)
    if not found:
        raise UserError(f"{photos} holds no picture ({_left_out(skipped)}). Give the folder that holds the pictures.")
    opened = open_encoder(encoder) if isinstance(encoder, str) else encoder
    store = RunFolder(photos / RUN_FOLDER if run is None else Path(run), opened)
    try:
        known, computed = _embed_new(photos, found, opened, store, progress, n_processes)
        return _collected(found, skipped, known, store, computed)
    finally:
        store.close()


def _left_out(skipped: Sequence[Skipped]) -> str:
    """How many files were left out, and an example with its reason."""
    if not skipped:
        return "it is empty"
    example = f"{readable_path(skipped[0].path)}: {skipped[0].reason}"
    return f"{len(skipped)} other files, such as {example}" if len(skipped) > 1 else example


def write_embedded(path: PathLike, embedded: EmbeddedFolder) -> None:
    """Write the arrays `features`, `ids` and `image_files`, for `pack` and `predict`.

    The ids are the paths. `image_files` tells a pack and its report that they are paths of pictures.
    """
    ids = np.array(embedded.ids, dtype=str)
    with write_whole(path) as handle:
        np.savez(handle, features=embedded.features, ids=ids, image_files=ids)


def _embed_new(
    photos: Path,
    found: Sequence[FoundFile],
    encoder: PictureEncoder,
    store: RunFolder,
    progress: ReportProgress | None,
    n_processes: int | None,
) -> tuple[dict[str, KnownFile], int]:
    """Embed the new pictures. Returns the state of every file, and the number of new pictures."""
    known, have = store.known_files(found), set(store.fingerprints())
    missing = [file for file in found if _is_new(known.get(file.path), have)]
    if not missing:
        return known, 0
    by_path = {file.path: file for file in missing}
    done, computed, start = 0, 0, perf_counter()
    with decoding_pool(photos, encoder.view, n_processes or max(1, os.cpu_count() or 1)) as pool:
        for batch in _batches(pool.map(by_path)):
            computed += _keep_batch([(by_path[path], result) for path, result in batch], encoder, store, have, known)
            done += len(batch)
            if progress is not None:
                rate = done / max(perf_counter() - start, 1e-9)
                progress(EmbeddingProgress(done, len(missing), rate, (len(missing) - done) / rate))
    return known, computed


def _is_new(known: KnownFile | None, have: set[str]) -> bool:
    return known is None or (known.reason is None and known.content not in have)


def _batches(decoded: Iterator[tuple[str, Decoded | str]]) -> Iterator[list[tuple[str, Decoded | str]]]:
    batch = []
    for item in decoded:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _keep_batch(
    batch: Sequence[tuple[FoundFile, Decoded | str]],
    encoder: PictureEncoder,
    store: RunFolder,
    have: set[str],
    known: dict[str, KnownFile],
) -> int:
    """Embed the new pictures of a batch and store its files. Returns the number of new pictures."""
    new = {r.content: r for _, r in batch if isinstance(r, Decoded) and r.content not in have}
    if new:
        features = encoder.embed(np.stack([picture.view for picture in new.values()]))
        store.keep(features, list(new), [picture.fingerprint for picture in new.values()])
        have.update(new)
    notes = [(f, r.content, None) if isinstance(r, Decoded) else (f, None, r) for f, r in batch]
    store.note_files([note for note in notes if note[2] is None or not may_pass(note[2])])
    known.update((file.path, KnownFile(content, reason)) for file, content, reason in notes)
    return len(new)


def _collected(
    found: Sequence[FoundFile], skipped: list[Skipped], known: dict[str, KnownFile], store: RunFolder, computed: int
) -> EmbeddedFolder:
    contents = {file.path: known[file.path].content for file in found}
    used = {readable_path(path): content for path, content in contents.items() if content is not None}
    unused = [Skipped(path, str(known[path].reason)) for path, content in contents.items() if content is None]
    features = store.features(list(used.values()))
    fingerprints = store.fingerprints()
    first = {content: number for number, content in reversed(list(enumerate(used.values())))}
    rows, ids = sorted(first.values()), list(used)
    near = near_copies([ids[i] for i in rows], [fingerprints[used[ids[i]]] for i in rows], features[rows])
    everything = sorted(Skipped(readable_path(path), reason) for path, reason in [*skipped, *unused])
    return EmbeddedFolder(features, ids, list(used.values()), everything, exact_copies(used), near, computed)
