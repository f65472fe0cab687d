"""Quality on random graphs, where no symmetry and no known plan helps.

A ratio is taken apart into factors, so that a bad one says where it comes from::

    program / bound = routes x cutting x waiting x lowering

    routes    the best mix of trees over the routes that a runtime takes, over the bound
    cutting   the busiest link of the plan, over that mix: whole pieces, and trees that were found
    waiting   the schedule, over its busiest link: latencies, and data that is not there yet
    lowering  the program, over the schedule
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from syccl.bounds import lower_bound
from syccl.collective import op_named
from syccl.pipeline import Options, Synthesis, synthesize
from syccl.simulate.schedule_time import schedule_time
from syccl.sketch.price import price
from syccl.sketch.quotient import Quotient
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from tests.quality.graphs import random_graph
from tests.quality.lifted import lift
from tests.quality.tables import Table, Target

GRAPHS = 100
OPS = ("allgather", "reducescatter", "allreduce")
SIZE_BYTES = 64 * 2**20
EXPLAINED = 1.5
SHOWN = 10


@dataclass(frozen=True)
class Outcome:
    """One synthesis in ratios to its bound; a crash has a reason and no ratios."""

    seed: int
    op: str
    ranks: int
    cpu_s: float = 0.0
    ring: float | None = None
    latency: float = 0.0
    routes: float = 1.0
    load: float = 1.0
    schedule: float = 1.0
    program: float = 1.0
    chunks: int = 0
    plan: str = ""
    crash: str = ""

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


def table(jobs: int) -> Table:
    outcomes = _outcomes([(seed, op) for seed in range(GRAPHS) for op in OPS], jobs)
    made = Table(
        [
            "op",
            "graphs",
            *_three("schedule / bound"),
            *_three("program / bound"),
            "ring / program: median",
            "graphs on which the ring is faster",
            "CPU s: median",
            "worst",
        ]
    )
    for op in OPS:
        done = [one for one in outcomes if one.op == op and not one.crash]
        made.rows.append([op, str(len(done)), *_ratios(done), *_ring(done), *_seconds(done)])
    crashed = [one for one in outcomes if one.crash]
    made.targets.append(Target("crashes", float(len(crashed)), 0.0))
    made.notes += [f"seed {one.seed} {one.op}: {one.crash}" for one in crashed]
    made.notes += _explanations([one for one in outcomes if not one.crash])
    return made


def _outcomes(cases: Sequence[tuple[int, str]], jobs: int) -> list[Outcome]:
    done = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for outcome in pool.map(measured, cases):
            sys.stderr.write(f"{_explanation(outcome)}; {outcome.cpu_s:.1f} CPU s {outcome.crash}\n")
            done.append(outcome)
    return done


def measured(case: tuple[int, str]) -> Outcome:
    """Synthesize for the graph of a seed."""
    seed, op = case
    topology = random_graph(seed)
    began = time.process_time()
    try:
        made = synthesize(topology, op_named(op), Options(size_bytes=SIZE_BYTES))
    except Exception as error:  # noqa: BLE001  crashes of every kind are counted
        return Outcome(seed, op, topology.ranks, crash=f"{type(error).__name__}: {error}")
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


def _three(what: str) -> list[str]:
    return [f"{what}: median", "90 %", "worst"]


def _ratios(done: list[Outcome]) -> list[str]:
    return [*_spread([one.schedule for one in done]), *_spread([one.program for one in done])]


def _spread(ratios: list[float]) -> list[str]:
    return [f"{value:.3f}" for value in (statistics.median(ratios), _percentile(ratios, 0.9), max(ratios))]


def _ring(done: list[Outcome]) -> list[str]:
    factors = [one.ring / one.program for one in done if one.ring is not None]
    if not factors:
        return ["-", "-"]
    return [f"{statistics.median(factors):.2f}", f"{sum(factor < 1 for factor in factors)} of {len(factors)}"]


def _seconds(done: list[Outcome]) -> list[str]:
    seconds = [one.cpu_s for one in done]
    return [f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"]


def _percentile(values: list[float], share: float) -> float:
    """The least value that at least this share of all does not exceed."""
    return sorted(values)[max(0, -int(-share * len(values) // 1) - 1)]


def _explanations(outcomes: list[Outcome]) -> list[str]:
    by_ratio = sorted(outcomes, key=lambda one: -max(one.schedule, one.program))
    above = [one for one in by_ratio if max(one.schedule, one.program) > EXPLAINED]
    causes = Counter(_cause(one) for one in above)
    notes = [f"{len(above)} of {len(outcomes)} runs are above {EXPLAINED}"]
    notes[0] += "".join(f"; {count} mostly by {cause}" for cause, count in causes.most_common())
    lifted = _lifted([one for one in above if _cause(one) == "lowering"])
    for one in by_ratio[: max(SHOWN, len(above))]:
        note = _explanation(one)
        if one in above and _cause(one) == "routes":
            note += f"; the best trees over any routes: {_any_route(one):.3f}"
        if one in lifted:
            note += f"; with thread blocks as fast as links: program {lifted[one]:.3f}"
        notes.append(note)
    return notes


def _cause(one: Outcome) -> str:
    return max(one.factors, key=lambda name: one.factors[name])


def _explanation(one: Outcome) -> str:
    ratios = f"schedule {one.schedule:.3f}, program {one.program:.3f}"
    parts = " x ".join(f"{name} {factor:.3f}" for name, factor in one.factors.items())
    latency = f"latency bound {one.latency:.3f}"
    return f"seed {one.seed} {one.op}, {one.ranks} GPUs: {ratios} = {parts}; {latency}, {one.chunks} chunks, {one.plan}"


def _lifted(outcomes: list[Outcome]) -> dict[Outcome, float]:
    """Program over bound of the same runs where thread blocks are as fast as links."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=lift) as pool:
        again = pool.map(measured, [(one.seed, one.op) for one in outcomes])
        return {one: other.program for one, other in zip(outcomes, again, strict=True)}


def _any_route(one: Outcome) -> float:
    """The best mix of trees over any routes, over the bound."""
    topology, op = random_graph(one.seed), op_named(one.op)
    group = find_group(topology)
    bound = lower_bound(topology, op, size_bytes=SIZE_BYTES, group=group, islands=islands(topology))
    best = price(op, Quotient.of(topology, group), any_route=True).lp_value
    return best * _share(one.op, one.ranks) / bound.seconds
