"""One synthesis on a random graph, its ratio taken apart into factors, so that a bad one says where it comes from::

program / bound = routes x cutting x waiting x lowering

routes    the best mix of trees over the routes that a runtime takes, over the bound
cutting   the busiest link of the plan, over that mix: whole pieces, and trees that were found
waiting   the schedule, over its busiest link: latencies, and data that is not there yet
lowering  the program, over the schedule
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from syccl.bounds import lower_bound
from syccl.collective import op_named
from syccl.pipeline import Options, Synthesis, synthesize
from syccl.simulate.schedule_time import schedule_time
from syccl.sketch.price import price
from syccl.sketch.quotient import Quotient
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from tests.quality.measured.graphs import random_graph
from tests.quality.measured.process import run
from tests.quality.rows import Row

SIZE_BYTES = 64 * 2**20
EXPLAINED = 1.5
"""Ratio above which it is measured what would be without a limit of routes or thread blocks."""


@dataclass(frozen=True)
class Outcome:
    """One synthesis in ratios to its bound."""

    seed: int
    op: str
    ranks: int
    cpu_s: float
    ring: float | None
    latency: float
    routes: float
    load: float
    schedule: float
    program: float
    chunks: int
    plan: str
    any_route: float | None = None
    """The best mix of trees over any routes."""
    lifted: float | None = None
    """The program where thread blocks are as fast as links."""

    @property
    def factors(self) -> dict[str, float]:
        """What makes up the ratio of the program, by name."""
        routes = max(1.0, self.routes)
        return {
            "routes": routes,
            "cutting": self.load / routes,
            "waiting": self.schedule / self.load,
            "lowering": self.program / self.schedule,
        }

    @property
    def worst(self) -> float:
        """The larger ratio of schedule and program."""
        return max(self.schedule, self.program)

    @property
    def cause(self) -> str:
        """The largest factor."""
        return max(self.factors, key=lambda name: self.factors[name])


def random(seed: int, op: str) -> dict[str, Any]:
    """Return the outcome for the graph of a seed; a bad one with what it would be without its main cause."""
    made = outcome(seed, op)
    if made.worst > EXPLAINED and made.cause == "routes":
        made = replace(made, any_route=_any_route(made))
    if made.worst > EXPLAINED and made.cause == "lowering":
        done = run(["-m", "tests.quality.worker", Row.of("lifted", seed=seed, op=op).key])
        made = replace(made, lifted=json.loads(done.stdout).get("value"))
    return asdict(made)


def outcome(seed: int, op: str) -> Outcome:
    """Synthesize once."""
    topology = random_graph(seed)
    began = time.process_time()
    made = synthesize(topology, op_named(op), Options(size_bytes=SIZE_BYTES))
    return _outcome(seed, made, time.process_time() - began)


def _outcome(seed: int, made: Synthesis, cpu_s: float) -> Outcome:
    op, ranks, bound_s = made.demand.op.name, made.demand.ranks, made.bound.seconds
    ring_us = made.baselines.get("ring_us")
    busy_s = schedule_time(made.schedule, size_bytes=SIZE_BYTES).link_busy_s
    return Outcome(
        seed=seed,
        op=op,
        ranks=ranks,
        cpu_s=cpu_s,
        ring=ring_us / bound_s / 1e6 if ring_us else None,
        latency=made.bound.latency_s / bound_s,
        routes=float(str(made.explain["dual_bound_s_per_byte"])) * _share(op, ranks) / bound_s,
        load=float(busy_s.max()) / bound_s,
        schedule=made.schedule_time_s / bound_s,
        program=(made.program_time_s or made.schedule_time_s) / bound_s,
        chunks=made.demand.chunks,
        plan=str(made.explain["winner"]),
    )


def _share(op: str, ranks: int) -> float:
    """Bytes that the seconds per byte of the linear program count."""
    return SIZE_BYTES / (1 if op == "allreduce" else ranks)


def _any_route(one: Outcome) -> float:
    """Return the best mix of trees over any routes, over the bound."""
    topology, op = random_graph(one.seed), op_named(one.op)
    group = find_group(topology)
    bound = lower_bound(topology, op, size_bytes=SIZE_BYTES, group=group, islands=islands(topology))
    best = price(op, Quotient.of(topology, group), any_route=True).lp_value
    return best * _share(one.op, one.ranks) / bound.seconds
