"""The lower bound of a collective: the largest of terms that each hold by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from syccl.bounds.bandwidth import Cut
from syccl.bounds.gossip import allreduce_time, broadcast_time
from syccl.bounds.study import Study, study
from syccl.bounds.window import windows
from syccl.collective import Op
from syccl.errors import InputError
from syccl.symmetry.group import Group
from syccl.topology import Topology
from syccl.units import PS_PER_SECOND

LONG = 100
"""Above so many times the latency bound, the bandwidth bound is nearly all, and no time windows are looked at."""


@dataclass(frozen=True)
class Bound:
    """No schedule is faster than ``seconds``."""

    bandwidth_s: float
    latency_s: float
    combined_s: float
    cut: Cut
    """Where the bandwidth bound is active."""
    why: str
    """The term that is largest."""
    window_s: float = 0.0
    """By time windows; 0 where that says no more than the others, or was not asked for."""

    @property
    def closed_s(self) -> float:
        """The largest of the terms that are formulas."""
        return max(self.bandwidth_s, self.latency_s, self.combined_s)

    @property
    def seconds(self) -> float:
        """The largest of all."""
        return max(self.closed_s, self.window_s)


def lower_bound(
    topology: Topology,
    op: Op,
    *,
    size_bytes: int,
    group: Group,
    islands: Sequence[Sequence[int]],
    root: int = 0,
    window: bool = True,
) -> Bound:
    """Return a time that no schedule of a collective can beat.

    A transfer keeps each link of its route busy for bytes / bandwidth from one common start and arrives the sum of
    alphas later; GPUs store and forward, switches neither copy nor reduce. Further sizes cost little.

    Parameters
    ----------
    topology
        The cluster.
    op
        The collective.
    size_bytes
        Total size as nccl-tests counts it (see ``Demand``).
    group
        Symmetries of the topology; any subgroup will do, a large one is faster.
    islands
        A partition of the ranks into sets that are close to each other, such as servers; any partition is valid.
    root
        Root of rooted ops.
    window
        Whether to look at time windows, too, where latency counts.

    Raises
    ------
    InputError
        When the size is not positive, the root is out of range or the islands are no partition of the ranks.
    InfeasibleError
        When some rank does not reach another that needs its data.
    """
    if size_bytes <= 0:
        msg = f"size {size_bytes} must be a positive number of bytes"
        raise InputError(msg)
    parts = tuple(sorted(tuple(sorted(island)) for island in islands))
    if sorted(rank for part in parts for rank in part) != list(range(topology.ranks)) or () in parts:
        msg = f"islands {islands!r} must hold each of the ranks 0..{topology.ranks - 1} once"
        raise InputError(msg)
    if not 0 <= root < topology.ranks:
        msg = f"root {root} is out of range; choose 0..{topology.ranks - 1}"
        raise InputError(msg)
    closed = _at(study(topology, op, group, (parts, root)), size_bytes)
    if not window or closed.bandwidth_s > LONG * closed.latency_s:
        return closed
    return _with_windows(closed, topology, op, (size_bytes, root))


def _with_windows(closed: Bound, topology: Topology, op: Op, job: tuple[int, int]) -> Bound:
    """Return a bound with the term by time windows, where that is larger."""
    size, root = job
    programs = windows(topology, op.name, root)
    start = int(closed.seconds * PS_PER_SECOND)
    if programs is None or not start:
        return closed
    whole = op.name in {"allreduce", "broadcast", "reduce"}
    found = programs.latest_short(size if whole else size / topology.ranks, start)
    if found is None:
        return closed
    return replace(closed, window_s=found.grid.horizon / PS_PER_SECOND, why="time windows")


def _at(found: Study, size: int) -> Bound:
    terms = [(float(line.seconds(size)), line.why) for line in found.lines]
    terms += [(allreduce_time(e, size), f"exchange between {e.parts} parts") for e in found.exchanges]
    if found.spread is not None:
        terms.append((broadcast_time(found.spread, size), "out of the root's island and on to others"))
    combined, term = max(terms, default=(0.0, ""))
    if found.backwards:
        term += ", seen backwards in time"
    bandwidth = float(found.bandwidth.seconds_per_byte * size)
    latency = float(found.latency)
    why = max((bandwidth, "bandwidth"), (latency, "latency"), (combined, term), key=lambda entry: entry[0])[1]
    return Bound(bandwidth, latency, combined, found.bandwidth.cut, why)
