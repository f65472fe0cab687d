"""The fluid simulator of thread blocks, connections and shared links.

Model. A thread block does its tasks one after another; links are shared max-min fairly.

* A *send* starts when its connection has a free slot. Its message flows at the rate that its links share out, at most
  the thread block rate, and occupies the block until its last byte has left; it arrives the route's latency later.
* A *connection* is a FIFO of ``depth`` messages. A slot is taken when a send starts and freed when the receiver has
  finished with the message.
* A *receive* copies its message out at the thread block rate, overlapped with the transfer slice by slice: it ends at
  the later of arrival + one slice's copy and start + the whole copy.
* A *fused* step starts when the first slice has arrived and a slot for the outgoing message is free. Its last byte
  leaves no earlier than one slice's copy after the whole incoming message has arrived. It frees the incoming slot then.
* A *local* step takes its bytes over the thread block rate.
* A task waits for its prerequisites to finish.
* A task with an overhead occupies its block that long before its bytes move. Nothing starts before the launch is over.

Events within one part in 1e9 of each other happen together, so that symmetric blocks stay in step; rates are worked
out once for each such batch. Flows of one class have equal rates at all times, so a class keeps one clock of bytes
served per flow and a heap of the readings at which flows end.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from heapq import heappop, heappush

from syccl.simulate.fair_share import FairShare
from syccl.simulate.machine import Machine, Run

_NOT_YET = -1.0
_TOLERANCE = 1 + 1e-9
_FEMTOSECOND = 1e-15


class Engine(ABC):
    """Flows, messages and timers; subclasses decide what starts when.

    Events carry codes: ``task`` for an end, ``task + tasks`` for the first slice of the task's message,
    ``task + 2 * tasks`` for the end of its overhead.
    """

    def __init__(self, machine: Machine, iterations: int = 1) -> None:
        once = len(machine.block)
        n = self.tasks = once * iterations
        rate = machine.thread_block_rate
        kinds: dict[tuple[tuple[int, float], ...], int] = {}
        class_of_route = [kinds.setdefault(tuple(route.uses), len(kinds)) for route in machine.routes]
        latency_of_route = [route.latency_s for route in machine.routes]
        self.size = list(machine.size) * iterations
        self.flow_class = [class_of_route[r] if r >= 0 else -1 for r in machine.route] * iterations
        self.latency = [latency_of_route[r] if r >= 0 else 0.0 for r in machine.route] * iterations
        self.copy_time = _copy_times(machine) * iterations
        self.overhead = list(machine.overheads) * iterations
        self.slices = machine.slices
        self.now = machine.launch_s
        self.start = [_NOT_YET] * n
        self.began = [_NOT_YET] * n if self.overhead else self.start
        self.finish = [_NOT_YET] * n
        self.arrival = [_NOT_YET] * n
        self.source = [-1] * n
        self.consumer = [-1] * n
        self.wants_slice = [False] * n
        self._flow_over = [False] * n
        self._share = FairShare(machine.capacities, list(kinds), [rate] * len(kinds))
        self._rates = [rate] * len(kinds)
        self._served = [0.0] * len(kinds)
        self._since = [0.0] * len(kinds)
        self._targets: list[list[tuple[float, int]]] = [[] for _ in kinds]
        self._scheduled = [_NOT_YET] * len(kinds)
        self._stamps = [0] * len(kinds)
        self._touched: list[int] = []
        self._timers: list[tuple[float, int]] = []
        self._ends: list[tuple[float, int, int]] = []

    @abstractmethod
    def dispatch(self) -> None:
        """Start what can start after a batch of events."""

    @abstractmethod
    def finished(self, task: int) -> None:
        """Do what a task's end makes possible."""

    @abstractmethod
    def slice_arrived(self, task: int) -> None:
        """Do what the arrival of the first slice of a task's message makes possible."""

    def run(self) -> None:
        """Process events until none is left."""
        timers, ends, stamps, n = self._timers, self._ends, self._stamps, self.tasks
        flow_class, finished, slice_arrived = self.flow_class, self.finished, self.slice_arrived
        self.dispatch()
        self._settle()
        while True:
            while ends and stamps[ends[0][1]] != ends[0][2]:
                heappop(ends)
            if ends and (not timers or ends[0][0] <= timers[0][0]):
                self.now = ends[0][0]
            elif timers:
                self.now = timers[0][0]
            else:
                return
            limit = self.now * _TOLERANCE + _FEMTOSECOND
            while timers and timers[0][0] <= limit:
                code = heappop(timers)[1]
                if code >= 2 * n:
                    self._move(code - 2 * n)
                elif code >= n:
                    slice_arrived(code - n)
                elif flow_class[code] >= 0:
                    self._sent(code)
                else:
                    self.finish[code] = self.now
                    finished(code)
            while ends and ends[0][0] <= limit:
                _, k, stamp = heappop(ends)
                if stamps[k] == stamp:
                    self._serve(k, limit)
            self.dispatch()
            self._settle()

    def launch(self, task: int) -> None:
        """Start a task now."""
        self.start[task] = self.now
        if self.overhead and self.overhead[task] > 0:
            heappush(self._timers, (self.now + self.overhead[task], task + 2 * self.tasks))
        else:
            self._move(task)

    def _move(self, task: int) -> None:
        """Let a task's bytes move now."""
        now = self.now
        self.began[task] = now
        k = self.flow_class[task]
        if k >= 0:
            reading = self._served[k] + (now - self._since[k]) * self._rates[k]
            size = self.size[task]
            targets = self._targets[k]
            heappush(targets, (reading + size, task))
            if self.wants_slice[task]:
                heappush(targets, (reading + size / self.slices, task + self.tasks))
            self._share.counts[k] += 1
            self._touched.append(k)
            return
        source = self.source[task]
        if source < 0:
            heappush(self._timers, (now + self.copy_time[task], task))
            return
        arrival = self.arrival[source]
        if arrival >= 0:
            copy = self.copy_time[task]
            heappush(self._timers, (max(arrival + copy / self.slices, now + copy), task))

    def _serve(self, k: int, limit: float) -> None:
        """End the flows and slices of class ``k`` that are over by ``limit``."""
        targets, n = self._targets[k], self.tasks
        reading = self._served[k] + (limit - self._since[k]) * self._rates[k]
        reading = max(reading, targets[0][0])
        counts = self._share.counts
        while targets and targets[0][0] <= reading:
            code = heappop(targets)[1]
            if code < n:
                counts[k] -= 1
                self._flow_ended(code)
            else:
                heappush(self._timers, (self.now + self.latency[code - n], code))
        self._scheduled[k] = _NOT_YET
        self._touched.append(k)

    def _flow_ended(self, task: int) -> None:
        source = self.source[task]
        if source < 0:
            self._sent(task)
            return
        self._flow_over[task] = True
        arrival = self.arrival[source]
        if arrival >= 0:
            end = arrival + self.copy_time[task] / self.slices
            if end <= self.now * _TOLERANCE + _FEMTOSECOND:
                self._sent(task)
            else:
                heappush(self._timers, (end, task))

    def _sent(self, task: int) -> None:
        """End a task whose message's last byte has left."""
        now = self.now
        arrival = self.arrival[task] = now + self.latency[task]
        taker = self.consumer[task]
        if taker >= 0:
            began = self.began[taker]
            if self.flow_class[taker] >= 0:
                if self._flow_over[taker]:
                    heappush(self._timers, (arrival + self.copy_time[taker] / self.slices, taker))
            elif began >= 0:
                copy = self.copy_time[taker]
                heappush(self._timers, (max(arrival + copy / self.slices, began + copy), taker))
        self.finish[task] = now
        self.finished(task)

    def _settle(self) -> None:
        """Bring rates up to date and note when each changed class has its next end."""
        touched = self._touched
        if not touched:
            return
        now, rates, served, since = self.now, self._rates, self._served, self._since
        for k in self._share.update(touched):
            served[k] += (now - since[k]) * rates[k]
            since[k] = now
            rates[k] = self._share.rates[k]
            self._scheduled[k] = _NOT_YET
            touched.append(k)
        scheduled, stamps = self._scheduled, self._stamps
        for k in touched:
            targets = self._targets[k]
            if targets and targets[0][0] != scheduled[k]:
                target = scheduled[k] = targets[0][0]
                stamps[k] += 1
                heappush(self._ends, (since[k] + (target - served[k]) / rates[k], k, stamps[k]))
        touched.clear()


