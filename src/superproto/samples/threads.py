"""READ: how many threads of the linear algebra library a fit uses."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

# Multiplications below which a fit uses one thread. Threads that wait for each other on a busy machine cost many times
# what a second one gains on products as small as this.
SMALL_WORK = 2**36


def threads_for(work: float) -> AbstractContextManager[Any]:
    """One thread for so many multiplications, or as many as the library is set to use where they are many."""
    if work >= SMALL_WORK:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")  # type: ignore[no-any-return]
