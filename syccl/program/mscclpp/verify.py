"""Proves that an execution plan of MSCCL++ computes its collective for every timing, or says why not.

From the plan alone: what the executor refuses, deadlock and signals without a wait, then races and the values that
each chunk ends up with, for the kind of call (in place or not) that the file is for. A rank's memory may be touched by
others only once the rank has started and before it ends, since calls follow each other on the same buffers. Where
blocks share an operation (``tbg_info``) their shares depend on the size: chunks of two sizes are followed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from syccl.findings import Finding, capped, errors
from syccl.program.dataflow import SPOILED, UNSET, Values, Wrong
from syccl.program.ir import Buffer, Program, RankProgram
from syccl.program.mscclpp.ir import PORT, Op, Plan, Ref
from syccl.program.mscclpp.lint import CHECKED, REDUCTIONS, lint_plan
from syccl.program.mscclpp.order import Event, Order, order_of
from syccl.program.semantics import ROOTED, buffer_chunks, is_collective, results, shared_offsets

MOST: Final = 8
"""Findings of one rule that are listed one by one."""


def verify_plan(plan: Plan) -> tuple[Finding, ...]:
    """Return what is wrong with a plan; no errors: it is right for every timing. Of each rule the first are listed."""
    return tuple(capped(_stages(plan), MOST))


def _stages(plan: Plan) -> Iterator[Finding]:
    structure = lint_plan(plan)
    yield from structure
    if errors(structure):
        return
    uncovered = list(_uncovered(plan))
    yield from uncovered
    if uncovered:
        return
    order = order_of(plan)
    yield from order.findings
    if errors(order.findings):
        return
    told = set[Finding]()
    for units in _unit_counts(plan):
        for finding in _Follow(plan, order, units).findings():
            if finding not in told:
                told.add(finding)
                yield finding


def _uncovered(plan: Plan) -> Iterator[Finding]:
    """Tell what is not followed: a plan that has it is not proved."""
    for rank in plan.ranks:
        for block in rank.blocks:
            for number, op in enumerate(block.ops):
                if op.name not in CHECKED:
                    where = f"rank {rank.rank}, thread block {block.id}, operation {number} ({op.name})"
                    yield Finding("error", "uncovered", where, "is not followed here, so the plan is not proved")
    if not is_collective(plan.collective) or plan.collective in {"custom", "alltoallv"}:
        message = f"what {plan.collective!r} must compute is not stated, so the result is not checked"
        yield Finding("error", "uncovered", "plan", message)
        return
    program = _as_program(plan)
    stated = {(rank.input_chunks, rank.output_chunks) for rank in plan.ranks}
    blocked = buffer_chunks(program)
    if stated != {blocked} or program.chunks % plan.size:
        if plan.collective in {"allreduce", "broadcast", "reduce"} and stated == {blocked}:
            return
        message = f"{plan.collective} over {plan.size} ranks with chunks of input and output {sorted(stated)}"
        yield Finding("error", "chunks", "plan", message)


def _as_program(plan: Plan) -> Program:
    """Return a program without steps that has the plan's collective and buffers."""
    ranks = tuple(RankProgram(r.rank, r.input_chunks, r.output_chunks, r.scratch_chunks, ()) for r in plan.ranks)
    chunks = max(max(rank.input_chunks, rank.output_chunks) for rank in plan.ranks)
    return Program(plan.name, plan.collective, plan.protocol, 1, chunks, ranks)


def _unit_counts(plan: Plan) -> tuple[int, ...]:
    """Return in how many units chunks are cut: one is enough where no operation is shared."""
    parts = {op.parts for rank in plan.ranks for block in rank.blocks for op in block.ops}
    least = math.lcm(*parts)
    return (1,) if least == 1 else (least, least + 1)


@dataclass
class _Place:
    """Who touched a unit of memory last."""

    write: Event | None = None
    reads: list[Event] = field(default_factory=list)


