"""Lowering with choice: several wirings are tried in the quotient, the fastest program within the limits wins."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from syccl.collective import ALL
from syccl.errors import GaveUpError
from syccl.lowering.channels import divided, shared_seconds, work_of
from syccl.lowering.emit import Form, dependencies, emit, operands, plain_steps
from syccl.lowering.lowered import Lowered, Unfit
from syccl.lowering.machine import machine_of, remaining_s
from syccl.lowering.merge import merged
from syccl.lowering.tasks import Block, Task, Wiring, ends_of, plan_tasks
from syccl.program import Program, StepType
from syccl.program.targets import Target
from syccl.schedule import Schedule
from syccl.simulate.cost import Protocol, chunk_loop
from syccl.simulate.dry_run import dry_run
from syccl.simulate.engine import run_static
from syccl.simulate.machine import DryRun, recorded
from syccl.simulate.profile import costs_of
from syccl.simulate.schedule_time import schedule_time

_SPARE = 1.2
"""Channels are counted so that one fifth of a thread block's rate is left over."""
_CHANNEL_TRIALS = 2
_STEPS_OF_SUM = 2
"""Steps that receive a chunk and add it, on runtimes that do not do both at once; the first sum may take one more."""
_ROWS_OF_STEPS = 0.75
"""Rows that a thread block is given in place of its steps, as some wait for several others and take more steps."""
_FILLS = (0.4, 0.5, 0.6, 0.8, 1.0)
"""Shares of the whole time that a thread block may be busy where channels follow the work of each connection: the first
that leaves few enough blocks is taken."""
_FEW_COPIES = 4
"""Largest symmetry order for which more is tried: its ranks are unlike, so that a good order is harder to find."""
_RUN = 8
"""Rows that a channel is given in a row, so that more of them travel in one step, where steps cost time or are many."""
_SHORT_S = 30e-6
"""Below this time more channels are tried: few messages fit into a connection, so waiting for slots counts."""
_COPY_SHARE = 0.5
"""Local copies should take no more than this share of the whole time."""


_STUCK = Unfit("deadlock in the dry run", is_stuck=True)


def lower(
    schedule: Schedule, wiring: Wiring, protocol: Protocol, target: Target, *, size_bytes: int
) -> Lowered | Unfit:
    """Return the schedule lowered with one wiring, or why it does not fit.

    What can be counted before the dry run is, since that takes long for programs that are far too large.
    """
    wiring = wiring if StepType.RECV_COPY_SEND in target.step_types else replace(wiring, fuse=False)
    tasks = plan_tasks(schedule, wiring)
    unfit = _first_broken(_counts(schedule, tasks, target), target)
    if unfit:
        return unfit
    machine = machine_of(schedule, tasks, protocol, size_bytes=size_bytes)
    run = dry_run(replace(machine, priority=remaining_s(machine)) if wiring.urgent else machine)
    if run.stuck:
        return _STUCK
    unfit = _first_broken(_step_counts(schedule, tasks, run, target), target)
    if unfit:
        return unfit
    loop = chunk_loop(size_bytes / schedule.demand.buffer_chunks, protocol)
    # A dry run takes as long as its repetition.
    done = run if loop.iterations == 1 else run_static(recorded(machine, run), iterations=loop.iterations)
    if done.stuck:
        return _STUCK
    plain = Lowered(schedule, wiring, tasks, run, done.seconds, target)
    return merged(plain, protocol, size_bytes=size_bytes)


def lowerings(
    schedule: Schedule, protocol: Protocol, target: Target, *, size_bytes: int, about_s: float
) -> Iterator[tuple[Wiring, Lowered | Unfit]]:
    """Yield the schedule lowered with each wiring worth trying, or why it does not fit.

    Where all end in a deadlock in the dry run, more channels are tried: they hold more messages under way, so that
    those of an exchange do not block each other.

    Parameters
    ----------
    about_s
        As for `wirings`.
    """
    queue = deque(wirings(schedule, protocol, target, size_bytes=size_bytes, about_s=about_s))
    any_fits = False
    while queue:
        wiring = queue.popleft()
        lowered = lower(schedule, wiring, protocol, target, size_bytes=size_bytes)
        any_fits |= isinstance(lowered, Lowered)
        blocked = isinstance(lowered, Unfit) and lowered.is_stuck
        if blocked and not any_fits and not queue and 2 * wiring.channels <= target.channels:
            queue.append(replace(wiring, channels=2 * wiring.channels))
        yield wiring, lowered


