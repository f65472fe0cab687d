"""What happens before what in an execution plan: signals, waits, barriers, and puts that the host carries out.

A block's operations run in phases that ``nop`` (``__syncthreads``) and barriers end: within a phase its threads run
apart, so only what is in different phases is ordered. A signal tells of all phases before its own; who waits for it
knows of them from the next phase on. A put over a port channel runs by itself from its phase on, until a later signal
over the same channel has been waited for, or a later flush.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.findings import Finding
from syccl.program.mscclpp.ir import PORT, Op, Plan

Clock = NDArray[np.int32]
"""For each chain how many of its phases (a thread block) or puts (a port channel) are known to be over."""
Block = tuple[int, int]
"""Rank and thread block."""
Channel = tuple[str, int, int]
"""Kind, rank and number in the rank's list: one end of a channel, the one that signals or is waited at."""
_FIRST: Final = 1


class Event(NamedTuple):
    """An operation, or one put of it over a port channel (``slot``), in an order in which the plan may run."""

    block: Block
    number: int
    op: Op
    slot: int
    group: int
    """Blocks of different groups know nothing of each other."""
    chain: int
    turn: int
    clock: Clock
    """What is over when it starts."""

    @property
    def where(self) -> str:
        """Return its place in words."""
        return f"rank {self.block[0]}, thread block {self.block[1]}, operation {self.number} ({self.op.name})"

    def after(self, other: Event) -> bool:
        """Return whether it always starts after another has ended."""
        return self.group == other.group and int(self.clock[other.chain]) > other.turn


@dataclass(frozen=True)
class Order:
    """An order in which a plan may run, and what every rank knows to be over when it ends."""

    events: list[Event] = field(default_factory=list)
    started: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """Chains of the blocks of each (group, rank)."""
    ended: dict[tuple[int, int], Clock] = field(default_factory=dict)
    """For each (group, rank) what is over when all its blocks have ended."""
    findings: list[Finding] = field(default_factory=list)


def far_ends(plan: Plan) -> dict[Channel, Channel]:
    """Return the other end of every channel: the k-th from a to b belongs to the k-th from b to a of the kind."""
    ends: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for rank in plan.ranks:
        for kind, peers in rank.channels.items():
            for number, peer in enumerate(peers):
                ends[kind, rank.rank, peer].append(number)
    return {
        (kind, rank, number): (kind, peer, other)
        for (kind, rank, peer), numbers in ends.items()
        for number, other in zip(numbers, ends.get((kind, peer, rank), []), strict=False)
    }


def order_of(plan: Plan) -> Order:
    """Return how a plan runs, with findings where it cannot end or is not determined."""
    return _Run(plan).run()


@dataclass
class _State:
    """A thread block on its way."""

    group: int
    chain: int
    now: Clock
    pending: Clock
    phase: int = _FIRST
    at: int = 0

    def advance(self) -> None:
        """Start the next phase."""
        self.phase += 1
        self.now = self.pending.copy()
        self.now[self.chain] = self.phase
        self.pending = self.now.copy()


