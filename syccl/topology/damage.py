"""What if a part dies or slows down: a topology without it, or with half of its bandwidth; and a subset of its GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from syccl.errors import InputError
from syccl.topology.elements import element_of
from syccl.topology.model import Topology


def degraded(topology: Topology, *, without: Sequence[str] = (), halved: Sequence[str] = ()) -> Topology:
    """Return a topology without some parts and with half the bandwidth of others (see ``elements.GRAMMAR``).

    The ranks of GPUs after a removed one move down.

    Raises
    ------
    InputError
        When a text names nothing, a part is removed and halved, or no GPU is left.
    """
    if not without and not halved:
        return topology
    gone = [element_of(topology, text) for text in without]
    slow = [element_of(topology, text) for text in halved]
    removed = {link for element in gone for link in element.links}
    slowed = {link for element in slow for link in element.links}
    both = next((element.text for element in slow if element.links and set(element.links) <= removed), None)
    if both is not None:
        msg = f"{both!r} is removed and cannot be halved as well; drop one of the two options"
        raise InputError(msg)
    halves = tuple(
        link._replace(rate=max(1, link.rate // 2)) if i in slowed else link for i, link in enumerate(topology.links)
    )
    nodes = {element.node for element in gone if element.node is not None}
    left = kept(replace(topology, links=halves), nodes=nodes, links=removed)
    return replace(left, name=f"{topology.name}-degraded")


def subset(topology: Topology, ranks: Iterable[int]) -> Topology:
    """Return a topology with some of its GPUs, in their old order; NICs and switches stay.

    Raises
    ------
    InputError
        When a rank is out of range or none is left.
    """
    wanted = set(ranks)
    strange = sorted(rank for rank in wanted if not 0 <= rank < topology.ranks)
    if strange:
        msg = f"rank {strange[0]} is not in {topology.name}; choose from 0..{topology.ranks - 1}"
        raise InputError(msg)
    return kept(topology, nodes={node for rank, node in enumerate(topology.gpus) if rank not in wanted}, links=set())


def kept(topology: Topology, *, nodes: set[int], links: set[int]) -> Topology:
    """Return a topology without some nodes, the links that touch them, and some links."""
    stay = [i for i in range(len(topology.nodes)) if i not in nodes]
    at = {old: new for new, old in enumerate(stay)}
    left = tuple(
        link._replace(src=at[link.src], dst=at[link.dst])
        for i, link in enumerate(topology.links)
        if i not in links and link.src in at and link.dst in at
    )
    if not any(topology.is_gpu(node) for node in stay):
        msg = f"no GPU of {topology.name} is left; keep at least one"
        raise InputError(msg)
    return Topology(topology.name, tuple(topology.nodes[i] for i in stay), left, topology.profile)
