"""A slow, obvious simulator of the same model: no classes, no memo, no graph; everything is looked at at every event.

Every rule is checked where it is stated: a block looks at its next task and asks whether it may start now.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from syccl.simulate.machine import Machine

EPSILON = 1e-13


@dataclass
class Message:
    sender: int
    connection: int
    left: float
    slice_arrives: float = math.inf
    arrives: float = math.inf
    taken: bool = False


@dataclass
class State:
    machine: Machine
    now: float = 0.0
    start: dict[int, float] = field(default_factory=dict)
    finish: dict[int, float] = field(default_factory=dict)
    sent: dict[int, Message] = field(default_factory=dict)
    fifo: dict[int, list[Message]] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)
    takes: dict[int, Message] = field(default_factory=dict)


def reference_run(machine: Machine) -> tuple[dict[int, float], dict[int, float]]:
    """Start and finish of every task that runs."""
    state = State(machine, now=machine.launch_s)
    blocks: dict[int, list[int]] = {}
    for task, block in enumerate(machine.block):
        blocks.setdefault(block, []).append(task)
    while True:
        while finish_one(state) or any(try_start(state, tasks) for tasks in blocks.values()):
            pass
        step = min((time - state.now for time in next_times(state)), default=math.inf)
        if step == math.inf:
            return state.start, state.finish
        advance(state, max(step, 0.0))


def try_start(state: State, tasks: list[int]) -> bool:
    """Start a block's next task if all that it needs is there."""
    machine = state.machine
    task = next((t for t in tasks if t not in state.finish), None)
    if task is None or task in state.start:
        return False
    if any(before not in state.finish for before in machine.prerequisites[task]):
        return False
    sends, receives = machine.sends[task], machine.receives[task]
    if sends >= 0 and len(state.fifo.get(sends, [])) - state.received.get(sends, 0) >= machine.depth:
        return False
    if receives >= 0 and sends >= 0:
        message = next_message(state, receives)
        if message is None or message.slice_arrives > state.now + EPSILON:
            return False
        message.taken, state.takes[task] = True, message
    state.start[task] = state.now
    if sends >= 0:
        state.sent[task] = Message(task, sends, machine.size[task])
        state.fifo.setdefault(sends, []).append(state.sent[task])
    return True


def next_message(state: State, connection: int) -> Message | None:
    return next((m for m in state.fifo.get(connection, []) if not m.taken), None)


def began(state: State, task: int) -> float:
    """When the bytes of a started task may move: after its overhead."""
    return state.start[task] + (state.machine.overheads[task] if state.machine.overheads else 0.0)


def ends_at(state: State, task: int) -> float:
    """When a started task ends, as far as that is known; infinite while a message is still on its way out or in."""
    machine = state.machine
    is_local = machine.sends[task] < 0 and machine.receives[task] < 0
    rate = machine.thread_block_rate if machine.local_rate is None or not is_local else machine.local_rate
    copy = machine.size[task] / rate
    if machine.receives[task] >= 0 and task not in state.takes:
        message = next_message(state, machine.receives[task])
        if message is None:
            return math.inf
        message.taken, state.takes[task] = True, message
    if task in state.takes:
        whole = state.takes[task].arrives + copy / machine.slices
        if machine.sends[task] < 0:
            return max(whole, began(state, task) + copy)
        return whole if state.sent[task].left <= 0 else math.inf
    if machine.sends[task] >= 0:
        return state.now if state.sent[task].left <= 0 else math.inf
    return began(state, task) + copy


def finish_one(state: State) -> bool:
    """End one started task that is over."""
    machine = state.machine
    for task in sorted(state.start):
        if task not in state.finish and ends_at(state, task) <= state.now + EPSILON:
            state.finish[task] = state.now
            if task in state.sent:
                state.sent[task].arrives = state.now + machine.routes[machine.route[task]].latency_s
            if machine.receives[task] >= 0:
                connection = machine.receives[task]
                state.received[connection] = state.received.get(connection, 0) + 1
            return True
    return False


def flows(state: State) -> list[Message]:
    return [
        message
        for message in state.sent.values()
        if message.left > 0 and began(state, message.sender) <= state.now + EPSILON
    ]


def slice_left(state: State, message: Message) -> float:
    """Bytes until the first slice has gone."""
    size = state.machine.size[message.sender]
    return message.left - size * (1 - 1 / state.machine.slices)


def next_times(state: State) -> list[float]:
    rates = fair_rates(state)
    times = [ends_at(state, task) for task in state.start if task not in state.finish]
    times += [began(state, task) for task in state.start if began(state, task) > state.now + EPSILON]
    times += [m.slice_arrives for m in state.sent.values() if m.slice_arrives > state.now + EPSILON]
    for message, rate in rates:
        times.append(state.now + message.left / rate)
        if message.slice_arrives == math.inf:
            times.append(state.now + slice_left(state, message) / rate)
    return [time for time in times if time < math.inf]


def advance(state: State, step: float) -> None:
    machine = state.machine
    rates = fair_rates(state)
    state.now += step
    for message, rate in rates:
        message.left -= rate * step
        if message.left / rate < EPSILON:
            message.left = 0.0
        if message.slice_arrives == math.inf and slice_left(state, message) / rate < EPSILON:
            message.slice_arrives = state.now + machine.routes[machine.route[message.sender]].latency_s


def fair_rates(state: State) -> list[tuple[Message, float]]:
    """Max-min fair rates of the messages under way: raise all together, stop those on a full resource or at the cap."""
    machine = state.machine
    uses = {id(m): dict(machine.routes[machine.route[m.sender]].uses) for m in flows(state)}
    rate = dict.fromkeys(uses, 0.0)
    rising = list(uses)
    while rising:
        rises = [machine.thread_block_rate - rate[rising[0]]]
        for resource, capacity in enumerate(machine.capacities):
            slope = sum(uses[m].get(resource, 0.0) for m in rising)
            if slope > 0:
                rises.append((capacity - load(uses, rate, resource)) / slope)
        rise = min(rises)
        for m in rising:
            rate[m] += rise
        full = {
            resource
            for resource, capacity in enumerate(machine.capacities)
            if load(uses, rate, resource) >= capacity * (1 - 1e-12)
        }
        capped = rise == rises[0]
        rising = [m for m in rising if not capped and not full & {r for r, w in uses[m].items() if w > 0}]
    return [(message, rate[id(message)]) for message in flows(state)]


def load(uses: dict[int, dict[int, float]], rate: dict[int, float], resource: int) -> float:
    return sum(rate[m] * uses[m].get(resource, 0.0) for m in uses)
