"""What a cluster can use of a plan: marks of priority, an environment for each job, paths of connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from syccl.errors import InputError
from syccl.traffic.c4p.connections import Connection, connections_of
from syccl.traffic.c4p.plan import Paths, Piece
from syccl.traffic.pairs import Sends
from syccl.traffic.policies import Decision, Mix

PRIORITIES = 8
"""Priorities of IEEE 802.1Q, of which switches serve 7 first."""
DSCPS = 64

NCCL = "NCCL 2.23 or later, as the file that NCCL_CONF_FILE names; any NCCL from 2.10, as the job's environment"
SWITCHES = "a person or tool that configures NICs and switches, such as mlnx_qos (MLNX_EN 23.10 or later)"
PLUGIN = "a net plugin that sets UDP source ports; NCCL itself cannot"


@dataclass(frozen=True)
class Mark:
    """How packets of a level are marked, and in which priority of NICs and switches they are served."""

    level: int
    dscp: int
    priority: int

    @property
    def traffic_class(self) -> int:
        """Byte of the IP header: six bits of DSCP; the two of congestion notification are left to the NIC."""
        return 4 * self.dscp

    @property
    def service_level(self) -> int:
        """Service level of InfiniBand, and priority of packets that are marked by VLAN."""
        return self.priority


def marks(usable: int, reserved: int, dscps: Sequence[int] | None) -> tuple[Mark, ...]:
    """Return the mark of every level, the highest first.

    The highest priorities are kept for the reserved levels; those below are the levels of jobs.

    Parameters
    ----------
    usable, reserved
        Levels of jobs, and those kept for other traffic; at most 8 together.
    dscps
        One for each level of jobs. By default 8 times the priority, which NICs and switches map to it unless told
        otherwise.

    Raises
    ------
    InputError
        When DSCPs are too few or too many, not from 0 to 63, or not different.
    """
    priorities = [PRIORITIES - 1 - reserved - level for level in range(usable)]
    chosen = [8 * priority for priority in priorities] if dscps is None else list(dscps)
    if len(chosen) != usable:
        msg = f"--dscp: {len(chosen)} values for {usable} levels; give one for each, the highest level first"
        raise InputError(msg)
    for dscp in chosen:
        if not 0 <= dscp < DSCPS:
            msg = f"--dscp: {dscp} is no DSCP; these are 0 to {DSCPS - 1}"
            raise InputError(msg)
        if chosen.count(dscp) > 1:
            msg = f"--dscp: {dscp} is given twice; levels must differ"
            raise InputError(msg)
    return tuple(
        Mark(level, dscp, priority) for level, (dscp, priority) in enumerate(zip(chosen, priorities, strict=True))
    )


def environment(name: str, mark: Mark, queue_pairs: int) -> str:
    """Return the variables of a job with so many queue pairs for each connection, ``KEY=VALUE`` in lines."""
    return (
        f"# Job {name}, level {mark.level}\n"
        f"NCCL_IB_TC={mark.traffic_class}\n"
        f"NCCL_IB_SL={mark.service_level}\n"
        f"NCCL_IB_QPS_PER_CONNECTION={queue_pairs}\n"
    )


def priority_table(found: Sequence[Mark]) -> str:
    """Return the marks of all levels as CSV, with the argument by which ``mlnx_qos`` maps each."""
    lines = ["level,dscp,traffic_class,service_level,priority,mlnx_qos"]
    for mark in found:
        values = (mark.level, mark.dscp, mark.traffic_class, mark.service_level, mark.priority)
        lines.append(",".join(map(str, values)) + f',"--dscp2prio set,{mark.dscp},{mark.priority}"')
    return "\n".join(lines) + "\n"


def chosen_paths(mix: Mix, decision: Decision, sends: Sequence[Sends], *, queue_pairs: int) -> Paths:
    """Return all connections that leave a server on the paths that a policy chose for their flows.

    Parameters
    ----------
    sends
        What each job's connections carry (see ``connections_of``).
    queue_pairs
        Queue pairs of a connection, all on one path.
    """
    connections: list[Connection] = []
    pieces = []
    for job, flows, choice, mine in zip(mix.jobs, mix.flows, decision.choice, sends, strict=True):
        links = {(flow.src, flow.dst): flow.candidates[at].links for flow, at in zip(flows, choice, strict=True)}
        for each in connections_of(mix.topology, job.name, job.ranks, mine, queue_pairs=queue_pairs):
            pieces.append(Piece(len(connections), 0, 1, each.size_bytes, links[each.src, each.dst]))
            connections.append(each)
    return Paths(mix.topology, tuple(connections), tuple(pieces))
