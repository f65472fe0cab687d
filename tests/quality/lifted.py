"""Makes thread blocks as fast as any link in this process, to show what their limit costs."""

from __future__ import annotations

from syccl.simulate import cost


def lift() -> None:
    """To be called before anything else of syccl is imported."""
    cost.THREAD_BLOCK_RATE = 1e15
