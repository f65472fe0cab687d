"""From ordered tasks to a program: steps with dependencies on representative ranks, lifted to all ranks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from syccl.collective import ALL, Demand, Op
from syccl.errors import InternalError
from syccl.lowering.layout import input_offset, output_offset
from syccl.lowering.tasks import Block, Task
from syccl.program import Buffer, Program, RankProgram, Slot, Step, StepType, ThreadBlock
from syccl.program.targets import Target
from syccl.schedule import Schedule
from syccl.simulate.machine import DryRun

_Flag = tuple[int, int]
"""(block, step) that another block of the rank waits for."""


class Form(NamedTuple):
    """What a file is to be.

    Parameters
    ----------
    name
        Written into the file; runtimes ignore it.
    target
        Whose kernels are to run it: what they do not run is written as several plain steps.
    lanes
        Channel of every chunk where the wiring says so: symmetries then move channels as they move chunks.
    """

    name: str
    protocol: str
    target: Target
    lanes: Sequence[int] = ()


def emit(schedule: Schedule, tasks: Sequence[Task], run: DryRun, form: Form) -> Program:
    """Return the program of all ranks in which every block keeps the order of a recorded run.

    Parameters
    ----------
    tasks
        Of the representative ranks, ``run`` being a recorded run of their machine.
    """
    blocks = sorted({task.block for task in tasks})
    sequences = dict(zip(blocks, run.order, strict=True))
    after = dependencies(tasks, run)
    source = operands(tasks, run)
    demand = schedule.demand
    ranks: dict[int, RankProgram] = {}
    symmetry = schedule.symmetry
    representatives = [orbit[0] for orbit in symmetry.group.rank_orbits] if symmetry else list(range(demand.ranks))
    for rank in representatives:
        mine = [block for block in blocks if block.rank == rank]
        made = _Assembly(tasks, {block: sequences[block] for block in mine}, after, source, target=form.target).blocks()
        scratch = _scratch_chunks(made)
        for image, lifted in _lift(made, rank, schedule, form.lanes):
            ranks[image] = _rank_program(demand, image, scratch, lifted)
    channels = max((block.channel for block in blocks), default=0) + 1
    ordered = tuple(ranks[rank] for rank in sorted(ranks))
    return Program(
        form.name,
        demand.op.name,
        form.protocol,
        channels,
        demand.buffer_chunks,
        ordered,
        in_place=serves_in_place(demand.op),
        counts=_counts(demand),
    )


def _counts(demand: Demand) -> tuple[tuple[int, ...], ...]:
    """Return what a file of alltoallv does not say: the chunks from each rank to each."""
    return tuple(map(tuple, (demand.matrix // demand.unit_bytes).tolist())) if demand.is_unequal else ()


def serves_in_place(op: Op) -> bool:
    """Return whether programs serve calls with one buffer; else what arrives would overwrite what is still to send."""
    return op.source != "pair"


def _rank_program(demand: Demand, rank: int, scratch: int, blocks: tuple[ThreadBlock, ...]) -> RankProgram:
    per_block = max(1, demand.chunks // demand.ranks)
    inputs = per_block if demand.op.source == "block" else demand.buffer_chunks
    outputs = per_block if demand.op.target == "block" else demand.buffer_chunks
    return RankProgram(rank, inputs, outputs, scratch, blocks)


def _end(slot: Slot, count: int) -> int:
    """Return where chunks from a slot on end in the scratch buffer, 0 for other buffers."""
    return slot.offset + count if slot.buffer is Buffer.SCRATCH else 0


def _scratch_chunks(blocks: Sequence[ThreadBlock]) -> int:
    ends = [_end(slot, step.cnt) for block in blocks for step in block.steps for slot in (step.src, step.dst)]
    return max(ends, default=0)


def operands(tasks: Sequence[Task], run: DryRun) -> list[Slot]:
    """Return each task's source: reductions under one lock start from it, later ones add in place."""
    first = {sequence[0] for sequence in run.lock_order if sequence}
    return [task.dst if task.lock >= 0 and i not in first else task.src for i, task in enumerate(tasks)]


def dependencies(tasks: Sequence[Task], run: DryRun) -> list[list[int]]:
    """Return what each task must wait for in other blocks: prerequisites and lock order, without what others imply."""
    place = {task: (b, i) for b, sequence in enumerate(run.order) for i, task in enumerate(sequence)}
    before: list[set[int]] = [set(task.after) for task in tasks]
    for sequence in run.lock_order:
        for first, second in itertools.pairwise(sequence):
            before[second].add(first)
    implied: dict[int, frozenset[int]] = {}

    def reach(task: int) -> frozenset[int]:
        if task not in implied:
            implied[task] = frozenset(before[task]).union(*(reach(other) for other in before[task]))
        return implied[task]

    kept = []
    for task, needs in enumerate(before):
        block = place[task][0]
        last: dict[int, int] = {}
        for need in needs:
            b, i = place[need]
            if b != block and i >= place[last.get(b, need)][1]:
                last[b] = need
        own = set(last.values())
        covered = frozenset[int]().union(*(reach(need) for need in own)) if len(own) > 1 else frozenset()
        kept.append(sorted(own - covered))
    return kept