class _Run:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.far, self.result = plan, far_ends(plan), Order()
        self.blocks = {(rank.rank, block.id): block for rank in plan.ranks for block in rank.blocks}
        self.signalled: dict[Channel, list[Clock]] = defaultdict(list)
        self.taken: dict[Channel, int] = defaultdict(int)
        self.puts: dict[Channel, list[int]] = defaultdict(list)
        self.port_chain: dict[Channel, int] = {}
        self.asleep: dict[Channel, Block] = {}
        self.met: dict[tuple[int, int], list[Block]] = defaultdict(list)
        self.last: dict[tuple[Channel, bool], tuple[Block, int]] = {}
        self.states = self._states()

    def run(self) -> Order:
        self._run_all()
        self._report()
        for block, state in self.states.items():
            state.advance()
            key = (state.group, block[0])
            self.result.started.setdefault(key, []).append(state.chain)
            before = self.result.ended.get(key)
            self.result.ended[key] = state.now if before is None else np.maximum(before, state.now)
        return self.result

    def _states(self) -> dict[Block, _State]:
        groups = self._groups()
        sizes: dict[int, int] = defaultdict(int)
        chains: dict[Block, int] = {}
        for block in self.blocks:
            chains[block] = sizes[groups[block]]
            sizes[groups[block]] += 1
            for op in self.blocks[block].ops:
                for channel in self._channels(block, op) if op.kind == PORT else ():
                    if channel not in self.port_chain:
                        self.port_chain[channel] = sizes[groups[block]]
                        sizes[groups[block]] += 1
        states = {}
        for block, chain in chains.items():
            now = np.zeros(sizes[groups[block]], dtype=np.int32)
            now[chain] = _FIRST
            states[block] = _State(groups[block], chain, now, now.copy())
        return states

    def _groups(self) -> dict[Block, int]:
        """Return a number for all blocks that signals or barriers join."""
        parent = {block: block for block in self.blocks}

        def find(block: Block) -> Block:
            while parent[block] != block:
                parent[block] = parent[parent[block]]
                block = parent[block]
            return block

        first: dict[Channel | tuple[int, int], Block] = {}
        for block in self.blocks:
            for op in self.blocks[block].ops:
                names: list[Channel | tuple[int, int]] = [(block[0], op.barrier)] if op.name == "barrier" else []
                for channel in self._channels(block, op):
                    names += [channel, self.far.get(channel, channel)]
                for name in names:
                    parent[find(block)] = find(first.setdefault(name, block))
        numbers: dict[Block, int] = {}
        return {block: numbers.setdefault(find(block), len(numbers)) for block in self.blocks}

    def _channels(self, block: Block, op: Op) -> list[Channel]:
        numbers = self.blocks[block].channels.get(op.kind, ())
        return [(op.kind, block[0], numbers[place]) for place in op.channels]

    def _run_all(self) -> None:
        ready = deque(self.blocks)
        while ready:
            block = ready.popleft()
            ops, state = self.blocks[block].ops, self.states[block]
            while state.at < len(ops):
                woken = self._step(block, state, ops[state.at])
                if woken is None:
                    break
                state.at += 1
                ready.extend(woken)

    def _step(self, block: Block, state: _State, op: Op) -> list[Block] | None:
        """Run the next operation of a block; return the blocks that may go on by it, None where it must wait."""
        if op.name == "nop":
            state.advance()
            return []
        if op.name == "barrier":
            return self._barrier(block, op)
        if op.name == "wait":
            return self._wait(block, state, op)
        channels = self._channels(block, op)
        if op.name == "flush":
            for channel in channels[: len(op.dst)]:
                state.pending[self.port_chain[channel]] = self._known_puts(channel, state.phase)
            return []
        if op.name == "signal":
            return self._signal(block, state, channels)
        if op.kind == PORT and op.dst:
            self._port_puts(block, state, channels)
            return self._signal(block, state, channels) if op.name == "pws" else []
        self._event(block, state)
        return []

    def _event(self, block: Block, state: _State, slot: int = -1, place: tuple[int, int] | None = None) -> None:
        chain, index = place or (state.chain, state.phase)
        op = self.blocks[block].ops[state.at]
        self.result.events.append(Event(block, state.at, op, slot, state.group, chain, index, state.now))

    def _port_puts(self, block: Block, state: _State, channels: list[Channel]) -> None:
        for slot, channel in enumerate(channels):
            self._event(block, state, slot, (self.port_chain[channel], len(self.puts[channel])))
            self.puts[channel].append(state.phase)

    def _known_puts(self, channel: Channel, phase: int, own: int = 0) -> int:
        """Return how many puts of a channel are surely ahead of what is issued in a phase, after ``own`` puts of it."""
        puts = self.puts[channel]
        known = sum(put < phase for put in puts)
        return known + own if known + own == len(puts) else known

    def _signal(self, block: Block, state: _State, channels: list[Channel]) -> list[Block]:
        woken = []
        own = int(self.blocks[block].ops[state.at].name == "pws")
        for channel in channels:
            self._alone(block, state, channel, waits=False)
            clock = state.now.copy()
            if channel in self.port_chain:
                chain = self.port_chain[channel]
                clock[chain] = max(int(clock[chain]), self._known_puts(channel, state.phase, own))
            if channel not in self.far:
                continue
            far = self.far[channel]
            self.signalled[far].append(clock)
            if far in self.asleep:
                woken.append(self.asleep.pop(far))
        return woken

    def _wait(self, block: Block, state: _State, op: Op) -> list[Block] | None:
        channels = self._channels(block, op)
        needed: dict[Channel, int] = defaultdict(int)
        for channel in channels:
            needed[channel] += 1
            if len(self.signalled[channel]) < self.taken[channel] + needed[channel]:
                self.asleep[channel] = block
                return None
        for channel in channels:
            self._alone(block, state, channel, waits=True)
            clock = self.signalled[channel][self.taken[channel]]
            self.taken[channel] += 1
            np.maximum(state.pending, clock, out=state.pending)
        return []

    def _alone(self, block: Block, state: _State, channel: Channel, *, waits: bool) -> None:
        """Tell where signals, or waits, of a channel have no order of their own, so that it is open who meets whom."""
        before = self.last.get((channel, waits))
        self.last[channel, waits] = (block, state.phase)
        if before is None or (before[0] == block and before[1] < state.phase):
            return
        verb = "waits" if waits else "signals"
        message = f"{verb} of {channel[0]} channel {channel[2]} are not in order: another one is in the same phase"
        if before[0] != block:
            message = (
                f"{verb} of {channel[0]} channel {channel[2]} come from thread blocks {before[0][1]} and {block[1]}"
            )
        place = f"rank {block[0]}, thread block {block[1]}, operation {state.at}"
        self.result.findings.append(Finding("error", "shared-channel", place, message, "use a channel for each"))

    def _barrier(self, block: Block, op: Op) -> list[Block] | None:
        key = (block[0], op.barrier)
        met = self.met[key]
        if block not in met:
            met.append(block)
        if len(met) < op.blocks:
            return None
        states = [self.states[other] for other in met]
        for state in states:
            state.advance()
        joined = np.maximum.reduce([state.now for state in states])
        for state in states:
            state.now, state.pending = joined, joined.copy()
        others = [other for other in met if other != block]
        for other in others:
            self.states[other].at += 1
        self.met[key] = []
        return others

    def _report(self) -> None:
        self.result.findings.extend(self._stuck())
        if not self.result.findings:
            self.result.findings.extend(self._unmatched())

    def _stuck(self) -> Iterator[Finding]:
        for block, state in self.states.items():
            ops = self.blocks[block].ops
            if state.at < len(ops):
                op = ops[state.at]
                where = f"rank {block[0]}, thread block {block[1]}, operation {state.at} ({op.name})"
                channels = self._channels(block, op)
                lacking = [f"{kind} channel {number}" for kind, _, number in channels]
                what = f"a signal over {' or '.join(lacking)}" if lacking else f"others at barrier {op.barrier}"
                yield Finding("error", "deadlock", where, f"waits for {what} for ever")

    def _unmatched(self) -> Iterator[Finding]:
        for channel, clocks in sorted(self.signalled.items()):
            if len(clocks) > self.taken[channel]:
                message = (
                    f"{len(clocks) - self.taken[channel]} signals over {channel[0]} channel {channel[2]} are never"
                )
                remedy = "the next run would take them for its own"
                yield Finding("error", "unmatched", f"rank {channel[1]}", f"{message} waited for", remedy)
        for block in self.blocks:
            for number, op in enumerate(self.blocks[block].ops):
                if op.name in {"signal", "pws"} and any(c not in self.far for c in self._channels(block, op)):
                    where = f"rank {block[0]}, thread block {block[1]}, operation {number} ({op.name})"
                    yield Finding("error", "unmatched", where, "signals over a channel that has no other end")
