"""From a program and a topology to the machine that the engine runs: one task per message or local step."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InputError
from syccl.program import Step, StepType
from syccl.simulate.cost import Loop, Protocol
from syccl.simulate.fair_share import Uses
from syccl.simulate.machine import FlowRoute, Machine
from syccl.simulate.profile import Costs, carried_rates, costs_of, network_links, overheads
from syccl.simulate.program_quotient import Blocks, Quotient
from syccl.topology import Topology, default_route

_ENDS = {kind: (kind.receives, kind.sends) for kind in StepType}

_Flag = tuple[int, int]
"""(block as an index into the whole program, step) that must have been published."""


@dataclass(frozen=True, eq=False)
class ProgramMachine:
    """A machine for one iteration of a program, and what its parts are.

    ``step_of`` gives (block, step) of each task, ``link_bytes`` what every link carries in one iteration.
    """

    machine: Machine
    step_of: list[tuple[int, int]]
    link_bytes: NDArray[np.float64]


def program_machine(
    table: Blocks, topology: Topology, quotient: Quotient, *, loop: Loop, protocol: Protocol
) -> ProgramMachine:
    """Return the machine of one iteration, with one block for each orbit of blocks.

    Raises
    ------
    InputError
        When a block sends to a rank that its own rank has no route to.
    """
    costs = costs_of(topology, protocol)
    builder = _Builder(table, topology, quotient, loop, protocol, costs)
    for position, block in enumerate(quotient.representatives):
        builder.position[block] = position
    for block in builder.position:
        builder.add_block(block)
    prerequisites = builder.prerequisites()
    machine = Machine(
        capacities=carried_rates(topology).tolist(),
        routes=list(builder.routes),
        depth=protocol.depth,
        slices=costs.slices,
        block=builder.block,
        size=builder.size,
        route=builder.route,
        sends=builder.sends,
        receives=builder.receives,
        prerequisites=prerequisites,
        thread_block_rate=costs.thread_block_rate,
        local_rate=costs.local_rate,
        overheads=overheads(costs, builder.joined, list(map(bool, prerequisites))),
        launch_s=costs.launch_s,
    )
    return ProgramMachine(machine, builder.step_of, builder.link_bytes[quotient.link_orbit])


def fuses_with(before: Step, step: Step) -> bool:
    """Return whether a runtime sums a step in one go with the one before: both add to the same place, none waits."""
    both = before.type is StepType.REDUCE and step.type is StepType.REDUCE
    return both and before.dst == step.dst and before.cnt == step.cnt and not (before.has_dependents or step.depends)


@dataclass(eq=False)
class _Builder:
    """Columns of a machine, grown block by block. A connection has the index of its sender's block."""

    table: Blocks
    topology: Topology
    quotient: Quotient
    loop: Loop
    protocol: Protocol
    costs: Costs
    position: dict[int, int] = field(default_factory=dict)
    """Machine block of each representative."""
    routes: dict[FlowRoute, int] = field(default_factory=dict)
    uses: list[Uses] = field(default_factory=list)
    sizes: dict[int, list[float]] = field(default_factory=dict)
    """Of the messages of a step, by its count."""
    block: list[int] = field(default_factory=list)
    size: list[float] = field(default_factory=list)
    route: list[int] = field(default_factory=list)
    sends: list[int] = field(default_factory=list)
    receives: list[int] = field(default_factory=list)
    waits_for: dict[int, list[_Flag]] = field(default_factory=dict)
    published: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    """Of each representative: steps that publish, ascending, and the last task of each."""
    step_of: list[tuple[int, int]] = field(default_factory=list)
    joined: list[bool] = field(default_factory=list)
    """Whether the runtime does a task in one go with the one before."""

    def __post_init__(self) -> None:
        """Start with idle links."""
        self.is_network = network_links(self.topology)
        self.link_bytes = np.zeros(len(self.topology.links))

    def add_block(self, b: int) -> None:
        """Append the tasks of one block."""
        rank, block, position = self.table.rank[b], self.table.blocks[b], self.position[b]
        sender = self.table.sender.get((block.recv, rank, block.channel))
        source = len(self.position) + position if sender is None else self.position[self._representative(sender)]
        steps, tasks = self.published.setdefault(b, ([], []))
        route, sent = -1, 0.0
        pending: list[_Flag] = []
        for index, step in enumerate(block.steps):
            if step.depends:
                pending.append((self.table.index.get((rank, step.depends[0]), -1), step.depends[1]))
            if step.type is StepType.NOP:
                continue
            if pending:
                self.waits_for[len(self.block)] = pending
                pending = []
            receives, sends = _ENDS[step.type] if step.cnt else (False, False)
            sizes = self._message_sizes(step.cnt) if receives or sends else [step.cnt * self.loop.chunk_bytes]
            if sends:
                route = self._route_of(b) if route < 0 else route
                sent += sum(sizes)
            n = len(sizes)
            self.block += [position] * n
            self.size += sizes
            self.route += [route if sends else -1] * n
            self.sends += [position if sends else -1] * n
            self.receives += [source if receives else -1] * n
            self.step_of += [(b, index)] * n
            self.joined += [fuses_with(block.steps[index - 1], step) if index else False, *[False] * (n - 1)]
            if step.has_dependents:
                steps.append(index)
                tasks.append(len(self.block) - 1)
        if route >= 0:
            for link, weight in self.uses[route]:
                self.link_bytes[link] += sent * weight

    def _representative(self, b: int) -> int:
        return int(self.quotient.block_orbit[b])

    def _message_sizes(self, cnt: int) -> list[float]:
        """Return the bytes on the wire of each message of a step."""
        sizes = self.sizes.get(cnt)
        if sizes is None:
            most = self.loop.chunks_per_message
            counts = [most] * (cnt // most) + ([cnt % most] if cnt % most else [])
            unit = self.loop.chunk_bytes * self.protocol.wire_factor
            sizes = self.sizes[cnt] = [count * unit for count in counts]
        return sizes

    def _route_of(self, b: int) -> int:
        """Return the index of the route that a block's messages take."""
        src, dst = self.table.rank[b], self.table.blocks[b].send
        route = default_route(self.topology, src, dst)
        if route is None:
            msg = (
                f"rank {src} sends to rank {dst}, but in topology {self.topology.name!r} no route without another GPU "
                "joins them; simulate the program on the topology that it was made for"
            )
            raise InputError(msg)
        quotient, copies = self.quotient, int(self.quotient.block_orbit_size[b])
        passes = Counter(int(quotient.link_orbit[link]) for link in route.links)
        uses = [(link, n * copies / int(quotient.link_orbit_size[link])) for link, n in sorted(passes.items())]
        hop_s = self.costs.network_hop_s if self.is_network[list(route.links)].any() else self.costs.hop_s
        entry = FlowRoute(tuple(uses), route.latency_ps * 1e-12 + hop_s)
        if entry not in self.routes:
            self.uses.append(entry.uses)
        return self.routes.setdefault(entry, len(self.routes))

    def prerequisites(self) -> list[list[int]]:
        """Return the tasks that each task waits for; a task whose flag nobody publishes waits for itself."""
        table: list[list[int]] = [[] for _ in self.block]
        for task, flags in self.waits_for.items():
            table[task] = [self._releasing_task(flag, task) for flag in flags]
        return table

    def _releasing_task(self, flag: _Flag, waiting: int) -> int:
        b, step = flag
        if b < 0:
            return waiting
        steps, tasks = self.published[self._representative(b)]
        at = bisect_left(steps, step)
        return tasks[at] if at < len(steps) else waiting