class _Follow:
    """One run of a plan on sets of contributors, with every pair of accesses checked for an order."""

    def __init__(self, plan: Plan, order: Order, units: int) -> None:
        self.plan, self.order, self.units = plan, order, units
        self.program = _as_program(plan)
        self.values = Values(self.program)
        self.base: dict[tuple[int, Buffer], int] = {}
        self.owner: list[int] = []
        self.memory = self._initial()
        self.places: list[_Place | None] = [None] * len(self.memory)
        self.found: list[Finding] = []
        self.seen: set[tuple[str, int, int, int]] = set()

    def _initial(self) -> list[int]:
        memory: list[int] = []
        units = self.units
        for rank in self.plan.ranks:
            into, out = shared_offsets(self.program, rank.rank) if self.plan.in_place else (0, rank.input_chunks)
            scratch = self.program.chunks if self.plan.in_place else rank.input_chunks + rank.output_chunks
            start = len(memory)
            for buffer, offset in ((Buffer.INPUT, into), (Buffer.OUTPUT, out), (Buffer.SCRATCH, scratch)):
                self.base[rank.rank, buffer] = start + offset * units
            memory += [UNSET] * ((scratch + rank.scratch_chunks) * units)
            first = self.base[rank.rank, Buffer.INPUT]
            for chunk in range(rank.input_chunks):
                value = 1 << rank.rank + self.values.bits | chunk
                memory[first + chunk * units : first + (chunk + 1) * units] = [value] * units
            self.owner += [rank.rank] * (len(memory) - start)
        return memory

    def findings(self) -> Iterator[Finding]:
        for event in self.order.events:
            self._run(event)
        yield from self.found
        yield from self._outputs()

    def _run(self, event: Event) -> None:
        op = event.op
        if op.name in REDUCTIONS:
            sources = [self._units(event, ref) for ref in op.src]
            targets = [self._units(event, ref) for ref in op.dst]
            sums = [self._sum(event, terms) for terms in zip(*sources, strict=True)]
            for source in sources:
                self._touch(event, source, writes=False)
            self._store(event, targets, sums)
            return
        pairs = list(zip(op.src, op.dst, strict=True))
        for src, dst in pairs if event.slot < 0 else [pairs[event.slot]]:
            read, written = self._units(event, src), self._units(event, dst)
            if read == written:
                continue
            values = [self._loaded(event, place) for place in read]
            self._touch(event, read, writes=False)
            self._store(event, [written], values)

    def _store(self, event: Event, targets: Sequence[range], values: Sequence[int]) -> None:
        for target in targets:
            self._touch(event, target, writes=True)
            self.memory[target.start : target.stop] = values

    def _units(self, event: Event, ref: Ref) -> range:
        """Return the units that an operation's block touches of an operand."""
        rank, buffer = event.block[0], ref.buffer
        if buffer is None:
            block = self.plan.ranks[rank].blocks[event.block[1]]
            remote = self.plan.ranks[rank].remote_buffers[block.buffers[event.op.kind][ref.remote]]
            rank, buffer = remote.rank, remote.buffer
        start = self.base[rank, buffer] + ref.start * self.units
        count = ref.size * self.units
        return range(start + _share(count, event.op), start + _share(count, event.op, following=1))

    def _loaded(self, event: Event, place: int) -> int:
        value = self.memory[place]
        if value == UNSET:
            self._tell("uninitialised", event, f"reads {self._name(place)}, which nothing has written")
            return SPOILED
        return value

    def _sum(self, event: Event, places: Sequence[int]) -> int:
        total = self._loaded(event, places[0])
        low = self.values.chunk_mask
        for place in places[1:]:
            value = self._loaded(event, place)
            if SPOILED in (total, value):
                return SPOILED
            if (total ^ value) & low or total & value > low:
                one, other = self.values.describe(total), self.values.describe(value)
                self._tell("reduction", event, f"adds {other} to {one}")
                return SPOILED
            total |= value
        return total

    def _touch(self, event: Event, where: range, *, writes: bool) -> None:
        for at in where:
            self._borders(event, at)
            place = self.places[at]
            if place is None:
                place = self.places[at] = _Place()
            own = place.write is event and not writes
            if place.write is not None and not own and not event.after(place.write):
                self._race(place.write, event, at, "writes")
            if not writes:
                place.reads.append(event)
                continue
            for read in place.reads:
                if read is not event and not event.after(read):
                    self._race(read, event, at, "reads")
            place.write, place.reads = event, []

    def _borders(self, event: Event, at: int) -> None:
        """Check that the rank whose memory is touched has started, and ends only afterwards."""
        owner = self.owner[at]
        key = (event.group, owner)
        if owner != event.block[0] and not any(event.clock[chain] for chain in self.order.started.get(key, ())):
            self._tell("early", event, f"touches memory of rank {owner}, which may not have begun the call")
        if owner != event.block[0] or event.op.kind == PORT:
            end = self.order.ended.get(key)
            if end is None or end[event.chain] <= event.turn:
                self._tell("late", event, f"touches memory of rank {owner}, which may have ended the call")

    def _race(self, first: Event, second: Event, at: int, verb: str) -> None:
        message = f"race on {self._name(at)}: {first.where} {verb} it too, and nothing orders the two"
        self._tell("race", second, message)

    def _tell(self, rule: str, event: Event, message: str) -> None:
        """Record a finding, one of each rule and operation."""
        key = (rule, *event.block, event.number)
        if key not in self.seen:
            self.seen.add(key)
            self.found.append(Finding("error", rule, event.where, message))

    def _name(self, at: int) -> str:
        rank = self.owner[at]
        chunk, buffer = min(
            ((at - base) // self.units, buffer.value)
            for (owner, buffer), base in self.base.items()
            if owner == rank and base <= at
        )
        return f"{buffer}[{chunk}] of rank {rank}"

    def _outputs(self) -> Iterator[Finding]:
        collective = self.program.collective
        roots = range(self.plan.size) if collective in ROOTED else range(1)
        root = min(roots, key=lambda rank: len(self._wrong(rank)))
        for rank, group in groupby(self._wrong(root), key=lambda wrong: wrong.rank):
            wrong = list(group)
            describe = self.values.describe
            listed = [f"o[{w.output}] holds {describe(w.held)}, not {describe(w.required)}" for w in wrong[:3]]
            more = f"; and {len(wrong) - 3} more chunks" if len(wrong) > 3 else ""
            yield Finding("error", "wrong", f"rank {rank}", f"wrong result: {'; '.join(listed)}{more}")
        if collective in ROOTED:
            yield Finding(
                "warning", "root", "plan", f"the root is rank {root}; a plan does not say which root it is for"
            )

    def _wrong(self, root: int) -> list[Wrong]:
        wrong = []
        for rank in range(self.plan.size):
            base = self.base[rank, Buffer.OUTPUT]
            for output, (chunk, ranks) in enumerate(results(self.program, rank, root)):
                required = ranks << self.values.bits | chunk
                first = base + output * self.units
                held = next((v for v in self.memory[first : first + self.units] if v != required), required)
                if held != required:
                    wrong.append(Wrong(rank, output, required, held))
        return wrong


def _share(count: int, op: Op, *, following: int = 0) -> int:
    """Return where the share of an operation's block starts in ``count`` units, as the loader divides them."""
    index = op.part + following
    least, left = divmod(count, op.parts)
    turn = index % count
    return index * least + min(turn, left)
