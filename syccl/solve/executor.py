"""Independent pieces of work, one after another or on several processes, with the same results in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


_MOST_JOBS = 16
"""There is never more to do at the same time."""


def ordered_results(work: Callable[[Item], Result], items: Sequence[Item], *, jobs: int) -> Iterator[Result]:
    """Yield ``work(item)`` for every item in order; lazily with one job.

    With more jobs joblib runs them, on the backend that the caller set up (``joblib.parallel_config``): local processes
    by default, Dask or Ray on a cluster. ``work`` and items must then be picklable.
    """
    jobs = min(jobs, len(items), _MOST_JOBS)
    if jobs <= 1:
        yield from map(work, items)
        return
    from joblib import Parallel, delayed

    with Parallel(n_jobs=jobs) as pool:
        # In rounds, so that a caller who has seen enough leaves no unfinished work behind.
        for start in range(0, len(items), jobs):
            yield from pool(delayed(work)(item) for item in items[start : start + jobs])
