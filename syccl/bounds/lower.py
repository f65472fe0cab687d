"""The lower bound of a collective: the largest of terms that each hold by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from syccl.bounds.bandwidth import Cut, two_phase_bound
from syccl.bounds.gossip import allreduce_time, broadcast_time
from syccl.bounds.network import Network
from syccl.bounds.partition import Parts
from syccl.bounds.study import Study, study
from syccl.bounds.window import QUICK, THOROUGH, proven, sharper
from syccl.bounds.window import windows as window_programs
from syccl.clock import Clock
from syccl.collective import Op, require_equal
from syccl.errors import GaveUpError, InputError
from syccl.proof import Certificate
from syccl.proof.board import DIRECT, WHOLE
from syccl.symmetry.group import Group
from syccl.topology import Topology
from syccl.units import PS_PER_SECOND

LONG = 100
"""Above so many times the latency bound, the bandwidth bound is nearly all: only quick time windows are looked at."""


_SETTLED = 1000
"""Above so many times the latency bound, time windows prove what formulas say, and hardly more."""

_BUSY = 2
"""From so many times the latency bound on, a partition may say more of an allreduce than pairs do."""

_BELOW = 1e-5
"""Formulas that are exact are certified up to this part."""


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
    """By time windows, proved; 0 where that says no more than the others, or nothing."""
    partition: Parts | None = None
    """For an allreduce, the partition across which it takes longest by its formula."""
    proof: Certificate | None = field(default=None, compare=False)
    """Shows that every schedule takes longer than ``proven_s``; checked in exact whole numbers."""

    @property
    def closed_s(self) -> float:
        """The largest of the terms that are formulas."""
        return max(self.bandwidth_s, self.latency_s, self.combined_s)

    @property
    def seconds(self) -> float:
        """The largest of all."""
        return max(self.closed_s, self.window_s)

    @property
    def proven_s(self) -> float:
        """The time that the proof is for, 0 without one."""
        return self.proof.time_ps / PS_PER_SECOND if self.proof else 0.0

    @property
    def is_certified(self) -> bool:
        """Whether the proof is for the whole bound; else the bound is a formula that was proved on paper."""
        return self.proven_s >= self.seconds * (1 - 2 * _BELOW)


def two_phases_s(topology: Topology, group: Group, *, size_bytes: int) -> float:
    """Return the least time of an allreduce made of a reducescatter and then an allgather, in seconds."""
    sinks = [orbit[0] for orbit in group.rank_orbits]
    return float(two_phase_bound(Network.of(topology), sinks) * size_bytes)


def lower_bound(  # noqa: PLR0913  the job, what is known of the cluster, and how far to go
    topology: Topology,
    op: Op,
    *,
    size_bytes: int,
    group: Group,
    islands: Sequence[Sequence[int]],
    root: int = 0,
    windows: int = QUICK,
    clock: Clock | None = None,
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
    windows
        Most variables of a program of time windows, which are looked at where latency counts: the default takes about
        a second at most, ``THOROUGH`` several on clusters without symmetry; 0 for none.
    clock
        Ends the search for later windows; None for no such limit.

    Raises
    ------
    InputError
        When the size is not positive, the root is out of range or the islands are no partition of the ranks.
    InfeasibleError
        When some rank does not reach another that needs its data.
    """
    require_equal(op)
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
    found = study(topology, op, group, (parts, root))
    closed = _at(found, size_bytes)
    long = op.name not in DIRECT and closed.bandwidth_s > LONG * closed.latency_s
    if not windows or long or not closed.seconds:
        return closed
    partition = closed.partition if closed.bandwidth_s > _BUSY * closed.latency_s else None
    prover = _Prover(topology, op, (size_bytes, root), windows, clock or Clock())
    is_settled = closed.seconds > _SETTLED * closed.latency_s
    proof = prover.proof(closed.seconds * (1 - _BELOW), partition, seeks_later=not is_settled)
    if proof is None:
        return closed
    seconds = proof.time_ps / PS_PER_SECOND
    if seconds <= closed.seconds:
        return replace(closed, proof=proof)
    return replace(closed, window_s=seconds, proof=proof, why="time windows")


def best_proof(bound: Bound, topology: Topology, op: Op, *, size_bytes: int, root: int = 0) -> Certificate:
    """Return a checked proof of a bound, or of the largest time below it that time windows can prove.

    Raises
    ------
    GaveUpError
        When there is nothing to prove, or the cluster is too large for the linear program.
    """
    if bound.proof is not None:
        return bound.proof
    proof = None
    if bound.seconds > 0:
        prover = _Prover(topology, op, (size_bytes, root), THOROUGH, Clock())
        proofs = (prover.proof(start * (1 - _BELOW), bound.partition) for start in (bound.seconds, bound.latency_s))
        proof = next((found for found in proofs if found), None)
    if proof is None:
        msg = (
            f"no certificate: nothing has to be sent, or {topology.name} has too many ways from GPU to GPU for the "
            "linear program; the bound is a formula"
        )
        raise GaveUpError(msg)
    return proof


def _partition(found: Study, size: int) -> Parts | None:
    """Return the partition across which an allreduce takes longest by its formula; None for other collectives."""
    times = [allreduce_time(exchange, size) for exchange in found.exchanges]
    return found.partitions[times.index(max(times))] if times else None


@dataclass(frozen=True)
class _Prover:
    topology: Topology
    op: Op
    job: tuple[int, int]
    most: int
    clock: Clock

    def proof(self, start_s: float, parts: Parts | None, *, seeks_later: bool = True) -> Certificate | None:
        """Return a checked proof of the largest time from a start on that time windows can prove, or of the start."""
        if self.clock.is_over():
            return None
        programs = window_programs(self.topology, self.op.name, self.job[1], self.most)
        if programs is None:
            return None
        size = self.job[0]
        payload = size if self.op.name in WHOLE else size / self.topology.ranks
        best = None
        start = max(1, int(start_s * PS_PER_SECOND))
        sharp = sharper(programs, parts) if parts and not self.clock.is_over() else None
        for candidate in (programs, sharp) if sharp else (programs,):
            found = candidate.latest_short(payload, start, self.clock, seeks_later=seeks_later)
            proof = proven(self.topology, self.op, self.job, (candidate, found)) if found else None
            if proof:
                best, start = proof, proof.time_ps
        return best


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
    return Bound(bandwidth, latency, combined, found.bandwidth.cut, why, partition=_partition(found, size))
