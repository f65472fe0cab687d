"""From a schedule to an execution plan of MSCCL++ that fits its executor's tables, proved right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from syccl.collective import Demand
from syccl.errors import GaveUpError, InputError
from syccl.lowering.finish import program_name, require_clean
from syccl.lowering.lanes import Lanes, Put, Sum, Turn, lanes_of, own_copies
from syccl.program import Buffer, Slot
from syccl.program.mscclpp.ir import (
    KINDS,
    MAX_BLOCKS,
    MAX_CHANNELS,
    MAX_CHANNELS_OF_OPERATION,
    MAX_OFFSET_BYTES,
    MAX_OPERANDS,
    MAX_OPERATIONS,
    MEMORY,
    PORT,
    Op,
    Plan,
    PlanBlock,
    PlanRank,
    Ref,
    RemoteBuffer,
)
from syccl.program.mscclpp.verify import verify_plan
from syccl.schedule import Schedule
from syccl.schedule.ir import expand
from syccl.simulate.cost import THREAD_BLOCK_RATE
from syccl.simulate.schedule_time import schedule_time
from syccl.topology import Kind

COLLECTIVES = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast")
"""What callers of the executor ask for by name."""
_ALIGNMENT = 16
_SPARE = 1.2
"""Blocks are counted so that one fifth of a thread block's rate is left over."""
_INT32_MAX = 2**31 - 1
_NOP = Op("nop")

Item = TypeVar("Item")


def plan_of(schedule: Schedule, *, size_bytes: int, in_place: bool | None = None) -> Plan:
    """Return a verified execution plan that runs a schedule.

    Parameters
    ----------
    size_bytes
        Of the call, in nccl-tests' sense, for which blocks are counted; the plan serves other sizes too.
    in_place
        The kind of calls that it is for; None: in place where the collective allows it.

    Raises
    ------
    GaveUpError
        When no division over thread blocks fits the executor's tables; it names the limit.
    InputError
        When the executor's callers do not ask for the collective, or the size does not divide.
    """
    demand = schedule.demand
    check_collective(demand.op.name)
    _check_size(demand, size_bytes)
    explicit = expand(schedule)
    kind = demand.op.source != "pair" if in_place is None else in_place
    limit = ""
    for lane in _lane_choices(demand):
        shape = _Shape(explicit, lane, copies=not kind)
        limit = shape.broken_limit()
        if limit:
            continue
        plan = shape.plan(_copies_of_lane(schedule, shape, size_bytes), in_place=kind)
        require_clean(verify_plan(plan), "plan")
        return plan
    msg = f"no plan of this schedule fits mscclpp: {limit}; synthesize fewer chunks or a smaller --size"
    raise GaveUpError(msg)


def check_collective(name: str) -> None:
    """Check that plans for a collective are written.

    Raises
    ------
    InputError
        When they are not.
    """
    if name not in COLLECTIVES:
        msg = f"mscclpp runs no {name}; it runs {', '.join(COLLECTIVES)}"
        raise InputError(msg)


