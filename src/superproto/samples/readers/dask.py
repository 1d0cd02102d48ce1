"""READ on a cluster: Dask arrays and delayed readers, with the workers of ``distributed``.

A pass sends its function, with the small arrays bound in it, to the cluster once. Workers copy it from each other and
run it where the chunks are. They add the results up in a tree, so that the caller receives small arrays only. If a
worker dies, Dask repeats the tasks of that worker on another. Chunks of ``X`` are read again in every pass; chunks of
``X.persist()`` stay in the memory of the workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from superproto.errors import UserError
from superproto.samples.chunks import Array, ChunkedRows, chunk_length, unreadable, working_dtype
from superproto.samples.readers.on_disk import ChunkRows, Sliced, Source, open_rows

ATTEMPTS = 3
# A scheduler that does not answer for this long counts as dead.
SCHEDULER_SECONDS = 5.0
FAN_IN = 8


def dask_rows(X: Any) -> ChunkedRows:
    """Return the rows of a Dask array. The ``distributed`` client visits them; without one, this process."""
    if X.ndim != 2:
        raise UserError(f"X has shape {X.shape}. Give a matrix: one row per sample.")
    if any(np.isnan(length) for length in X.chunks[0]):
        raise UserError("X is a Dask array of unknown length. Call X.compute_chunk_sizes() first.")
    X = X.rechunk({1: -1})
    return delayed_rows(X.to_delayed().ravel(), X.chunks[0], X.shape[1], X.dtype)


def delayed_rows(readers: Sequence[Any], lengths: Sequence[int], n_columns: int, dtype: DTypeLike) -> ChunkedRows:
    """Return the rows of ``dask.delayed`` readers, each of which returns one chunk of known length."""
    source = Delayed(list(readers), [int(length) for length in lengths], int(n_columns), working_dtype(dtype))
    return ChunkRows(source) if current_client() is None else ClusterRows(source)


@contextmanager
def connect(address: str | None = None, n_workers: int = 2) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start a local cluster that lasts as long as the block.

    The local cluster consists of threads of this process. It opens no port, because anybody who can connect to a
    scheduler can run code.
    """
    try:
        from distributed import Client
    except ImportError:
        raise UserError('A cluster needs Dask: pip install "superproto[scale]".') from None
    if address is not None:
        try:
            client = Client(address, timeout=5)
        except (OSError, ValueError) as error:
            raise UserError(f"No Dask scheduler answers at {address} ({error}). Check the address.") from None
        with client:
            yield client
        return
    with local_cluster(n_workers) as cluster, Client(cluster) as client:
        yield client


def local_cluster(n_workers: int) -> Any:
    """Start a scheduler and workers in this process, without any open port."""
    from distributed import Scheduler, SpecCluster, Worker

    def without_http(self: Any, routes: Any, *_: Any, **__: Any) -> None:
        from distributed.http.routing import RoutingApplication
        from tornado.httpserver import HTTPServer

        self.http_application = RoutingApplication(routes)
        self.http_server = HTTPServer(self.http_application)
        self.http_server.address, self.http_server.port = "", 0

    scheduler = type("PortlessScheduler", (Scheduler,), {"start_http_server": without_http})
    worker = type("PortlessWorker", (Worker,), {"start_http_server": without_http})
    inside = {"protocol": "inproc://", "dashboard": False}
    workers = {name: {"cls": worker, "options": {**inside, "nthreads": 1}} for name in range(n_workers)}
    return SpecCluster(workers=workers, scheduler={"cls": scheduler, "options": inside})


