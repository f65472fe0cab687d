"""Messages that follow each other, of chunks that lie beside each other, travel in one step: each step costs time.

A step moves ``cnt`` chunks that are consecutive wherever it reads and writes. Messages are merged where nobody waits
longer than for the step that is saved: what the later ones wait for has happened when the first one starts, and what
waits for the first one starts when the last one has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from syccl.lowering.emit import operands
from syccl.lowering.layout import Places
from syccl.lowering.lowered import Lowered
from syccl.lowering.machine import machine_of
from syccl.lowering.tasks import Task
from syccl.program import StepType
from syccl.simulate.cost import Protocol, chunk_loop
from syccl.simulate.engine import run_static
from syccl.simulate.machine import DryRun, recorded
from syccl.simulate.profile import costs_of

_WORTH = 0.005
"""Share of the messages that must become fewer."""


def merged(lowered: Lowered, protocol: Protocol, *, size_bytes: int) -> Lowered:
    """Return the program with fewer steps, or the same one where there are none to save or it would be slower.

    Runs are first chosen as if a long message were taken in as soon as a short one, as is nearly so where much is on
    the way; then by what it takes. No step becomes more than one message at this size. Thread blocks that both send and
    receive keep their steps: two that send several messages to each other could wait for each other at larger sizes.
    """
    loop = chunk_loop(size_bytes / lowered.schedule.demand.buffer_chunks, protocol)
    most = min(loop.chunks_per_message, lowered.target.count)
    tasks = _settled(lowered)
    messages = _messages(tasks)
    follows = _neighbours(lowered, tasks, messages) if most > 1 else []
    if not follows:
        return lowered
    costs = costs_of(lowered.schedule.topology, protocol)
    slice_s = loop.chunk_bytes * protocol.wire_factor / costs.thread_block_rate / costs.slices
    for chunk_s in (0.0, slice_s):
        clocks = _Clocks(tasks, messages, lowered.run, (chunk_s, costs.step_s))
        runs = _runs(follows, clocks, most)
        if sum(len(run) - 1 for run in runs) < _WORTH * len(messages):
            continue
        joined, run = _joined(tasks, messages, lowered.run, runs)
        machine = machine_of(lowered.schedule, joined, protocol, size_bytes=size_bytes)
        done = run_static(recorded(machine, run), iterations=loop.iterations)
        if not done.stuck and done.seconds <= lowered.seconds:
            return replace(lowered, tasks=joined, run=run, seconds=done.seconds)
    return lowered


def _settled(lowered: Lowered) -> tuple[Task, ...]:
    """Return the tasks with the order of sums that the dry run found in place of locks."""
    source = operands(lowered.tasks, lowered.run)
    before = {second: first for order in lowered.run.lock_order for first, second in pairwise(order)}
    return tuple(
        task._replace(src=source[i], lock=-1, after=(*task.after, before[i]) if i in before else task.after)
        for i, task in enumerate(lowered.tasks)
    )


def _messages(tasks: Sequence[Task]) -> dict[int, int]:
    """Return the task that takes what each task sends."""
    taker = {task.row_in: i for i, task in enumerate(tasks) if task.row_in >= 0}
    return {i: taker[task.row_out] for i, task in enumerate(tasks) if task.row_out >= 0}


def _neighbours(lowered: Lowered, tasks: Sequence[Task], messages: dict[int, int]) -> list[tuple[int, int]]:
    """Return pairs of sends, the second right after the first at both ends, that could be one by what they move."""
    previous = {second: first for order in lowered.run.order for first, second in pairwise(order)}
    places = Places(lowered.schedule)
    routes = lowered.schedule.transfers.route
    found = []
    for second, first in previous.items():
        if tasks[first].type is not StepType.SEND or tasks[second].type is not StepType.SEND:
            continue
        taken, taken_next = messages[first], messages[second]
        if previous.get(taken_next) != taken or routes[tasks[first].row_out] != routes[tasks[second].row_out]:
            continue
        ends = ((tasks[first], tasks[second]), (tasks[taken], tasks[taken_next]))
        if all(_is_one_ended(a) and a.type is b.type and _are_beside(places, a, b) for a, b in ends):
            found.append((first, second))
    return found


def _is_one_ended(task: Task) -> bool:
    return (task.block.send < 0) != (task.block.recv < 0)


def _are_beside(places: Places, first: Task, second: Task) -> bool:
    """Return whether what one task reads and writes lies right before what another one does, on every image."""
    return all(
        a.buffer is b.buffer and a.offset + first.cnt == b.offset and places.stay_apart(first.block.rank, a, b)
        for a, b in ((first.src, second.src), (first.dst, second.dst))
    )


class _Moment(NamedTuple):
    """When a task could start, did, and ended, and when the first one that waits for it started, or all was over; s."""

    released: float
    start: float
    finish: float
    needed: float


class _Clocks:
    """What the dry run says about the ends of a message.

    Parameters
    ----------
    prices
        How much later a message that is longer by one chunk is taken in, and what a step costs; seconds.
    """

    def __init__(
        self, tasks: Sequence[Task], messages: dict[int, int], run: DryRun, prices: tuple[float, float]
    ) -> None:
        released, needed = [0.0] * len(tasks), [run.seconds] * len(tasks)
        for i, task in enumerate(tasks):
            for before in task.after:
                released[i] = max(released[i], run.finish[before])
                needed[before] = min(needed[before], run.start[i])
        self._moments = list(map(_Moment, released, run.start, run.finish, needed))
        self._messages, self._prices = messages, prices
        self.chunks = [task.cnt for task in tasks]

    def agree(self, sends: Sequence[int], later: int) -> bool:
        """Return whether nobody waits longer than for a step when a further send joins a run of them."""
        chunk_s, step_s = self._prices
        receives = [self._messages[send] for send in sends]
        longer_s = sum(self.chunks[send] for send in sends) * chunk_s
        return self._agree(sends, later, step_s) and self._agree(receives, self._messages[later], step_s - longer_s)

    def _agree(self, tasks: Sequence[int], later: int, slack_s: float) -> bool:
        first, last = self._moments[tasks[0]], self._moments[later]
        needed = min(last.needed, *(self._moments[task].needed for task in tasks))
        return last.released <= first.start + max(0.0, slack_s) and last.finish <= needed + slack_s


def _runs(follows: Sequence[tuple[int, int]], clocks: _Clocks, most: int) -> list[list[int]]:
    """Return runs of sends that become one step each."""
    runs: dict[int, list[int]] = {}
    for first, second in follows:
        run = runs.pop(first, [first])
        chunks = sum(clocks.chunks[send] for send in run) + clocks.chunks[second]
        if chunks <= most and clocks.agree(run, second):
            runs[second] = [*run, second]
        else:
            runs[run[-1]] = run
    return [run for run in runs.values() if len(run) > 1]


def _joined(
    tasks: Sequence[Task], messages: dict[int, int], run: DryRun, runs: Sequence[Sequence[int]]
) -> tuple[tuple[Task, ...], DryRun]:
    """Return the tasks with each run as one, and the dry run of them."""
    into = list(range(len(tasks)))
    for first, *rest in runs:
        for send in rest:
            into[send], into[messages[send]] = first, messages[first]
    kept = [i for i, target in enumerate(into) if target == i]
    number = {old: new for new, old in enumerate(kept)}
    count, after = [0] * len(kept), [dict[int, None]() for _ in kept]
    finish = [0.0] * len(kept)
    for i, task in enumerate(tasks):
        new = number[into[i]]
        count[new] += task.cnt
        finish[new] = max(finish[new], run.finish[i])
        after[new].update(dict.fromkeys(number[into[before]] for before in task.after))
    joined = tuple(tasks[old]._replace(cnt=count[new], after=tuple(after[new])) for new, old in enumerate(kept))
    order = tuple(tuple(number[i] for i in sequence if into[i] == i) for sequence in run.order)
    return joined, DryRun([run.start[i] for i in kept], finish, run.seconds, (), order, ())
