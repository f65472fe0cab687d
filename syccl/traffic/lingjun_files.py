"""A jobs file and a fabric of a moment of a trace, with what is assumed where the trace is silent."""

from __future__ import annotations

from dataclasses import dataclass

from syccl.topology import Topology
from syccl.topology.model import Kind, Link, Node
from syccl.traffic.jobs import DEFAULT_GPU_FLOPS
from syccl.traffic.lingjun import GPUS_OF_HOST, Moment, Place, Trace, parameters_of
from syccl.units import LONGEST_S

NICS, NIC_RATE, NVLINK_RATE = 4, 25 * 10**9, 300 * 10**9
SPINES, CORES_OF_SPINE = 8, 4
BYTES_OF_GRADIENT, FLOPS_OF_PARAMETER = 2, 6
_LONGEST_COMMENT = 64


@dataclass(frozen=True)
class Assumed:
    """What a trace does not tell.

    Parameters
    ----------
    parameters
        Of models whose names do not state them.
    tokens
        Of every GPU in an iteration.
    """

    parameters: float = 1e9
    tokens: int = 4096

    def compute_s(self, parameters: float) -> float:
        """Return the seconds of compute of an iteration: 6 FLOPs for a parameter and token."""
        return min(FLOPS_OF_PARAMETER * parameters * self.tokens / DEFAULT_GPU_FLOPS, LONGEST_S)


def fabric(trace: Trace, moment: Moment) -> tuple[Topology, dict[str, int]]:
    """Return the cluster of the hosts that jobs use at a moment, and the number of each host.

    Every host has 8 GPUs on an NVSwitch and 4 NICs of 200 Gb/s, all on its leaf. Leaves of a group have 8 spines,
    spines of one number in all groups 4 cores, with as much bandwidth up as the hosts below have.
    """
    used = {host for hosts in moment.jobs.values() for host in hosts}
    hosts = sorted(used, key=lambda host: (trace.places[host], host))
    make = _Maker()
    for at in range(len(hosts)):
        make.server(at)
    leaves: dict[Place, list[int]] = {}
    for at, host in enumerate(hosts):
        leaves.setdefault(trace.places[host], []).append(at)
    groups: dict[tuple[str, str], list[Place]] = {}
    for place, servers in leaves.items():
        groups.setdefault(place[:2], []).append(place)
        leaf = make.node(f"leaf{len(make.leaf)}", Kind.SWITCH)
        make.leaf[place] = leaf
        for at in servers:
            for nic in range(NICS):
                make.cable(make.number[f"server{at}.nic{nic}"], leaf, NIC_RATE)
    if len(leaves) > 1:
        _tiers(make, groups, {place: len(servers) * NICS * NIC_RATE for place, servers in leaves.items()})
    return Topology("lingjun", tuple(make.nodes), tuple(make.links)), {host: at for at, host in enumerate(hosts)}


class _Maker:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.links: list[Link] = []
        self.number: dict[str, int] = {}
        self.leaf: dict[Place, int] = {}

    def node(self, name: str, kind: Kind, server: str = "") -> int:
        self.number[name] = len(self.nodes)
        self.nodes.append(Node(name, kind, server))
        return self.number[name]

    def cable(self, a: int, b: int, rate: int) -> None:
        self.links += [Link(a, b, rate, 0), Link(b, a, rate, 0)]

    def server(self, at: int) -> None:
        label = f"server{at}"
        gpus = [self.node(f"{label}.gpu{gpu}", Kind.GPU, label) for gpu in range(GPUS_OF_HOST)]
        nics = [self.node(f"{label}.nic{nic}", Kind.NIC, label) for nic in range(NICS)]
        switch = self.node(f"{label}.nvswitch", Kind.SWITCH, label)
        for rank, gpu in enumerate(gpus):
            self.cable(gpu, switch, NVLINK_RATE)
            self.cable(gpu, nics[rank * NICS // GPUS_OF_HOST], NIC_RATE)


def _tiers(make: _Maker, groups: dict[tuple[str, str], list[Place]], below: dict[Place, int]) -> None:
    """Add spines, and cores where there are several groups; ``below`` is the bandwidth of the hosts of each leaf."""
    cores = [
        [make.node(f"core{spine * CORES_OF_SPINE + at}", Kind.SWITCH) for at in range(CORES_OF_SPINE)]
        for spine in range(SPINES if len(groups) > 1 else 0)
    ]
    for number, places in enumerate(groups.values()):
        up = sum(below[place] for place in places)
        for at in range(SPINES):
            spine = make.node(f"spine{number * SPINES + at}", Kind.SWITCH)
            for place in places:
                make.cable(make.leaf[place], spine, below[place] // SPINES)
            for core in cores[at] if cores else ():
                make.cable(spine, core, up // SPINES // CORES_OF_SPINE)


def jobs_text(trace: Trace, moment: Moment, numbers: dict[str, int], assumed: Assumed) -> str:
    """Return the jobs file of a moment; ``numbers`` are those of the hosts in the fabric."""
    lines = [
        f"# alibaba-lingjun-dataset-2023 at {moment.at:%Y/%m/%d %H:%M}. The trace does not tell, so it is assumed:",
        f"# {assumed.parameters:g} parameters where a model's name states none, {assumed.tokens} tokens of each GPU",
        f"# in an iteration, {FLOPS_OF_PARAMETER} FLOPs for a parameter and token; gradients of {BYTES_OF_GRADIENT}",
        "# bytes are summed once an iteration, after the compute.",
        f"gpu_flops: {DEFAULT_GPU_FLOPS:g}",
        "jobs:",
    ]
    taken = [0] * len(numbers)
    for at, (job, hosts) in enumerate(moment.jobs.items()):
        model = trace.models.get(job, "")
        parameters = parameters_of(model) or assumed.parameters
        ranks = []
        for host, gpus in sorted(hosts.items(), key=lambda item: numbers[item[0]]):
            first = numbers[host] * GPUS_OF_HOST + taken[numbers[host]]
            taken[numbers[host]] += gpus
            ranks.append(f"{first}-{first + gpus - 1}" if gpus > 1 else f"{first}")
        lines += [
            f"  - name: job{at}",
            f"    # {_comment(job)}, model {_comment(model) or 'not told'}",
            f'    ranks: "{",".join(ranks)}"',
            f"    compute: {max(assumed.compute_s(parameters), 1e-6):.6f}s",
            f"    collectives: [{{op: allreduce, size: {round(BYTES_OF_GRADIENT * parameters)}, by: ring}}]",
        ]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST_COMMENT])