@contextmanager
def on_cluster(X: Array, address: str | None) -> Iterator[Any]:
    """Distribute an array to the workers of a cluster ("local": on this machine); yield it unchanged for None."""
    if address is None:
        yield X
        return
    with connect(None if address == "local" else address):
        from dask import array

        step = chunk_length(X.shape[1], X.dtype.itemsize)
        # Use at least eight chunks, so that every worker gets some.
        yield array.from_array(X, chunks=(min(step, max(1, len(X) // 8)), X.shape[1])).persist()


@contextmanager
def file_on_cluster(path: str | os.PathLike[str], address: str | None) -> Iterator[ChunkedRows]:
    """Yield the rows of a file. The workers of a cluster (this process for None) read them in every pass."""
    rows = open_rows(path)
    if address is None:
        yield rows
        return
    with connect(None if address == "local" else address):
        from dask import delayed

        source, read = _source_of(rows), delayed(_read_chunk, pure=False)
        place = os.path.abspath(path)
        readers = [read(place, number) for number in range(len(source.lengths))]
        yield delayed_rows(readers, source.lengths, source.n_columns, source.dtype)


def _source_of(rows: Any) -> Source:
    source: Source = rows.source if isinstance(rows, ChunkRows) else Sliced(rows.array)
    return source


def _read_chunk(path: str, number: int) -> Array:
    """Read one chunk of a file on a worker. Every worker must be able to open the file."""
    return np.asarray(next(iter(_source_of(open_rows(path)).read([number]))))


def current_client() -> Any:
    """Return the process's ``distributed`` client, or None."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


def answered(client: Any, futures: Any) -> Any:
    """Wait for futures and return their results; raise within seconds if the scheduler is gone."""
    from concurrent.futures import CancelledError

    from distributed import TimeoutError, wait

    address = getattr(client.scheduler, "address", "?")
    away_since: float | None = None
    while True:
        try:
            wait(futures, timeout=1)
            return client.gather(futures)
        except TimeoutError:
            now = monotonic()
            away_since = None if _is_connected(client) else away_since or now
            if away_since is not None and now - away_since > SCHEDULER_SECONDS:
                raise _gone(address) from None
        except CancelledError:
            if not _is_connected(client):
                raise _gone(address) from None
            raise


def _is_connected(client: Any) -> bool:
    link = client.scheduler_comm
    return client.status == "running" and link is not None and not link.comm.closed()


def _gone(address: str) -> UserError:
    return UserError(
        f"The Dask scheduler at {address} no longer answers. Start it and its workers again; a fit with checkpoint= "
        "resumes at its last iteration."
    )


class Delayed:
    """Chunks that are read by ``dask.delayed`` objects."""

    def __init__(self, readers: list[Any], lengths: list[int], n_columns: int, dtype: np.dtype[Any]) -> None:
        self.readers = readers
        self.lengths = lengths
        self.n_columns = n_columns
        self.dtype = dtype

    def read(self, wanted: Sequence[int]) -> Iterator[Any]:
        for number in wanted:
            yield self.readers[number].compute()


class ClusterRows(ChunkRows):
    """Rows whose chunks are visited by the workers of a cluster."""

    far = True
    source: Delayed

    def select(self, index: Array | None = None, dtype: DTypeLike | None = None) -> ClusterRows:
        plain = super().select(index, dtype)
        return ClusterRows(self.source, plain.index, plain.dtype)

    def visit(self, function: Callable[..., tuple[Any, ...]], *aligned: Array) -> Iterator[tuple[Any, ...]]:
        return _Visit(self, function, aligned)

    def tasks(self, function: Any, aligned: Sequence[Array]) -> list[Any]:
        """Return one delayed task for each chunk that has selected rows."""
        from dask import delayed

        sent = delayed(_unpacked, pure=False)(_Parcel(function))
        run = delayed(_run, pure=False)
        return [
            run(sent, self.source.readers[number], local, self.dtype, [values[place] for values in aligned])
            for number, place, local in self.parts()
        ]

    def blame(self, client: Any, error: Exception) -> UserError | Exception:
        """Return an error that names the chunk that cannot be read; the given error if all can be read."""
        from dask import delayed

        for number, _, _ in self.parts():
            start, stop = int(self.edges[number]), int(self.edges[number + 1])
            try:
                shape = answered(client, client.compute(delayed(np.shape)(self.source.readers[number])))
            except UserError as gone:
                return gone
            except Exception as cause:
                return unreadable(number, start, stop, cause)
            if tuple(shape) != (stop - start, self.n_columns):
                return unreadable(number, start, stop, ValueError(f"its shape is {shape}"))
        return error


class _Visit:
    """The results of a pass, computed when they are used: one by one, or gathered on the cluster."""

    def __init__(self, rows: ClusterRows, function: Callable[..., Any], aligned: tuple[Array, ...]) -> None:
        self.rows = rows
        self.function = function
        self.aligned = aligned
        self._found: Iterator[tuple[Any, ...]] | None = None

    def __iter__(self) -> _Visit:
        return self

    def __next__(self) -> tuple[Any, ...]:
        if self._found is None:
            self._found = iter(self._persistently(lambda client, tasks: answered(client, client.compute(tasks))))
        return next(self._found)

    def gather(self, concatenated: int) -> tuple[tuple[Array, ...], tuple[Any, ...]]:
        """Concatenate and add up in a tree of tasks, ``FAN_IN`` at a time."""

        def reduce(client: Any, tasks: list[Any]) -> Any:
            from dask import delayed

            merge = delayed(_merge, pure=False)
            level = [merge([task], concatenated) for task in tasks]
            while len(level) > 1:
                level = [merge(level[at : at + FAN_IN], concatenated) for at in range(0, len(level), FAN_IN)]
            return answered(client, client.compute(level[0]))

        found = self._persistently(reduce)
        return tuple(found[:concatenated]), tuple(found[concatenated:])

    def _persistently(self, compute: Callable[[Any, list[Any]], Any]) -> Any:
        """Repeat the pass if a worker died and Dask could not restore its results."""
        from concurrent.futures import CancelledError

        import dask
        from distributed import KilledWorker

        client = current_client()
        if client is None:
            raise UserError("The Dask client was closed before the fit was over. Keep it open while superproto works.")
        for attempt in range(1, ATTEMPTS + 1):
            try:
                # A pass has to send labels, lengths and small arrays, so Dask's warning about size does not apply.
                with dask.config.set({"distributed.admin.large-graph-warning-threshold": "64 GiB"}):
                    return compute(client, self.rows.tasks(self.function, self.aligned))
            except (CancelledError, KilledWorker, OSError) as error:
                if attempt == ATTEMPTS:
                    raise self.rows.blame(client, error) from error
            except UserError:
                raise
            except Exception as error:
                raise self.rows.blame(client, error) from error
        raise AssertionError


class _Parcel:
    """A wrapper that keeps Dask from traversing a function."""

    def __init__(self, function: Any) -> None:
        self.function = function


def _unpacked(parcel: _Parcel) -> Any:
    return parcel.function


def _run(function: Any, chunk: Any, local: Array | None, dtype: Any, aligned: list[Array]) -> tuple[Any, ...]:
    """Apply the function of a pass to the selected rows of one chunk, on a worker."""
    rows = np.asarray(chunk) if local is None else np.asarray(chunk)[local]
    return tuple(function(np.asarray(rows, dtype=dtype), *aligned))


def _merge(results: list[tuple[Any, ...]], concatenated: int) -> tuple[Any, ...]:
    """Concatenate and add up the results of neighboring chunks, in their order, on a worker."""
    lists = tuple(np.concatenate([result[at] for result in results]) for at in range(concatenated))
    total = [np.array(part, dtype=np.float64) for part in results[0][concatenated:]]
    for result in results[1:]:
        for accumulated, part in zip(total, result[concatenated:]):
            accumulated += part
    return (*lists, *total)
