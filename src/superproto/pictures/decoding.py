"""READ: decode pictures in separate processes, so that a crash, a hang or a decompression bomb costs one file only.

A process reads one request per line: JSON with the path in hexadecimal. It answers with a line of JSON and the bytes of
the view. It is started as a module, so that a user's script needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from superproto.pictures.encoders import View
from superproto.pictures.images import Decoded, Unusable, decode, read_content

SECONDS_PER_FILE = 60.0
_MOST_MEMORY = 1200 * 2**20
_AHEAD = 8


_TIMEOUT, _CRASH = f"decoding took longer than {SECONDS_PER_FILE:.0f} s", "the decoder crashed"


def may_pass(reason: str) -> bool:
    """Whether the reason may be gone in the next run. The file is then tried again."""
    return reason in (_TIMEOUT, _CRASH) or reason.startswith("it cannot be read")


@contextmanager
def decoding_pool(folder: Path, view: View, n_processes: int) -> Iterator[DecodingPool]:
    """A pool of processes that decode files of the folder. They end with the `with` block."""
    pool = DecodingPool(folder, view, n_processes)
    try:
        yield pool
    finally:
        pool.close()


class DecodingPool:
    """Decoding processes. A thread waits for each."""

    def __init__(self, folder: Path, view: View, n_processes: int) -> None:
        self._folder, self._view = folder, view
        self._threads = ThreadPoolExecutor(n_processes)
        self._workers = [_Worker() for _ in range(n_processes)]
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._n_waiting = _AHEAD * n_processes

    def map(self, paths: Iterable[str]) -> Iterator[tuple[str, Decoded | str]]:
        """Yield each path with its decoded picture, or with the reason why it cannot be used."""
        waiting: deque[tuple[str, Future[Decoded | str]]] = deque()
        for path in paths:
            waiting.append((path, self._threads.submit(self._decode, path)))
            if len(waiting) >= self._n_waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        for first, future in waiting:
            yield first, future.result()

    def close(self) -> None:
        """Stop all processes immediately."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.stop()
        self._threads.shutdown(wait=True)

    def _decode(self, path: str) -> Decoded | str:
        worker = self._idle.get()
        try:
            return worker.decode(os.path.join(self._folder, path), self._view)
        finally:
            self._idle.put(worker)


class _Worker:
    """A decoding process. It is started on first use, and restarted after it ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def decode(self, path: str, view: View) -> Decoded | str:
        process = self._running()
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(SECONDS_PER_FILE, stop)
        timer.daemon = True
        timer.start()
        try:
            return _ask(process, path, view)
        except (OSError, ValueError, EOFError):
            self._end()
            return _TIMEOUT if late.is_set() else _CRASH
        finally:
            timer.cancel()

    def stop(self) -> None:
        self._stopped = True
        self._end()

    def _end(self) -> None:
        """End the process and close its pipes."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        if self._stopped:
            raise OSError("the pool is closed")
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "superproto.pictures.decoding"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
        return self._process


def _ask(process: subprocess.Popen[bytes], path: str, view: View) -> Decoded | str:
    requests, answers = process.stdin, process.stdout
    if requests is None or answers is None:
        raise EOFError
    requests.write(json.dumps([os.fsencode(path).hex(), view.side, view.crop]).encode() + b"\n")
    requests.flush()
    line = answers.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    answer = json.loads(line)
    if "reason" in answer:
        return str(answer["reason"])
    wanted = 3 * view.side**2
    content = answers.read(wanted)
    if len(content) != wanted:
        raise EOFError
    pixels = np.frombuffer(content, np.uint8).reshape(view.side, view.side, 3)
    return Decoded(answer["content"], pixels, answer["fingerprint"])


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until the input ends."""
    for line in requests:
        name, side, crop = json.loads(line)
        answer, pixels = _answer(os.fsdecode(bytes.fromhex(name)), side, crop)
        answers.write(json.dumps(answer).encode() + b"\n" + pixels)
        answers.flush()


def _answer(path: str, side: int, crop: float) -> tuple[dict[str, Any], bytes]:
    try:
        found = decode(read_content(path), side, crop)
    except Unusable as problem:
        return {"reason": str(problem)}, b""
    except MemoryError:
        return {"reason": "decoding needs too much memory"}, b""
    return {"content": found.content, "fingerprint": found.fingerprint}, np.ascontiguousarray(found.view).tobytes()


def _limit_memory() -> None:
    """Limit the memory of this process, on systems that support it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


if __name__ == "__main__":
    import signal

    # Ctrl-C reaches all processes of the group. The parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory()
    serve(sys.stdin.buffer, sys.stdout.buffer)
