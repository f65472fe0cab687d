"""Which of NCCL's own algorithms is best at which size, as lines for NCCL's example tuner plugin.

The plugin (``plugins/tuner/example`` of NCCL 2.27 to 2.30, file named by ``NCCL_TUNER_CONFIG_FILE``) takes the first
line that matches a call. It knows no unset number of channels: a call without a matching line, or with ``channels``
-1, gets a single channel. So every line states its channels, and every collective that can be tuned has a last line
that matches all sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from syccl.baselines import best_instances
from syccl.baselines.lanes import Laned
from syccl.baselines.ring import ring_lanes
from syccl.baselines.tree import tree_lanes
from syccl.collective import Op, op_named
from syccl.errors import InputError
from syccl.prepare import Prepared
from syccl.simulate.cost import PROTOCOLS
from syccl.units import format_size

BASE_US = {"ring": {"LL": 6.6, "LL128": 14.0, "Simple": 8.4}, "tree": {"LL": 6.8, "LL128": 14.0, "Simple": 8.4}}
HOP_US = {"ring": {"LL": 0.6, "LL128": 1.9, "Simple": 3.4}, "tree": {"LL": 0.6, "LL128": 1.25, "Simple": 4.0}}
NET_US = {"ring": {"LL": 2.7, "LL128": 4.0, "Simple": 14.0}, "tree": {"LL": 5.0, "LL128": 8.5, "Simple": 14.0}}
"""What a call, a hop over NVLink and a hop over the network cost by algorithm and protocol, microseconds.

NCCL 2.30.7, ``src/graph/tuning.cc``: ``baseLat`` and ``hwLat``.
"""
TUNABLE = ("allreduce", "allgather", "reducescatter", "broadcast", "reduce")
"""Collectives that the plugin knows; it takes any other name for allreduce."""
HEADER = "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks"
LONGEST_LINE = 255
RANGE_END = 1.05
"""Where two ways meet is sought to this factor in bytes; their times differ less there."""
_ANY_SIZE = 2**63 - 1
_SIMPLE = "Simple"


@dataclass(frozen=True)
class Way:
    """An algorithm, a protocol and a number of channels of NCCL."""

    algorithm: str
    protocol: str
    channels: int


def require_tunable(op: Op) -> None:
    """Raise unless the plugin knows a collective.

    Raises
    ------
    InputError
        When it does not.
    """
    if op.name not in TUNABLE:
        msg = f"NCCL's tuner plugin does not know {op.name}; it has {', '.join(TUNABLE)}"
        raise InputError(msg)


def tuner_lines(
    prepared: Prepared, sizes: Sequence[int], *, progress: Callable[[str], None] = lambda _: None
) -> Iterator[str]:
    """Yield the lines of a configuration of NCCL's example tuner plugin, each with its line feed.

    Rings and trees as NCCL builds them are simulated under every protocol at every size; NCCL's own figures for what a
    call and a hop cost under each protocol are added, since links alone tell protocols of small calls not apart. They
    are of NVIDIA GPUs. Where two neighbouring sizes differ, sizes between them are tried until a line ends within
    `RANGE_END` of the size from which another way is better.

    Parameters
    ----------
    sizes
        Bytes of the larger buffer of a rank, ascending.

    Raises
    ------
    InputError
        When the plugin does not know the collective, or no ring visits all GPUs.
    """
    op, topology = prepared.op, prepared.topology
    require_tunable(op)

    def best_at(size: int) -> tuple[int, Way]:
        progress(f"rings and trees of NCCL at {format_size(size)}")
        return size, best_way(prepared, op, size)

    coarse = [best_at(size) for size in sizes]
    best = [coarse[0], *(found for pair in pairwise(coarse) for found in refined(best_at, *pair))]
    servers = servers_of(prepared)
    yield f"{HEADER}\n"
    ranges = [(way, list(group)) for way, group in groupby(best, key=lambda pair: pair[1])]
    starts = [0, *(group[0][0] for _, group in ranges[1:])]
    ends = [*(start - 1 for start in starts[1:]), _ANY_SIZE]
    for (way, _), first, last in zip(ranges, starts, ends, strict=True):
        yield _line(op.name, (first, last), way, f"{servers},{topology.ranks}")
    rings = best_way(prepared, op, sizes[-1]).channels
    for name in TUNABLE:
        way = best[-1][1] if name == op.name else Way("ring", _SIMPLE, rings)
        yield _line(name, (0, _ANY_SIZE), way, "-1,-1")


def refined(
    best_at: Callable[[int], tuple[int, Way]], low: tuple[int, Way], high: tuple[int, Way]
) -> Iterator[tuple[int, Way]]:
    """Yield sizes and ways above one size up to another, close together where the way changes.

    Parameters
    ----------
    best_at
        The given size in bytes and the best way at it.
    low, high
        What it returned at two sizes, ascending; ``high`` comes last.
    """
    middle = math.isqrt(low[0] * high[0])
    if low[1] != high[1] and middle > low[0] and high[0] > RANGE_END * low[0]:
        found = best_at(middle)
        yield from refined(best_at, low, found)
        yield from refined(best_at, found, high)
    else:
        yield high


def _line(collective: str, sizes: tuple[int, int], way: Way, ranks: str) -> str:
    fields = (collective, *map(str, sizes), way.algorithm, way.protocol.lower(), str(way.channels), ranks)
    return f"{','.join(fields)}\n"


def best_way(prepared: Prepared, op: Op, size_bytes: int) -> Way:
    """Return the fastest of NCCL's ways at a size: what its handshakes cost, and the simulated transfer.

    Raises
    ------
    InputError
        When there is none.
    """
    timed: list[tuple[float, int, Way]] = []
    for algorithm, laned in _lanes(prepared, op, size_bytes):
        for protocol in PROTOCOLS.values():
            found = best_instances(laned, protocol, size_bytes)
            if found is not None:
                seconds, channels = found
                way = Way(algorithm, protocol.name, channels)
                timed.append((seconds + handshakes_us(prepared, op, way) / 1e6, len(timed), way))
    if not timed:
        msg = f"{prepared.topology.name}: no ring or tree of NCCL's was found for {op.name}"
        raise InputError(msg)
    return min(timed)[2]


def handshakes_us(prepared: Prepared, op: Op, way: Way) -> float:
    """Return what NCCL counts for starting a call and for handing on messages, microseconds."""
    ranks, servers = prepared.topology.ranks, servers_of(prepared)
    base, hop, net = (table[way.algorithm][way.protocol] for table in (BASE_US, HOP_US, NET_US))
    if way.algorithm == "tree":
        return base + 2 * ((ranks // servers - 1) * hop + math.log2(servers) * net)
    phases = 2 if op.source == op.target == "all" else 1
    between = phases * (servers - 1)
    return base + (phases * (ranks - 1) - between) * hop + between * net


def servers_of(prepared: Prepared) -> int:
    """Return the number of servers; one where none is named."""
    return len({prepared.topology.nodes[gpu].server for gpu in prepared.topology.gpus})


def _lanes(prepared: Prepared, op: Op, size_bytes: int) -> Iterator[tuple[str, Laned]]:
    """Yield the rings, and for allreduce, of which alone NCCL has them, the trees."""
    topology, islands, group = prepared.topology, prepared.islands, prepared.symmetry
    ring = ring_lanes(topology, op, islands, group=group)
    if ring is not None:
        yield "ring", ring
    tree = (
        tree_lanes(topology, op, islands, size_bytes=size_bytes, group=group) if op == op_named("allreduce") else None
    )
    if tree is not None:
        yield "tree", tree