def _check_size(demand: Demand, size_bytes: int) -> None:
    unit = _ALIGNMENT * demand.buffer_chunks
    if size_bytes % unit:
        near = max(1, size_bytes // unit) * unit
        msg = f"size {size_bytes} is no multiple of {unit} bytes ({demand.buffer_chunks} chunks of {_ALIGNMENT}), "
        raise InputError(msg + f"as mscclpp wants it; take for example {near}")


def _lane_choices(demand: Demand) -> Iterator[list[int]]:
    """Yield ways to lay chunks on more and more lanes; pieces of one block are spread first."""
    ids = range(len(demand.sources))
    for count in (2**k for k in range(MAX_BLOCKS.bit_length())):
        if count > max(1, len(ids)):
            return
        if demand.op.source == "pair":
            apart = [(int(t) - int(s)) % demand.ranks for s, t in zip(demand.sources, demand.targets, strict=True)]
            yield [a % count for a in apart]
        else:
            yield [c % count for c in ids]
        if count > 1:
            share = -(-len(ids) // count)
            yield [c // share for c in ids]


def _copies_of_lane(schedule: Schedule, shape: _Shape, size_bytes: int) -> int:
    """Return how many blocks share the work of a lane, each a part of every chunk."""
    demand = schedule.demand
    about_s = schedule_time(schedule, size_bytes=size_bytes).seconds
    moved = shape.busiest * size_bytes / demand.buffer_chunks
    wanted = math.ceil(_SPARE * moved / max(about_s * THREAD_BLOCK_RATE, 1.0) / shape.lanes)
    copies = 1 << max(0, wanted - 1).bit_length()
    unit = _ALIGNMENT * demand.buffer_chunks
    while copies > 1 and (copies * shape.lanes > MAX_BLOCKS or size_bytes % (unit * copies)):
        copies //= 2
    return copies


@dataclass(frozen=True)
class _Wires:
    """The channels and remote buffers of one lane on one rank, by kind in the order in which blocks list them."""

    peers: dict[str, tuple[int, ...]]
    buffers: dict[str, tuple[tuple[int, Buffer], ...]]

    def kind(self, peer: int) -> str:
        return next(kind for kind, peers in self.peers.items() if peer in peers)

    def by_kind(self, peers: Iterable[int]) -> Iterator[tuple[str, list[int]]]:
        """Yield the places of peers in the lists of their kinds, in pieces of what one operation takes."""
        chosen = set(peers)
        for kind, known in self.peers.items():
            places = [place for place, peer in enumerate(known) if peer in chosen]
            for piece in _batched(places, MAX_CHANNELS_OF_OPERATION):
                yield kind, list(piece)


class _Shape:
    """A schedule on lanes, before lanes are divided over thread blocks."""

    def __init__(self, explicit: Schedule, lane: Sequence[int], *, copies: bool) -> None:
        self.schedule, self.demand = explicit, explicit.demand
        self.made: Lanes = lanes_of(explicit, lane)
        self.lanes = len(self.made.turns)
        self.ranks = range(self.demand.ranks)
        self.ports = _port_pairs(explicit)
        received: dict[int, set[int]] = {rank: set() for rank in self.ranks}
        for dst, chunk in zip(explicit.transfers.dst.tolist(), explicit.transfers.chunk.tolist(), strict=True):
            received[dst].add(chunk)
        self.own: dict[tuple[int, int], list[tuple[Slot, Slot]]] = {}
        for rank in self.ranks if copies and not self.demand.op.reduces else ():
            for src, dst, chunk in own_copies(self.demand, rank, received[rank]):
                self.own.setdefault((lane[chunk], rank), []).append((src, dst))
        self.wires = {(number, rank): self._wires(number, rank) for number in range(self.lanes) for rank in self.ranks}

    @property
    def busiest(self) -> int:
        """Most chunks that the thread blocks of a rank move themselves: puts in a server, and what sums read."""
        moved: Counter[int] = Counter()
        for number, turns in enumerate(self.made.turns):
            for rank, mine in turns.items():
                wires = self.wires[number, rank]
                for turn in mine:
                    moved[rank] += sum(wires.kind(put.peer) == MEMORY for put in turn.puts)
                    moved[rank] += sum(len(total.sources) for total in turn.sums)
        return max(moved.values(), default=0)

    def broken_limit(self) -> str:
        """Return the first limit of a thread block that a lane breaks, and by how much; empty: it fits."""
        for (number, rank), wires in self.wires.items():
            ops = _Writer(wires, 1).ops(self._turns(number, rank), self.own.get((number, rank), []))
            counts = [("operations", len(ops), MAX_OPERATIONS)]
            counts += [(f"{kind} channels", len(peers), MAX_CHANNELS) for kind, peers in wires.peers.items()]
            counts += [(f"{kind} remote buffers", len(far), MAX_CHANNELS) for kind, far in wires.buffers.items()]
            for what, count, room in counts:
                if count > room:
                    return f"rank {rank}, lane {number} of {self.lanes}: {count} {what}; a thread block has {room}"
        return ""

    def _wires(self, number: int, rank: int) -> _Wires:
        turns = self.made.turns[number]
        puts = [put for turn in turns[rank] for put in turn.puts]
        peers = {put.peer for put in puts} | {peer for turn in turns[rank] for peer in turn.waits}
        kinds = {peer: PORT if (rank, peer) in self.ports else MEMORY for peer in sorted(peers)}
        far = sorted({(put.peer, put.dst.buffer.value) for put in puts})
        reached = {kind: tuple(p for p, k in kinds.items() if k == kind) for kind in KINDS}
        written = {kind: tuple((p, Buffer(letter)) for p, letter in far if kinds[p] == kind) for kind in KINDS}
        return _Wires(
            {kind: peers for kind, peers in reached.items() if peers},
            {kind: buffers for kind, buffers in written.items() if buffers},
        )

    def plan(self, copies: int, *, in_place: bool) -> Plan:
        """Return the plan with ``copies`` thread blocks a lane."""
        demand = self.demand
        ranks = tuple(self._rank(rank, copies) for rank in self.ranks)
        selecting = max(rank.output_chunks if demand.op.name == "allgather" else rank.input_chunks for rank in ranks)
        longest = max(max(map(rank.chunks, Buffer)) for rank in ranks)
        return Plan(
            program_name(demand.op, self.schedule.topology),
            demand.op.name,
            "Simple",
            in_place,
            ranks,
            min_bytes=min(_ALIGNMENT * selecting, _INT32_MAX),
            max_bytes=MAX_OFFSET_BYTES // longest * selecting,
            alignment=_ALIGNMENT,
        )

    def _rank(self, rank: int, copies: int) -> PlanRank:
        demand = self.demand
        per_block = max(1, demand.chunks // demand.ranks)
        inputs = per_block if demand.op.source == "block" else demand.buffer_chunks
        outputs = per_block if demand.op.target == "block" else demand.buffer_chunks
        far = sorted(
            {
                (peer, buffer.value, kind)
                for number in range(self.lanes)
                for kind, buffers in self.wires[number, rank].buffers.items()
                for peer, buffer in buffers
            }
        )
        remote = {(peer, letter): i for i, (peer, letter, _) in enumerate(far)}
        channels: dict[str, tuple[int, ...]] = {}
        blocks: list[PlanBlock] = []
        for number in range(self.lanes):
            wires = self.wires[number, rank]
            ops = _Writer(wires, copies).ops(self._turns(number, rank), self.own.get((number, rank), []))
            for copy in range(copies):
                ids = {}
                for kind, peers in wires.peers.items():
                    first = len(channels.get(kind, ()))
                    channels[kind] = channels.get(kind, ()) + peers
                    ids[kind] = tuple(range(first, first + len(peers)))
                refs = {k: tuple(remote[p, b.value] for p, b in buffers) for k, buffers in wires.buffers.items()}
                blocks.append(PlanBlock(len(blocks), ids, refs, tuple(_moved(op, copy) for op in ops)))
        return PlanRank(
            rank,
            inputs * copies,
            outputs * copies,
            self.made.scratch.get(rank, 0) * copies,
            channels=channels,
            remote_buffers=tuple(RemoteBuffer(peer, Buffer(letter), (kind,)) for peer, letter, kind in far),
            blocks=tuple(blocks),
        )

    def _turns(self, number: int, rank: int) -> tuple[list[int], list[int], list[Turn]]:
        """Return who puts into a rank's memory, into whose memory it puts, and its turns."""
        turns = self.made.turns[number][rank]
        sources = sorted({peer for turn in turns for peer in turn.waits})
        targets = sorted({put.peer for turn in turns for put in turn.puts})
        return sources, targets, turns


class _Writer:
    """The operations of a lane on a rank, for the first of the thread blocks that share it."""

    def __init__(self, wires: _Wires, scale: int) -> None:
        self.wires, self.scale = wires, scale
        self.made: list[Op] = []

    def ops(self, turns: tuple[list[int], list[int], list[Turn]], own: Sequence[tuple[Slot, Slot]]) -> tuple[Op, ...]:
        """Return them: both sides tell that they have begun, turn follows turn, puts by the host are waited for."""
        sources, targets, mine = turns
        self._signals("signal", sources)
        self._signals("wait", targets)
        if targets:
            self._sync()
        for source, target in own:
            self.made.append(Op("copy", src=(self._local(source),), dst=(self._local(target),)))
        for turn in mine:
            self._turn(turn)
        self._flush([peer for peer in targets if self.wires.kind(peer) == PORT])
        return tuple(self.made)

    def _sync(self) -> None:
        if self.made and self.made[-1] is not _NOP:
            self.made.append(_NOP)

    def _signals(self, name: str, peers: Iterable[int]) -> None:
        self.made += [Op(name, kind, tuple(places)) for kind, places in self.wires.by_kind(peers)]

    def _turn(self, turn: Turn) -> None:
        for more in range(max(turn.waits.values(), default=0)):
            if more or any(op.name == "wait" for op in self.made[-2:]):
                self._sync()
            self._signals("wait", [peer for peer, count in turn.waits.items() if count > more])
        if turn.waits and (turn.sums or turn.puts):
            self._sync()
        self._sums(turn.sums)
        if turn.sums and turn.puts:
            self._sync()
        if turn.puts:
            self._puts(turn.puts)
            self._sync()
            self._signals("signal", {put.peer for put in turn.puts})

    def _sums(self, sums: Sequence[Sum]) -> None:
        fresh: set[Slot] = set()
        for total in sums:
            first, rest = total.sources[0], total.sources[1:]
            for piece in _batched(rest, MAX_OPERANDS - 1):
                if fresh & {first, *piece}:
                    self._sync()
                    fresh = set()
                src = tuple(self._local(slot) for slot in (first, *piece))
                self.made.append(Op("re", src=src, dst=(self._local(total.dst),)))
                fresh.add(total.dst)
                first = total.dst

    def _puts(self, puts: Sequence[Put]) -> None:
        """Write puts, as many in an operation as it takes; those of an operation read one buffer."""
        for kind, peers in self.wires.peers.items():
            mine = [put for put in puts if put.peer in peers]
            for buffer in Buffer:
                chosen = [put for put in mine if put.src.buffer is buffer]
                for piece in _batched(chosen, MAX_CHANNELS_OF_OPERATION):
                    channels = tuple(peers.index(put.peer) for put in piece)
                    src = tuple(self._local(put.src) for put in piece)
                    dst = tuple(self._far(kind, put) for put in piece)
                    self.made.append(Op("put", kind, channels, src, dst))

    def _flush(self, peers: Sequence[int]) -> None:
        """Wait until the host has read what it was to put, or the caller could change it; a target for each channel."""
        buffers = self.wires.buffers.get(PORT, ())
        for kind, places in self.wires.by_kind(peers):
            names = [self.wires.peers[PORT][place] for place in places]
            dst = tuple(Ref(None, next(i for i, (p, _) in enumerate(buffers) if p == peer), 0, 1) for peer in names)
            self.made.append(Op("flush", kind, tuple(places), dst=dst))

    def _local(self, slot: Slot) -> Ref:
        return Ref(slot.buffer, -1, slot.offset * self.scale, 1)

    def _far(self, kind: str, put: Put) -> Ref:
        number = self.wires.buffers[kind].index((put.peer, put.dst.buffer))
        return Ref(None, number, put.dst.offset * self.scale, 1)


def _batched(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    """Yield the items in pieces of at most so many."""
    for start in range(0, len(items), most):
        yield items[start : start + most]


def _moved(op: Op, copy: int) -> Op:
    """Return an operation for another part of every chunk."""
    if not copy or not (op.src or op.dst) or op.name == "flush":
        return op
    return op._replace(
        src=tuple(ref._replace(start=ref.start + copy) for ref in op.src),
        dst=tuple(ref._replace(start=ref.start + copy) for ref in op.dst),
    )


def _port_pairs(schedule: Schedule) -> set[tuple[int, int]]:
    """Return the pairs of ranks, both ways, of which one reaches the other through a NIC."""
    topology, rows = schedule.topology, schedule.transfers
    nics = [
        any(topology.nodes[topology.links[link].dst].kind is Kind.NIC for link in route) for route in schedule.routes
    ]
    ends = zip(rows.src.tolist(), rows.dst.tolist(), rows.route.tolist(), strict=True)
    pairs = {(src, dst) for src, dst, route in ends if nics[route]}
    return pairs | {(dst, src) for src, dst in pairs}
