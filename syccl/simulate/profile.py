"""Cost profiles: what thread blocks, protocols and links of one kind of machine cost beside bandwidth and latency.

A topology may name one. Without a profile a program costs the bandwidths and latencies of its links and what its thread
blocks move at ``THREAD_BLOCK_RATE``, nothing else. ``docs/calibration.md`` says how the values were found, and how far
they are from what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.simulate.cost import THREAD_BLOCK_RATE, Protocol
from syccl.topology import Kind, Topology


@dataclass(frozen=True, slots=True)
class ProtocolCosts:
    """What a wire protocol costs on a machine."""

    thread_block_rate: float
    """What one thread block sends or receives, bytes on the wire per second."""
    slices: int
    """Parts of a message that are handed on separately."""
    step_s: float
    """That a step occupies its thread block before its bytes move, seconds: barriers, fences, flags."""
    hop_s: float
    """From the last byte of a message to its arrival, beside the latency of the links, seconds."""
    network_hop_s: float
    """The same where the message passes a network: proxies, NICs."""


@dataclass(frozen=True)
class Profile:
    """Costs of one kind of machine, with where they come from."""

    name: str
    source: str
    launch_s: float
    """From the call to the first step, seconds."""
    wait_s: float
    """That a step takes longer when it waits for steps of other thread blocks, seconds."""
    link_efficiency: float
    """Share of the stated bandwidth that links inside a server carry."""
    network_efficiency: float
    """The same for the links of NICs, and between switches."""
    protocols: tuple[tuple[str, ProtocolCosts], ...]
    """By the protocol's name."""


_NCCL = "NCCL 2.30 src/graph/tuning.cc"
_US = 1e-6

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            "a100",
            f"nccl-tests on 8 x A100 and 2 x DGX A100; {_NCCL}",
            launch_s=27 * _US,
            wait_s=0.0,
            link_efficiency=0.80,
            network_efficiency=0.95,
            protocols=(
                ("Simple", ProtocolCosts(20e9, 2, 8.0 * _US, 0.0, 14 * _US)),
                ("LL", ProtocolCosts(2.7e9, 8, 0.0, 0.0, 2.7 * _US)),
                ("LL128", ProtocolCosts(20e9, 8, 3.4 * _US, 0.0, 4.0 * _US)),
            ),
        ),
        Profile(
            "h100",
            f"nccl-tests on 2 x 8 H200 with RoCE; {_NCCL}",
            launch_s=39 * _US,
            wait_s=0.0,
            link_efficiency=0.82,
            network_efficiency=0.96,
            protocols=(
                ("Simple", ProtocolCosts(20e9, 2, 0.4 * _US, 0.0, 14 * _US)),
                ("LL", ProtocolCosts(3.35e9, 8, 0.0, 0.0, 2.7 * _US)),
                ("LL128", ProtocolCosts(20e9, 8, 1.6 * _US, 0.0, 4.0 * _US)),
            ),
        ),
        Profile(
            "mi300x",
            "MSCCL executor of RCCL on 8 x MI300X (rouge3877/ns3-msccl-data, Validation/SingleCollective)",
            launch_s=6.5 * _US,
            wait_s=0.96 * _US,
            link_efficiency=0.934,
            network_efficiency=0.89,
            protocols=(
                ("Simple", ProtocolCosts(21.4e9, 2, 2.3 * _US, 1.8 * _US, 14 * _US)),
                ("LL", ProtocolCosts(6.9e9, 8, 0.83 * _US, 0.63 * _US, 2.7 * _US)),
                ("LL128", ProtocolCosts(4.6e9, 8, 0.9 * _US, 1.0 * _US, 4.0 * _US)),
            ),
        ),
        Profile(
            "generic",
            f"{_NCCL}: its own figures for Ampere, one hop in two steps; link efficiencies usual for NCCL",
            launch_s=6.8 * _US,
            wait_s=1.0 * _US,
            link_efficiency=0.80,
            network_efficiency=0.95,
            protocols=(
                ("Simple", ProtocolCosts(20e9, 2, 1.7 * _US, 1.7 * _US, 14 * _US)),
                ("LL", ProtocolCosts(20e9, 8, 0.3 * _US, 0.3 * _US, 2.7 * _US)),
                ("LL128", ProtocolCosts(20e9, 8, 0.9 * _US, 1.0 * _US, 4.0 * _US)),
            ),
        ),
    )
}
"""By name; the same names as ``topology.model.PROFILE_NAMES``."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What the simulator charges for one protocol on one topology; times in seconds, rates in bytes per second."""

    thread_block_rate: float
    local_rate: float
    slices: int
    step_s: float = 0.0
    hop_s: float = 0.0
    network_hop_s: float = 0.0
    wait_s: float = 0.0
    launch_s: float = 0.0

    @property
    def charges_steps(self) -> bool:
        """Whether steps cost anything beside the bytes that they move."""
        return self.step_s > 0 or self.wait_s > 0


def profile_of(topology: Topology) -> Profile | None:
    """Return the profile that a topology names, None where it names none."""
    return PROFILES[topology.profile] if topology.profile else None


def cost_words(name: str) -> str:
    """Return what is charged under the profile of a name, or under none where the name is empty."""
    if not name:
        return "no cost profile: bandwidths and latencies of links, 20 GB/s a thread block"
    return f"profile {name}: {PROFILES[name].source}"


def costs_of(topology: Topology, protocol: Protocol) -> Costs:
    """Return what a protocol costs on a topology."""
    profile = profile_of(topology)
    if profile is None:
        return Costs(THREAD_BLOCK_RATE, THREAD_BLOCK_RATE, protocol.slices)
    known = dict(profile.protocols)
    own = known[protocol.name]
    return Costs(
        own.thread_block_rate,
        known["Simple"].thread_block_rate,
        own.slices,
        own.step_s,
        own.hop_s,
        own.network_hop_s,
        profile.wait_s,
        profile.launch_s,
    )


def network_links(topology: Topology) -> NDArray[np.bool_]:
    """Return which links belong to a network: an end is a NIC, or none is a GPU; shape ``(links,)``."""
    kinds = [node.kind for node in topology.nodes]
    ends = [(kinds[link.src], kinds[link.dst]) for link in topology.links]
    return np.array([Kind.NIC in pair or Kind.GPU not in pair for pair in ends], dtype=np.bool_)


def carried_rates(topology: Topology) -> NDArray[np.float64]:
    """Return what every link carries in bytes per second, shape ``(links,)``."""
    profile = profile_of(topology)
    if profile is None:
        return topology.link_rates
    share = np.where(network_links(topology), profile.network_efficiency, profile.link_efficiency)
    return topology.link_rates * share


def overheads(costs: Costs, joined: Sequence[bool], waits: Sequence[bool]) -> list[float]:
    """Return the seconds that each task occupies its block before its bytes move; none where nothing is charged.

    Parameters
    ----------
    joined
        Of each task, whether the runtime does it in one go with the one before.
    waits
        Of each task, whether it waits for tasks of other blocks.
    """
    if not costs.charges_steps:
        return []
    return [
        0.0 if one else costs.step_s + (costs.wait_s if waiting else 0.0)
        for one, waiting in zip(joined, waits, strict=True)
    ]
