"""Each mechanism of Crux by itself against all that could be decided, on small cases of the shape its paper uses.

Five jobs on 10 to 20 servers under 2 to 4 leaves, all joined to 2 spines. A server is one node here: its eight GPUs
belong to one job, which sends once around a ring of its servers, 20 to 150 % of its compute time when it is alone.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from syccl.topology.model import Kind, Link, Node, Topology
from syccl.traffic import Flow, Load, ecmp_choice, flows_of, link_seconds, simulate
from syccl.traffic.baselines import balanced_levels, bssi_order, sebf_order
from syccl.traffic.compress import compress, contention, first_levels, pooled_levels
from syccl.traffic.crux import intensities, priorities, select_paths
from syccl.traffic.simulate import full_links

JOBS, LEVELS, SPINES, GPUS = 5, 3, 2, 8
RATE = 100 * 10**9
"""Bytes per second of a server: four NICs of 200 Gb/s."""
ROUNDS = 40
"""Iterations of the slowest job that are simulated."""
NEAR = 1e-3
"""How near to what jobs reach without each other counts as the same; iterations are cut off at the end."""


@dataclass
class Mix:
    """Jobs on a small fabric, and how busy their GPUs are; what was simulated once is kept."""

    topology: Topology
    flows: list[tuple[Flow, ...]]
    compute_s: list[float]
    overlap: list[float]
    gpus: list[int]
    kept: dict[object, float] = field(default_factory=dict)

    @property
    def flops(self) -> list[float]:
        """FLOPs of an iteration of each job, in units of what a GPU does in a second."""
        return [seconds * gpus for seconds, gpus in zip(self.compute_s, self.gpus, strict=True)]

    def load(self, job: int, choice: Sequence[int]) -> Load:
        """Return what a job puts on links over chosen paths."""
        return Load(self.compute_s[job], self.overlap[job], link_seconds(self.topology, self.flows[job], choice))

    def busy(self, loads: Sequence[Load], levels: Sequence[int]) -> float:
        """Return the share of time that GPUs compute; cases that contend alike are simulated once."""
        full = full_links(loads).values()
        higher = tuple(sorted({(a, b) for of in full for a in of for b in of if levels[a] < levels[b]}))
        rows = tuple(sorted({tuple(sorted(of.items())) for of in full}))
        key = rows, higher, tuple(load.alone_s for load in loads)
        if key not in self.kept:
            until_s = ROUNDS * max(load.iteration_alone_s for load in loads)
            done = simulate([replace(load, level=at) for load, at in zip(loads, levels, strict=True)], until_s)
            computed = sum(each.computed_s * gpus for each, gpus in zip(done, self.gpus, strict=True))
            self.kept[key] = computed / (until_s * sum(self.gpus))
        return self.kept[key]


def mix(seed: int) -> Mix:
    """Return a case."""
    chance = random.Random(seed)
    leaves, servers = chance.choice((2, 3, 4)), chance.randint(10, 20)
    topology = _fabric(leaves, servers, chance.choice((1, 2)) * RATE)
    free, made = list(range(servers)), Mix(topology, [], [], [], [])
    leaf_of = [server * leaves // servers for server in free]
    for left in range(JOBS, 0, -1):
        homes = sorted({leaf_of[server] for server in free})
        near = set(chance.sample(homes, min(2, len(homes))))
        pool = [server for server in free if leaf_of[server] in near]
        count = min(chance.randint(2, max(2, min(6, len(free) - 2 * (left - 1)))), len(pool))
        mine = sorted(chance.sample(pool, count) if count > 1 else chance.sample(free, 2))
        free = [server for server in free if server not in mine]
        made.compute_s.append(chance.uniform(0.3, 2.0))
        size = made.compute_s[-1] * chance.uniform(0.2, 1.5) * RATE
        ring = {(at, (at + 1) % len(mine)): size for at in range(len(mine))}
        made.overlap.append(chance.choice((0.0, 0.25, 0.5, 0.75)))
        made.gpus.append(GPUS * len(mine))
        made.flows.append(flows_of(topology, mine, ring))
    return made


def _fabric(leaves: int, servers: int, up: int) -> Topology:
    nodes = [Node(f"server{i}", Kind.GPU, f"server{i}") for i in range(servers)]
    nodes += [Node(f"leaf{i}", Kind.SWITCH) for i in range(leaves)]
    nodes += [Node(f"spine{i}", Kind.SWITCH) for i in range(SPINES)]
    pairs = [(i, servers + i * leaves // servers, RATE) for i in range(servers)]
    pairs += [(servers + leaf, servers + leaves + i, up) for leaf in range(leaves) for i in range(SPINES)]
    return Topology("small", tuple(nodes), tuple(Link(*ends, r, 0) for a, b, r in pairs for ends in ((a, b), (b, a))))


def paths(case: Mix, seed: int) -> dict[str, float]:
    """Return how near chosen and hashed paths come to the best, with levels by intensity."""
    hashed = [case.load(job, ecmp_choice(case.flows[job], seed)) for job in range(JOBS)]
    intensity = intensities(hashed, case.flops)
    levels = first_levels(intensity, JOBS)
    picked = select_paths(case.topology, case.flows, intensity, [load.iteration_alone_s for load in hashed])
    chosen = [case.load(job, picked[job]) for job in range(JOBS)]
    reached = {"paths": case.busy(chosen, levels), "hash": case.busy(hashed, levels)}
    each = [
        [case.load(job, choice) for choice in itertools.product(*(range(len(flow.candidates)) for flow in flows))]
        for job, flows in enumerate(case.flows)
    ]
    most = sum(
        max(load.compute_s / load.iteration_alone_s for load in loads) * gpus
        for loads, gpus in zip(each, case.gpus, strict=True)
    ) / sum(case.gpus)
    best = max(reached.values())
    for option in itertools.product(*each):
        if best >= most * (1 - NEAR):
            break
        best = max(best, case.busy(option, levels))
    return {name: value / best for name, value in reached.items()}


def order(case: Mix, loads: list[Load]) -> dict[str, float]:
    """Return how near priorities of Crux, intensity alone and coflow orders come to the best order of the jobs."""
    intensity = intensities(loads, case.flops)
    traffic = [sum(flow.size_bytes for flow in flows) for flows in case.flows]
    reached = {
        "priority": case.busy(loads, first_levels(priorities(loads, intensity, traffic), JOBS)),
        "intensity": case.busy(loads, first_levels(intensity, JOBS)),
        "bssi": case.busy(loads, pooled_levels(bssi_order(loads), JOBS)),
        "sebf": case.busy(loads, pooled_levels(sebf_order(loads), JOBS)),
    }
    best = max(case.busy(loads, levels) for levels in itertools.permutations(range(JOBS)))
    return {name: value / best for name, value in reached.items()}


def levels(case: Mix, loads: list[Load], seed: int) -> dict[str, float]:
    """Return how near compression, pooled and balanced levels come to the best of few levels; order fixed."""
    intensity = intensities(loads, case.flops)
    ranked = sorted(range(JOBS), key=lambda job: (-intensity[job], job))
    edges = contention(loads, intensity, intensity)
    reached = {
        "compression": case.busy(loads, compress(JOBS, edges, LEVELS, seed=seed)),
        "pooled": case.busy(loads, first_levels(intensity, LEVELS)),
        "balanced": case.busy(loads, balanced_levels(ranked, LEVELS)),
    }
    options = itertools.product(range(LEVELS), repeat=JOBS)
    best = max(case.busy(loads, option) for option in options if all(option[a] <= option[b] for a, b in edges))
    return {name: value / best for name, value in reached.items()}


def crux_cases(first: int, count: int) -> list[dict[str, float]]:
    """Return what each mechanism reaches of the best, for some cases by their seeds."""
    found = []
    for seed in range(first, first + count):
        case = mix(seed)
        hashed = [case.load(job, ecmp_choice(case.flows[job], seed)) for job in range(JOBS)]
        found.append(paths(case, seed) | order(case, hashed) | levels(case, hashed, seed))
    return found
