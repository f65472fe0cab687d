"""Machines for tests: written task by task, and random ones that cannot deadlock."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from syccl.simulate.fair_share import Uses
from syccl.simulate.machine import FlowRoute, Machine

US = 1e-6
MB = 1e6


@dataclass
class Draft:
    """Tasks added one at a time; blocks, connections and locks are named by any value."""

    capacities: list[float]
    depth: int = 2
    slices: int = 2
    rate: float = 20e9
    routes: list[FlowRoute] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)
    waits: list[list[int]] = field(default_factory=list)
    names: dict[Hashable, int] = field(default_factory=dict)

    def route(self, *uses: tuple[int, float], latency_s: float = 0.0) -> int:
        self.routes.append(FlowRoute(uses, latency_s))
        return len(self.routes) - 1

    def _number(self, kind: str, name: Hashable) -> int:
        if name is None:
            return -1
        taken = sum(1 for key in self.names if isinstance(key, tuple) and key[0] == kind)
        return self.names.setdefault((kind, name), taken)

    def task(
        self,
        block: Hashable,
        size: float,
        *,
        route: int = -1,
        sends: Hashable = None,
        receives: Hashable = None,
        after: tuple[int, ...] = (),
        incoming: int = -1,
        lock: Hashable = None,
        priority: float = 0.0,
    ) -> int:
        self.rows.append(
            {
                "block": self._number("block", block),
                "size": size,
                "route": route,
                "sends": self._number("connection", sends),
                "receives": self._number("connection", receives),
                "incoming": incoming,
                "lock": self._number("lock", lock),
                "priority": priority,
            }
        )
        self.waits.append(list(after))
        return len(self.rows) - 1

    def message(
        self, size: float, *, route: int, connection: Hashable, after: tuple[int, ...] = (), priority: float = 0.0
    ) -> tuple[int, int]:
        """A send and its receive, each in the block of its end of the connection."""
        send = self.task(("send", connection), size, route=route, sends=connection, after=after, priority=priority)
        taken = self.task(("receive", connection), size, receives=connection, incoming=send, priority=priority)
        return send, taken

    def machine(self) -> Machine:
        def column(name: str) -> list[int]:
            return [int(row[name]) for row in self.rows]

        return Machine(
            capacities=self.capacities,
            routes=self.routes,
            depth=self.depth,
            slices=self.slices,
            block=column("block"),
            size=[row["size"] for row in self.rows],
            route=column("route"),
            sends=column("sends"),
            receives=column("receives"),
            prerequisites=self.waits,
            incoming=column("incoming"),
            lock=column("lock"),
            priority=[row["priority"] for row in self.rows],
            thread_block_rate=self.rate,
        )


@st.composite
def uses_of(draw: st.DrawFn, resources: int) -> Uses:
    chosen = draw(st.lists(st.integers(0, resources - 1), min_size=1, max_size=3, unique=True))
    return tuple((resource, draw(st.sampled_from([1.0, 1.0, 2.0, 0.5]))) for resource in sorted(chosen))


@st.composite
def serial_machines(draw: st.DrawFn) -> Machine:
    """Random tasks whose order of numbers is one possible execution with one message at a time: no deadlock.

    Each connection has a send block and a receive block, or one of the two is shared with the next connection, whose
    steps may then be fused.
    """
    resources = draw(st.integers(1, 4))
    capacities = [draw(st.sampled_from([5e9, 10e9, 25e9, 100e9])) for _ in range(resources)]
    draft = Draft(capacities, depth=draw(st.integers(1, 3)), slices=draw(st.integers(1, 3)))
    sizes = st.sampled_from([1 * MB, 1 * MB, 2 * MB, 0.3 * MB])
    connections = draw(st.integers(1, 4))
    latency = st.sampled_from([0.0, 1 * US, 2.5 * US])
    routes = [draft.route(*draw(uses_of(resources)), latency_s=draw(latency)) for _ in range(connections)]
    shared = [draw(st.sampled_from([True, True, False])) for _ in range(connections)]

    def send_block(c: int) -> tuple[str, int]:
        return ("mixed", c) if shared[c] and c > 0 else ("send", c)

    def receive_block(c: int) -> tuple[str, int]:
        return ("mixed", c + 1) if c + 1 < connections and shared[c + 1] else ("receive", c)

    def waits() -> tuple[int, ...]:
        earlier = len(draft.rows)
        chosen = st.lists(st.integers(0, max(earlier - 1, 0)), max_size=2, unique=True)
        return tuple(draw(chosen)) if earlier else ()

    for _ in range(draw(st.integers(1, 10))):
        c, size = draw(st.integers(0, connections - 1)), draw(sizes)
        if draw(st.integers(0, 4)) == 0:
            draft.task(draw(st.sampled_from([send_block(c), receive_block(c)])), size, after=waits())
            continue
        sender = draft.task(send_block(c), size, route=routes[c], sends=c, after=waits())
        while receive_block(c) == ("mixed", c + 1) and draw(st.booleans()):
            c += 1
            sender = draft.task(
                ("mixed", c), size, route=routes[c], sends=c, receives=c - 1, after=waits(), incoming=sender
            )
        draft.task(receive_block(c), size, receives=c, after=waits(), incoming=sender)
    machine = draft.machine()
    if not draw(st.booleans()):
        return machine
    overheads = [draw(st.sampled_from([0.0, 0.5 * US, 3 * US])) for _ in machine.block]
    return replace(machine, overheads=overheads, launch_s=5 * US, local_rate=draw(st.sampled_from([None, 8e9])))
