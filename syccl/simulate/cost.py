"""What a runtime's wire protocol and thread blocks cost: constants with their sources, and the chunk loop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from syccl.errors import InputError

THREAD_BLOCK_RATE = 20e9
"""What one thread block moves, bytes per second.

NCCL's own figure for one channel on Volta and Ampere (``perChMaxRingLL128Bws`` in NCCL 2.30 ``src/graph/tuning.cc``).
"""

MAX_COUNT = 71
"""Most chunks in one message: the executors refuse ``cnt`` of 72 and more (``MSCCL_MAX_COUNT``)."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A wire protocol of NCCL as the MSCCL executors use it.

    Sizes follow from NCCL's ``src/include/device.h`` and ``src/init.cc`` with default buffers; each connection has
    ``NCCL_STEPS`` = 8 buffer slots.
    """

    name: str
    message_bytes: int
    """Most payload of one message; larger chunks loop."""
    depth: int
    """Messages that a connection holds before its sender must wait."""
    slices: int
    """Parts of a message that are handed on separately."""
    wire_factor: float
    """Bytes on the wire, and through a thread block, for one byte of payload."""


PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        # 4 MiB buffer; a message takes 2 slices of 2 slots, so half the buffer.
        Protocol("Simple", message_bytes=2 << 20, depth=2, slices=2, wire_factor=1.0),
        # 8 slots of 512 threads x 8 lines of 16 bytes, of which 8 are flags.
        Protocol("LL", message_bytes=32 << 10, depth=8, slices=1, wire_factor=2.0),
        # 8 slots of 640 threads x 120 elements of 8 bytes; one 8-byte word in 16 is a flag.
        Protocol("LL128", message_bytes=576_000, depth=8, slices=1, wire_factor=16 / 15),
    )
}


class Loop(NamedTuple):
    """How a runtime cuts chunks into messages."""

    iterations: int
    """Times that the whole program repeats."""
    chunk_bytes: float
    """Part of a chunk that one iteration moves."""
    chunks_per_message: int
    """Most chunks of one step that travel in one message."""


def protocol_named(name: str) -> Protocol:
    """Return the protocol of that exact name.

    Raises
    ------
    InputError
        When there is no such protocol.
    """
    if name not in PROTOCOLS:
        msg = f"unknown protocol {name!r}; choose one of {', '.join(PROTOCOLS)}"
        raise InputError(msg)
    return PROTOCOLS[name]


def chunk_loop(chunk_bytes: float, protocol: Protocol) -> Loop:
    """Return the loop that moves chunks of ``chunk_bytes``, equal parts in every iteration."""
    iterations = max(1, math.ceil(chunk_bytes / protocol.message_bytes))
    part = chunk_bytes / iterations
    fits = int(protocol.message_bytes / part)
    return Loop(iterations, part, min(max(fits, 1), MAX_COUNT))