def outcome(engine: Engine) -> tuple[list[float], list[float], float, tuple[int, ...]]:
    """Return start, finish (NaN where there is none), the last finish and the tasks without one."""
    start, finish = engine.start, engine.finish
    seconds = max(0.0, *finish) if finish else 0.0
    stuck = tuple(i for i, end in enumerate(finish) if end < 0)
    if stuck:
        start = [time if time >= 0 else math.nan for time in start]
        finish = [time if time >= 0 else math.nan for time in finish]
    return start, finish, seconds, stuck


def _copy_times(machine: Machine) -> list[float]:
    """Return how long a block takes for the bytes of each task."""
    rate = machine.thread_block_rate
    local = rate if machine.local_rate is None else machine.local_rate
    ends = zip(machine.size, machine.sends, machine.receives, strict=True)
    return [size / (rate if sends >= 0 or receives >= 0 else local) for size, sends, receives in ends]


class _StaticEngine(Engine):
    """Each block's order is given, so who waits for whom is a fixed graph: only rates are found while running."""

    def __init__(self, machine: Machine, iterations: int) -> None:
        super().__init__(machine, iterations)
        self.missing = [0] * self.tasks
        self.after: list[list[int]] = [[] for _ in range(self.tasks)]
        once = len(machine.block)
        for k in range(iterations):
            base = k * once
            for task, prerequisites in enumerate(machine.prerequisites):
                for before in prerequisites:
                    self._precede(base + before, base + task)
        self._order_blocks(machine, iterations)

    def _precede(self, before: int, after: int) -> None:
        self.after[before].append(after)
        self.missing[after] += 1

    def _order_blocks(self, machine: Machine, iterations: int) -> None:
        once = len(machine.block)
        sent: dict[int, list[int]] = {}
        received: dict[int, list[int]] = {}
        for tasks in _orders(machine):
            previous = -1
            for base in range(0, once * iterations, once):
                for task in tasks:
                    if previous >= 0:
                        self._precede(previous, base + task)
                    previous = base + task
                    if machine.sends[task] >= 0:
                        sent.setdefault(machine.sends[task], []).append(previous)
                    if machine.receives[task] >= 0:
                        received.setdefault(machine.receives[task], []).append(previous)
        for connection in sent | received:
            self._connect(sent.get(connection, []), received.get(connection, []), machine.depth)

    def _connect(self, senders: list[int], takers: list[int], depth: int) -> None:
        for sender, taker in zip(senders, takers, strict=False):
            self.consumer[sender], self.source[taker] = taker, sender
            if self.flow_class[taker] >= 0:
                self.wants_slice[sender] = True
                self.missing[taker] += 1
        for taker in takers[len(senders) :]:
            self.missing[taker] += 1
        for sender, taker in zip(senders[depth:], takers, strict=False):
            self._precede(taker, sender)
        for sender in senders[len(takers) + depth :]:
            self.missing[sender] += 1

    def begin(self) -> None:
        """Start what waits for nothing."""
        for task, count in enumerate(self.missing):
            if count == 0:
                self.launch(task)

    def dispatch(self) -> None:
        """Leave it: what can start began as soon as the last thing that it waited for was over."""

    def finished(self, task: int) -> None:
        missing = self.missing
        for other in self.after[task]:
            missing[other] -= 1
            if not missing[other]:
                self.launch(other)

    def slice_arrived(self, task: int) -> None:
        taker = self.consumer[task]
        self.missing[taker] -= 1
        if not self.missing[taker]:
            self.launch(taker)


def _orders(machine: Machine) -> list[list[int]]:
    if machine.order is not None:
        return [list(tasks) for tasks in machine.order]
    orders: list[list[int]] = [[] for _ in range(max(machine.block, default=-1) + 1)]
    for task, block in enumerate(machine.block):
        orders[block].append(task)
    return orders


def run_static(machine: Machine, *, iterations: int = 1) -> Run:
    """Return when each task runs, every block doing its tasks in the given order, the whole ``iterations`` times.

    Blocks run ahead into the next iteration; prerequisites are within one iteration.
    """
    engine = _StaticEngine(machine, iterations)
    engine.begin()
    engine.run()
    return Run(*outcome(engine))
