"""Runtimes as data: what a program may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """Limits of a runtime, per rank unless said otherwise."""

    name: str
    steps: int
    """Steps of a thread block, no-ops included."""
    blocks: int
    """Thread blocks; all of them spin, so all must fit on the GPU's SMs at once."""
    channels: int
    peers: int
    """Thread blocks of a rank that send, or that receive, on one channel."""
    awaited_blocks: int
    """Thread blocks that steps of others can wait for."""
    nodes: int
    """XML elements that its parser holds: the root, all ranks, and one rank's own blocks and steps."""
    chunks: int
    """Chunks in a buffer."""


EXECUTOR = Target(
    name="msccl-executor-nccl",
    steps=64,  # MSCCL_MAX_NUM_STEPS
    blocks=108,  # SMs of an A100, the fewest of the GPUs it runs on
    channels=32,  # MAXCHANNELS
    peers=32,  # the executor's table of peers of a channel
    awaited_blocks=128,  # depid is int8 in the device struct
    nodes=4095,
    chunks=32768,  # int16 in the device struct
)
"""Azure/msccl-executor-nccl at c6f6b36, the executor most used today."""
