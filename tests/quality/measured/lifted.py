"""Thread blocks as fast as any link, to show what their limit costs. To be imported before anything else of syccl."""

from __future__ import annotations

from syccl.simulate import cost

cost.THREAD_BLOCK_RATE = 1e15


def lifted(seed: int, op: str) -> float:
    """Return the program of a random graph over its bound where thread blocks are as fast as links."""
    from tests.quality.measured.random_graph import outcome

    return outcome(seed, op).program
