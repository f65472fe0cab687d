"""Small fabrics for tests of paths."""

from __future__ import annotations

from collections.abc import Sequence

from syccl.topology.model import Kind, Link, Node, Topology

RATE = 10**9


def leaf_spine(leaves: int, each: int, spines: int, rates: Sequence[int] = ()) -> Topology:
    """Leaves with single-GPU servers, every leaf on every spine; ``rates`` are those of the spines' links."""
    gpus = leaves * each
    nodes = [Node(f"gpu{i}", Kind.GPU, f"s{i}") for i in range(gpus)]
    nodes += [Node(f"nic{i}", Kind.NIC, f"s{i}") for i in range(gpus)]
    nodes += [Node(f"leaf{i}", Kind.SWITCH) for i in range(leaves)]
    nodes += [Node(f"spine{i}", Kind.SWITCH) for i in range(spines)]
    cables = [(i, gpus + i, 100 * RATE) for i in range(gpus)]
    cables += [(gpus + i, 2 * gpus + i // each, 100 * RATE) for i in range(gpus)]
    first = 2 * gpus + leaves
    cables += [
        (2 * gpus + leaf, first + spine, (rates or [RATE] * spines)[spine])
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    links = [Link(*ends, rate, 0) for a, b, rate in cables for ends in ((a, b), (b, a))]
    return Topology("leaf-spine", tuple(nodes), tuple(links))
