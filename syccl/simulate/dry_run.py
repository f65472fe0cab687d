"""The dry run: one execution in which each free thread block chooses what to do next; its order makes a program.

A recorded execution with bounded FIFOs is a proof that the program with that order does not deadlock at that depth.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from syccl.simulate.engine import Engine, outcome
from syccl.simulate.machine import DryRun, Machine

_PLAIN, _FUSED, _FRESH = range(3)


class _DynamicEngine(Engine):
    """A free block starts its most urgent task that can start now."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        n = self.tasks
        blocks = max(machine.block, default=-1) + 1
        connections = max([*machine.sends, *machine.receives], default=-1) + 1
        self.machine = machine
        self.block = machine.block
        self.lock = list(machine.lock) or [-1] * n
        priority = list(machine.priority) or [0.0] * n
        self.urgency = [(-priority[task], task) for task in range(n)]
        self.source = list(machine.incoming) or [-1] * n
        self.after: list[list[int]] = [[] for _ in range(n)]
        self.missing = [len(tasks) for tasks in machine.prerequisites]
        for task, tasks in enumerate(machine.prerequisites):
            for before in tasks:
                self.after[before].append(task)
        self._set_up_messages(machine, blocks, connections)
        self.idle = [True] * blocks
        self.ready: list[tuple[list[tuple[float, int]], ...]] = [([], [], []) for _ in range(blocks)]
        self.stirred = set(range(blocks))
        self.order: list[list[int]] = [[] for _ in range(blocks)]
        locks = max(self.lock, default=-1) + 1
        self.holder = [-1] * locks
        self.waiting: list[list[int]] = [[] for _ in range(locks)]
        self.lock_order: list[list[int]] = [[] for _ in range(locks)]
        for task, count in enumerate(self.missing):
            if count == 0:
                self._enable(task)

    def _set_up_messages(self, machine: Machine, blocks: int, connections: int) -> None:
        for taker, sender in enumerate(self.source):
            if sender >= 0:
                self.consumer[sender] = taker
                self.wants_slice[sender] = True
                self.missing[taker] += 1
        self.kind = [_PLAIN] * self.tasks
        self.free = [machine.depth] * connections
        self.queues: list[deque[int]] = [deque() for _ in range(connections)]
        self.sends_on = [-1] * blocks
        self.sender_block = [-1] * connections
        self.fresh_needs = [1] * blocks
        for task, connection in enumerate(machine.sends):
            if connection >= 0:
                block = machine.block[task]
                self.sends_on[block] = connection
                self.sender_block[connection] = block
                self.kind[task] = _FRESH if self.source[task] < 0 else _FUSED
                if self.source[task] >= 0:
                    # A ring that is full of messages is stuck, so what enters it leaves one slot empty.
                    self.fresh_needs[block] = min(2, machine.depth)

    def _enable(self, task: int) -> None:
        block = self.block[task]
        heappush(self.ready[block][self.kind[task]], self.urgency[task])
        self.stirred.add(block)

    def _met(self, task: int) -> None:
        self.missing[task] -= 1
        if not self.missing[task]:
            self._enable(task)

    def dispatch(self) -> None:
        """Let every idle block that something happened to choose, in block order."""
        if self.stirred:
            blocks = sorted(self.stirred)
            self.stirred.clear()
            for block in blocks:
                if self.idle[block]:
                    self._choose(block)

    def _choose(self, block: int) -> None:
        plain, fused, fresh = self.ready[block]
        connection = self.sends_on[block]
        slots = self.free[connection] if connection >= 0 else 0
        while True:
            heap = plain
            if fused and slots and (not heap or fused[0] < heap[0]):
                heap = fused
            if fresh and slots >= self.fresh_needs[block] and (not heap or fresh[0] < heap[0]):
                heap = fresh
            if not heap:
                return
            task = heappop(heap)[1]
            lock = self.lock[task]
            if lock < 0 or self.holder[lock] < 0:
                self._commit(task, block, lock)
                return
            self.waiting[lock].append(task)

    def _commit(self, task: int, block: int, lock: int) -> None:
        self.idle[block] = False
        self.order[block].append(task)
        if lock >= 0:
            self.holder[lock] = task
            self.lock_order[lock].append(task)
        if self.kind[task] != _PLAIN:
            self.free[self.sends_on[block]] -= 1
        if self.source[task] >= 0:
            queue = self.queues[self.machine.receives[task]]
            queue.popleft()
            if queue:
                self._met(queue[0])
        self.launch(task)

    def finished(self, task: int) -> None:
        block = self.block[task]
        self.idle[block] = True
        self.stirred.add(block)
        for other in self.after[task]:
            self._met(other)
        if self.source[task] >= 0:
            connection = self.machine.receives[task]
            self.free[connection] += 1
            self.stirred.add(self.sender_block[connection])
        lock = self.lock[task]
        if lock >= 0:
            self.holder[lock] = -1
            for other in self.waiting[lock]:
                self._enable(other)
            self.waiting[lock].clear()

    def slice_arrived(self, task: int) -> None:
        taker = self.consumer[task]
        queue = self.queues[self.machine.receives[taker]]
        queue.append(taker)
        if len(queue) == 1:
            self._met(taker)


def dry_run(machine: Machine) -> DryRun:
    """Run ``machine`` in an order found on the way; ``stuck`` tasks mean that this way led into a deadlock.

    A free block starts its task of highest priority that can start now: prerequisites finished; if it receives, the
    first slice of its message has arrived and the message is the head of its FIFO; if it sends, a slot is free (two,
    where other messages are forwarded on that connection and this one is not: the bubble that keeps rings moving);
    its lock is free. Ties go to the lower block, then the lower task.
    """
    engine = _DynamicEngine(machine)
    engine.run()
    order = tuple(map(tuple, engine.order))
    return DryRun(*outcome(engine), order, tuple(map(tuple, engine.lock_order)))