def plain_steps(task: Task, source: Slot, spare: Slot, target: Target) -> list[tuple[StepType, Slot, Slot]]:
    """Return type, source and target of the steps that do a task on a runtime.

    Where it cannot receive and reduce at once, what arrives goes to its place if nothing else lies there, else to
    ``spare``. In place the output is the input, so that a sum which starts there needs a copy first.
    """
    if task.type in target.step_types:
        return [(task.type, source, task.dst)]
    if task.type is not StepType.RECV_REDUCE_COPY:
        msg = f"{target.name} runs no {task.type.value}; such tasks must not be made for it"
        raise InternalError(msg)
    from_spare = (StepType.REDUCE, spare, task.dst)
    if source == task.dst:
        return [(StepType.RECV, spare, spare), from_spare]
    if {source.buffer, task.dst.buffer} == {Buffer.INPUT, Buffer.OUTPUT}:
        return [(StepType.RECV, spare, spare), (StepType.COPY, source, task.dst), from_spare]
    return [(StepType.RECV, task.dst, task.dst), (StepType.REDUCE, source, task.dst)]


class _Assembly:
    """Thread blocks of one representative rank."""

    def __init__(
        self,
        tasks: Sequence[Task],
        sequences: dict[Block, tuple[int, ...]],
        after: list[list[int]],
        source: list[Slot],
        *,
        target: Target,
    ) -> None:
        self.tasks, self.sequences, self.after = tasks, sequences, after
        used = [_end(slot, tasks[i].cnt) for order in sequences.values() for i in order for slot in tasks[i][2:4]]
        spare = max(used, default=0)
        self.parts: dict[int, list[tuple[StepType, Slot, Slot]]] = {}
        for order in sequences.values():
            for task in order:
                self.parts[task] = plain_steps(tasks[task], source[task], Slot(Buffer.SCRATCH, spare), target)
            spare += max(tasks[task].cnt for task in order)
        awaited = {need for sequence in sequences.values() for task in sequence for need in after[task]}
        # Dependencies name blocks in eight bits, so blocks that others wait for come first.
        self.order = sorted(sequences, key=lambda block: (awaited.isdisjoint(sequences[block]), block))
        self.awaited = awaited
        self.flag: dict[int, _Flag] = {}
        for number, block in enumerate(self.order):
            position = 0
            for task in sequences[block]:
                position += max(1, len(after[task])) + len(self.parts[task]) - 1
                self.flag[task] = (number, position - 1)

    def blocks(self) -> tuple[ThreadBlock, ...]:
        return tuple(
            ThreadBlock(number, block.send, block.recv, block.channel, tuple(self._steps(block)))
            for number, block in enumerate(self.order)
        )

    def _steps(self, block: Block) -> list[Step]:
        steps = []
        for task in self.sequences[block]:
            needs = [self.flag[need] for need in self.after[task]]
            what = self.tasks[task]
            steps += [Step(StepType.NOP, what.src, what.dst, 0, need) for need in needs[:-1]]
            depends = needs[-1] if needs else None
            *early, last = self.parts[task]
            for part in early:
                steps.append(Step(*part, what.cnt, depends))
                depends = None
            steps.append(Step(*last, what.cnt, depends, task in self.awaited))
        return steps


def _lift(
    blocks: tuple[ThreadBlock, ...], rank: int, schedule: Schedule, lanes: Sequence[int]
) -> list[tuple[int, tuple[ThreadBlock, ...]]]:
    """Return the blocks of every image of a representative rank."""
    demand, symmetry = schedule.demand, schedule.symmetry
    if symmetry is None:
        return [(rank, blocks)]
    group = symmetry.group
    slots = list({slot: None for block in blocks for step in block.steps for slot in (step.src, step.dst)})
    lifted = []
    for element in range(group.order):
        chunks = symmetry.chunks[element].tolist()
        moved = dict(zip(slots, _moved(slots, demand, rank, chunks), strict=True))
        channel = {lane: lanes[chunk] for lane, chunk in zip(lanes, chunks, strict=False)}
        peers = [*group.ranks[element].tolist(), -1]
        images = tuple(
            ThreadBlock(
                b.id, peers[b.send], peers[b.recv], channel.get(b.channel, b.channel), _moved_steps(b.steps, moved)
            )
            for b in blocks
        )
        lifted.append((peers[rank], images))
    return lifted


def _moved_steps(steps: Sequence[Step], moved: dict[Slot, Slot]) -> tuple[Step, ...]:
    return tuple(
        Step(kind, moved[src], moved[dst], cnt, depends, flag) for kind, src, dst, cnt, depends, flag, _ in steps
    )


def _moved(slots: Sequence[Slot], demand: Demand, rank: int, chunks: list[int]) -> list[Slot]:
    """Return where a symmetry sends the slots of a representative rank; scratch keeps its place."""
    table: dict[Slot, Slot] = {}
    for buffer, offset_of, ends in (
        (Buffer.INPUT, input_offset, demand.sources.tolist()),
        (Buffer.OUTPUT, output_offset, demand.targets.tolist()),
    ):
        for chunk in [c for c, end in enumerate(ends) if end in {rank, ALL}]:
            table[Slot(buffer, offset_of(demand, chunk))] = Slot(buffer, offset_of(demand, chunks[chunk]))
    return [table.get(slot, slot) for slot in slots]
