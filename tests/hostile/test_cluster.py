"""A cluster that dies, and one that others must not reach."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from builders import small_task
from superproto import HPL
from superproto.errors import UserError

pytestmark = pytest.mark.extra


def _listening():
    import psutil

    own = psutil.Process()
    processes = [own, *own.children(recursive=True)]
    return {link.laddr.port for one in processes for link in one.net_connections() if link.status == "LISTEN"}


def test_a_local_cluster_listens_on_no_port_and_starts_no_process():
    import psutil

    from superproto.samples.readers.dask import on_cluster

    task, before = small_task(), _listening()
    processes = len(psutil.Process().children(recursive=True))
    with on_cluster(task.X, "local") as X:
        assert _listening() == before
        assert len(psutil.Process().children(recursive=True)) == processes
        there = HPL(max_iter=3).fit(X, task.y, semantics=task.semantics)
    here = HPL(max_iter=3).fit(task.X, task.y, semantics=task.semantics)
    np.testing.assert_array_equal(there.transduction_, here.transduction_)


SCHEDULER = """
import asyncio
from distributed import Scheduler, Worker
async def run():
    async with Scheduler(port=0, dashboard=False, dashboard_address=":0", host="127.0.0.1") as s:
        async with Worker(s.address, nthreads=1):
            print(s.address, flush=True)
            await s.finished()
asyncio.run(run())
"""


def test_the_death_of_the_scheduler_is_an_error_within_seconds():
    from dask import delayed

    from superproto.samples.readers.dask import connect, delayed_rows

    process = subprocess.Popen([sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        task = small_task()

        def kill(_):
            os.kill(process.pid, signal.SIGKILL)

        start = time.monotonic()
        with connect(address):
            rows = delayed_rows([delayed(task.X)], [len(task.X)], task.X.shape[1], task.X.dtype)
            model = HPL(max_iter=50, tol=0, callback=kill)
            with pytest.raises(UserError, match=r"scheduler at tcp.* no longer answers"):
                model.fit(rows, task.y, semantics=task.semantics)
        assert time.monotonic() - start < 40
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
