"""READ: how many threads of the linear algebra library a fit uses."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

# Number of multiplications below which a fit uses one thread. For such small products, waiting for other threads on a
# busy machine costs more than a second thread gains.
SMALL_WORK = 2**36


def threads_for(work: float) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread for fewer than ``SMALL_WORK`` multiplications; otherwise change nothing."""
    if work >= SMALL_WORK:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")  # type: ignore[no-any-return]
