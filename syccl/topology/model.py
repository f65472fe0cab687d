"""The cluster: GPUs, NICs and switches joined by directed links."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InputError
from syccl.units import LARGEST_LATENCY_PS, LARGEST_RATE


class Kind(Enum):
    """What a node is: only GPUs store data, everything else cuts through."""

    GPU = "gpu"
    NIC = "nic"
    SWITCH = "switch"


ABILITIES = ("multicast", "reduce")
"""What a switch may be able to do in the network: copy what it gets to several receivers, sum what several send
(NVLS of NVSwitches, SHARP of InfiniBand)."""
WHOLE = 1000
PROFILE_NAMES = ("a100", "h100", "mi300x", "generic")
"""What a topology may call the costs of its machines; ``simulate.profile`` has the values."""


class Traits(NamedTuple):
    """What some nodes have beside links; plans do not use it, see ``features.unused_features``."""

    abilities: tuple[str, ...] = ()
    """Of a switch, some of ``ABILITIES``, sorted."""
    plane: str = ""
    """Label of the plane of a switch or NIC, where a fabric has several."""
    device: str = ""
    """Of a GPU that is one of several instances of a physical one: the name of that."""
    share_permille: int = WHOLE
    """Of such an instance: its share of the physical GPU."""


PLAIN = Traits()


class Node(NamedTuple):
    """A GPU, NIC or switch; ``server`` is a label for people and decides nothing."""

    name: str
    kind: Kind
    server: str = ""
    traits: Traits = PLAIN

    @property
    def look(self) -> tuple[str, tuple[str, ...], int]:
        """What two nodes must have in common to be alike: kind, abilities and share."""
        return self.kind.value, self.traits.abilities, self.traits.share_permille


class Link(NamedTuple):
    """One direction of a cable or lane bundle, between two node ids."""

    src: int
    dst: int
    rate: int
    """Bandwidth, bytes per second."""
    latency_ps: int
    """Wire latency, picoseconds."""


@dataclass(frozen=True, eq=False)
class Topology:
    """A directed multigraph of nodes and links; ids are positions in the tuples.

    Rank ``i`` is the ``i``-th GPU in node order. ``profile`` names one of ``PROFILE_NAMES``, or is empty.

    Raises
    ------
    InputError
        When names repeat, are empty or cannot be printed, the profile is unknown, a link joins unknown nodes or a node
        to itself or is beyond the limits of ``units``, or there is no GPU.
    """

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    profile: str = ""

    def __post_init__(self) -> None:
        """Check the invariants that every other module relies on."""
        seen: set[str] = set()
        if not self.name.isprintable():
            msg = f"topology name {self.name!r} has characters that cannot be printed; name it otherwise"
            raise InputError(msg)
        if self.profile and self.profile not in PROFILE_NAMES:
            msg = f"topology {self.name!r}: unknown cost profile {self.profile!r}; choose {', '.join(PROFILE_NAMES)}"
            raise InputError(msg)
        for node in self.nodes:
            if not (node.name and (node.name + node.server).isprintable()):
                msg = f"topology {self.name!r}: {node} must have a name; names and servers are printable text"
                raise InputError(msg)
            if node.name in seen:
                msg = f"topology {self.name!r}: node name {node.name!r} is used twice; names must differ"
                raise InputError(msg)
            seen.add(node.name)
        if not any(node.kind is Kind.GPU for node in self.nodes):
            msg = f"topology {self.name!r} has no GPU; declare at least one"
            raise InputError(msg)
        for node in self.nodes:
            self._check_traits(node)
        for link in self.links:
            self._check_link(link)

    def _check_traits(self, node: Node) -> None:
        traits = node.traits
        if traits is PLAIN:
            return
        strange = [ability for ability in traits.abilities if ability not in ABILITIES]
        if strange or (traits.abilities and node.kind is not Kind.SWITCH):
            what = ", ".join(strange or traits.abilities)
            msg = f"topology {self.name!r}: {node.kind.value} {node.name!r} cannot {what}"
            raise InputError(f"{msg}; a switch may {' and '.join(ABILITIES)}")
        instance = traits.device or traits.share_permille != WHOLE
        if (instance and node.kind is not Kind.GPU) or not 1 <= traits.share_permille <= WHOLE:
            msg = f"topology {self.name!r}: {node.name!r}: only a GPU is a share of a device, from 0.1% to 100%"
            raise InputError(msg)

    @cached_property
    def looks(self) -> NDArray[np.int64]:
        """Number of each node's look, equal for nodes that may be alike; shape ``(nodes,)``."""
        numbers = {look: i for i, look in enumerate(sorted({node.look for node in self.nodes}))}
        return np.array([numbers[node.look] for node in self.nodes], dtype=np.int64)

    def _check_link(self, link: Link) -> None:
        n = len(self.nodes)
        if not (0 <= link.src < n and 0 <= link.dst < n) or link.src == link.dst:
            msg = f"topology {self.name!r}: {link} must join two different nodes with ids 0..{n - 1}"
            raise InputError(msg)
        if link.rate <= 0 or link.latency_ps < 0:
            ends = f"{self.nodes[link.src].name}->{self.nodes[link.dst].name}"
            msg = f"topology {self.name!r}: link {ends} needs a positive bandwidth and a latency of 0 or more"
            raise InputError(msg)
        if link.rate > LARGEST_RATE or link.latency_ps > LARGEST_LATENCY_PS:
            ends = f"{self.nodes[link.src].name}->{self.nodes[link.dst].name}"
            msg = f"topology {self.name!r}: link {ends} has more than {LARGEST_RATE:.0e} B/s or than 1000 s of latency"
            raise InputError(msg)

    @cached_property
    def gpus(self) -> tuple[int, ...]:
        """Node id of every rank."""
        return tuple(i for i, node in enumerate(self.nodes) if node.kind is Kind.GPU)

    @cached_property
    def rank_of(self) -> dict[int, int]:
        """Rank of every GPU's node id."""
        return {node: rank for rank, node in enumerate(self.gpus)}

    @property
    def ranks(self) -> int:
        """Number of GPUs."""
        return len(self.gpus)

    @cached_property
    def out_links(self) -> tuple[tuple[int, ...], ...]:
        """Link ids that leave each node, ascending."""
        table: list[list[int]] = [[] for _ in self.nodes]
        for i, link in enumerate(self.links):
            table[link.src].append(i)
        return tuple(map(tuple, table))

    @cached_property
    def in_links(self) -> tuple[tuple[int, ...], ...]:
        """Link ids that enter each node, ascending."""
        table: list[list[int]] = [[] for _ in self.nodes]
        for i, link in enumerate(self.links):
            table[link.dst].append(i)
        return tuple(map(tuple, table))

    @cached_property
    def link_rates(self) -> NDArray[np.float64]:
        """Bandwidth of every link in bytes per second, shape ``(links,)``."""
        return np.array([link.rate for link in self.links], dtype=np.float64)

    @cached_property
    def link_latencies_s(self) -> NDArray[np.float64]:
        """Latency of every link in seconds, shape ``(links,)``."""
        return np.array([link.latency_ps for link in self.links], dtype=np.float64) * 1e-12

    def is_gpu(self, node: int) -> bool:
        """Return whether a node id is a GPU."""
        return self.nodes[node].kind is Kind.GPU

    def link_name(self, link: int) -> str:
        """Return ``src->dst`` for people."""
        return f"{self.nodes[self.links[link].src].name}->{self.nodes[self.links[link].dst].name}"
