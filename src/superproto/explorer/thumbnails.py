"""SHOW: pictures as small JPEG, decoded and encoded anew, so that nothing of a file reaches a browser as it is."""

from __future__ import annotations

import io
import os
import threading
from collections import OrderedDict
from pathlib import Path

from superproto.explorer.session import Session
from superproto.pictures.images import Unusable, content_hash, open_picture, read_content

SIDES = {"small": 192, "large": 800}
_CACHE_BYTES = 64 * 2**20
_AT_A_TIME = threading.Semaphore(4)


class Thumbnails:
    """The pictures of a run, the latest ones in memory."""

    def __init__(self, session: Session) -> None:
        self._session, self._lock = session, threading.Lock()
        self._kept: OrderedDict[tuple[int, str], bytes] = OrderedDict()
        self._bytes = 0

    def jpeg(self, row: int, size: str) -> bytes:
        """The picture of a sample; `Unusable` where there is none."""
        known = (self._session.check_row(row), size)
        with self._lock:
            if known in self._kept:
                self._kept.move_to_end(known)
                return self._kept[known]
        with _AT_A_TIME:
            made = self._make(row, SIDES[size])
        self._keep(known, made)
        return made

    def _make(self, row: int, side: int) -> bytes:
        content = read_content(picture_path(self._session, row))
        key = self._session.key(row)
        # Ids of packs are no hashes; there the file is what the pack says.
        if key != self._session.ids([row])[0] and content_hash(content) != key:
            raise Unusable("the file has changed since it was labeled")
        picture = open_picture(content, side)
        picture.thumbnail((side, side))
        memory = io.BytesIO()
        picture.save(memory, "JPEG", quality=85)
        return memory.getvalue()

    def _keep(self, known: tuple[int, str], made: bytes) -> None:
        with self._lock:
            self._kept[known] = made
            self._bytes += len(made)
            while self._bytes > _CACHE_BYTES and len(self._kept) > 1:
                self._bytes -= len(self._kept.popitem(last=False)[1])


def picture_path(session: Session, row: int) -> Path:
    """The file of a sample, which must be inside the folder of pictures."""
    photos = session.run.photos
    if photos is None:
        raise Unusable("the run has no pictures")
    root = os.path.realpath(photos)
    # Names that are no UTF-8 were written with their bytes as \udcXX.
    path = os.path.realpath(os.path.join(root, session.ids([row])[0]))
    if not Path(path).is_relative_to(root) or "\0" in path:
        raise Unusable("the file is outside of the folder of pictures")
    return Path(path)