def fastest(schedule: Schedule, protocol: Protocol, target: Target, *, size_bytes: int) -> Lowered:
    """Return the fastest program of a schedule that fits a runtime.

    Raises
    ------
    GaveUpError
        When none does; it names the limit that the last one tried breaks.
    """
    about_s = schedule_time(schedule, size_bytes=size_bytes).seconds
    limit, fitting = "", list[Lowered]()
    for _, lowered in lowerings(schedule, protocol, target, size_bytes=size_bytes, about_s=about_s):
        if isinstance(lowered, Lowered):
            fitting.append(lowered)
        else:
            limit = lowered.limit
    if not fitting:
        msg = f"no program of this schedule fits {target.name}: {limit}; synthesize one for it: syccl synth --target"
        raise GaveUpError(msg)
    return min(fitting, key=lambda lowered: lowered.seconds)


def wirings(
    schedule: Schedule, protocol: Protocol, target: Target, *, size_bytes: int, about_s: float
) -> tuple[Wiring, ...]:
    """Return the wirings worth trying.

    Parameters
    ----------
    about_s
        Estimate of the whole time in seconds; says how much each connection must carry.
    """
    plain = Wiring(1)
    ends = ends_of(schedule, plain)
    chunk_bytes = size_bytes / schedule.demand.buffer_chunks
    work = work_of(schedule, ends)
    busiest = max(work.chunks.values(), default=0) * chunk_bytes * protocol.wire_factor
    most_steps = target.steps // (1 if _sums_at_once(schedule, target) else _STEPS_OF_SUM)
    longest = max(work.rows.values(), default=0) / most_steps
    most_rows = round(most_steps * _ROWS_OF_STEPS)
    costs = costs_of(schedule.topology, protocol)
    needed = math.ceil(max(1.0, longest, _SPARE * busiest / max(about_s * costs.thread_block_rate, 1.0)))
    copied = _copied_bytes(schedule, chunk_bytes)
    copies = max(1, math.ceil(copied / max(_COPY_SHARE * about_s * costs.local_rate, 1.0)))
    ends_per_rank = 2 * max(Counter(rank for rank, _ in work.rows).values(), default=0)
    copies = min(copies, max(1, target.blocks - ends_per_rank))
    if ends_per_rank + copies > target.blocks:
        if schedule.demand.counts.max(initial=1) > 1:
            # Steps of many chunks travel as several messages, which blocks with two ends could wait for in a circle.
            return (plain,)
        return _crowded(ends_per_rank // 2, target, needed)
    room = target.blocks - copies
    most = max(1, room // max(1, ends_per_rank))
    rows = range(most_rows, most_steps + 1)
    by_rows = Wiring(1, copy_blocks=copies, own=divided(work, work.rows, rows, most_rows=most_steps, room=room))
    few_copies = schedule.symmetry is None or schedule.symmetry.group.order <= _FEW_COPIES
    follow: list[Wiring] = []
    if few_copies and work.is_uneven:
        load = shared_seconds(schedule, ends, work, costs)
        limits = [fill * about_s / (chunk_bytes * protocol.wire_factor) for fill in _FILLS]
        shares = divided(work, load, limits, most_rows=most_rows, room=room)
        follow = [replace(by_rows, own=shares, urgent=True), replace(by_rows, urgent=True)]
    if math.ceil(longest) > most:
        return (*follow, by_rows, replace(by_rows, run=_RUN, urgent=True))
    base = 1 << (needed - 1).bit_length()
    if about_s < _SHORT_S:
        numbers = sorted({min(n, most) for n in (needed, base, 2 * base, 4 * base)})
    else:
        numbers = sorted({min(n, most) for n in (needed, base, 2 * base)})[-_CHANNEL_TRIALS:]
    found = [*follow, *(Wiring(n, copy_blocks=copies) for n in numbers)]
    if few_copies:
        found.append(replace(found[-1], urgent=True))
    if costs.charges_steps:
        found.append(Wiring(numbers[-1], copy_blocks=copies, run=_RUN))
    loops = chunk_loop(chunk_bytes, protocol).iterations > 1
    mixed = bool(schedule.transfers.reduce.any()) and not bool(schedule.transfers.reduce.all())
    if loops and mixed and 2 * base <= most:
        found.append(Wiring(base, split=True, copy_blocks=copies))
    return tuple(found)


def _crowded(peers: int, target: Target, needed: int) -> tuple[Wiring, ...]:
    """Return the wiring for ranks that have too many peers for two blocks each."""
    groups = math.ceil(peers / target.peers)
    most = min((target.blocks - 1) // peers, target.channels // groups)
    return (Wiring(max(1, min(needed, most)), paired=True, groups=groups),)


def _sums_at_once(schedule: Schedule, target: Target) -> bool:
    """Return whether each transfer is one step: a runtime may need several to receive what is to be added."""
    return StepType.RECV_REDUCE_COPY in target.step_types or not schedule.transfers.reduce.any()


def _copied_bytes(schedule: Schedule, chunk_bytes: float) -> float:
    """Return the bytes that a rank copies from its input to its output: what it both holds and wants."""
    demand = schedule.demand
    if demand.op.reduces:
        return 0.0
    ranks = np.arange(demand.ranks)[:, None]
    holds = (demand.sources == ranks) & ((demand.targets == ranks) | (demand.targets == ALL))
    return float((holds * demand.counts).sum(axis=1).max(initial=0)) * chunk_bytes


_Count = tuple[str, int, int]
"""What is counted, how many there are, and how many a runtime has room for."""


def _counts(schedule: Schedule, tasks: Sequence[Task], target: Target) -> tuple[_Count, ...]:
    """Return what a program has of each thing that a runtime limits, at least where that depends on its order."""
    blocks = {task.block for task in tasks}
    per_rank = Counter(block.rank for block in blocks)
    elements = per_rank + Counter(task.block.rank for task in tasks)
    ends = Counter((block.rank, block.channel, "send") for block in blocks if block.send >= 0)
    ends += Counter((block.rank, block.channel, "receive") for block in blocks if block.recv >= 0)
    return (
        ("channels", 1 + max((block.channel for block in blocks), default=0), target.channels),
        ("thread blocks", max(per_rank.values(), default=0), target.blocks),
        ("peers on a channel", max(ends.values(), default=0), target.peers),
        ("steps in a thread block", max(Counter(task.block for task in tasks).values(), default=0), target.steps),
        ("XML elements", 1 + schedule.demand.ranks + max(elements.values(), default=0), target.nodes),
        ("chunks", schedule.demand.buffer_chunks, target.chunks),
        ("chunks in a step", max((task.cnt for task in tasks), default=0), target.count),
    )


def _step_counts(schedule: Schedule, tasks: Sequence[Task], run: DryRun, target: Target) -> tuple[_Count, ...]:
    """Return the same of what follows from the order: steps that wait take more steps."""
    after = dependencies(tasks, run)
    steps: Counter[Block] = Counter()
    source = operands(tasks, run)
    for i, (task, needs) in enumerate(zip(tasks, after, strict=True)):
        parts = plain_steps(task, source[i], task.dst, target)
        steps[task.block] += max(1, len(needs)) + len(parts) - 1
    of_rank: Counter[int] = Counter()
    for block, count in steps.items():
        of_rank[block.rank] += 1 + count
    awaited = Counter(block.rank for block in {tasks[need].block for needs in after for need in needs})
    return (
        ("steps in a thread block", max(steps.values(), default=0), target.steps),
        ("awaited thread blocks", max(awaited.values(), default=0), target.awaited_blocks),
        ("XML elements", 1 + schedule.demand.ranks + max(of_rank.values(), default=0), target.nodes),
    )


def _first_broken(counts: Sequence[_Count], target: Target) -> Unfit | None:
    broken = (f"{count} {what}, {target.name} allows {limit}" for what, count, limit in counts if count > limit)
    return next(map(Unfit, broken), None)


def program_of(lowered: Lowered, protocol: Protocol, *, name: str) -> Program:
    """Return the whole program of a lowered schedule."""
    form = Form(name, protocol.name, lowered.target, lowered.wiring.lanes)
    return emit(lowered.schedule, lowered.tasks, lowered.run, form)
