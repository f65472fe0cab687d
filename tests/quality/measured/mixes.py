"""Mixes of jobs on a Clos fabric, under every policy: like the testbed of the Crux paper, and shaped like its trace.

Servers have 8 GPUs and 4 NICs of 200 Gb/s. What the paper does not give is assumed: compute times, sizes, placement.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

from syccl.topology import Topology
from syccl.topology.yaml_file import read_yaml
from syccl.traffic import ecmp_choice, flows_of, ring_pairs
from syccl.traffic.jobs import Job
from syccl.traffic.outcome import Outcome, played, servers_of
from syccl.traffic.policies import POLICIES, Mix, Policy, decide
from syccl.traffic.simulate import contending, full_links

GPUS, HOST_RATE, GPU_FLOPS = 8, 100e9, 1.25e14
SECONDS = 60.0
LEVELS = 8
HOUR_S = 3600.0


class Model(NamedTuple):
    """What a model's iteration takes alone over clear paths: seconds of compute and of an AllReduce in rings."""

    compute_s: float
    communication_s: float
    overlap: float


MODELS = {
    "gpt": Model(1.20, 0.33, 0.0),
    "bert": Model(0.30, 0.15, 0.0),
    "resnet": Model(0.25, 0.03, 0.5),
    "nmt": Model(0.40, 0.25, 0.25),
    "interests": Model(0.15, 0.15, 0.0),
}
MIXES = {
    "gpt 32 + 2 x bert 8": (("gpt", 32), ("bert", 8), ("bert", 8)),
    "gpt 32 + 4 x bert 8": (("gpt", 32), *((("bert", 8),) * 4)),
    "gpt 32 + 6 x bert 8": (("gpt", 32), *((("bert", 8),) * 6)),
    "gpt 48 + 2 x bert 16 + 2 x resnet 8": (("gpt", 48), ("bert", 16), ("bert", 16), ("resnet", 8), ("resnet", 8)),
}
ELSEWHERE = {"2,048 GPUs, compact": 0.02, "2,048 GPUs, scattered": 1.0}
"""Trace-shaped loads, and the share of servers that are not beside the others of their job."""
SIZES = ((8, 30), (16, 20), (32, 20), (64, 15), (128, 9), (256, 4), (512, 2))
"""GPUs of a job of the trace-shaped load, and how many of 100 jobs have them: over 10 % at least 128."""


def clos(servers: int, leaves: int, spines: int) -> Topology:
    """Return servers on leaves, as many links of 200 Gb/s up as down where ``spines`` is 4 times a leaf's servers."""
    text = f"""
name: clos-{servers}
servers:
  - count: {servers}
    gpus: gpu0..7
    nics: nic0..3
    switches: nvswitch
    links:
      - {{between: [gpu0..7, nvswitch], bandwidth: 300GB/s, latency: 0.35us}}
      - {{between: [gpu0..7, nic0..3], bandwidth: 25GB/s, latency: 0.5us}}
fabric:
  leaves:
    names: leaf0..{leaves - 1}
    by: server
    servers_per_leaf: {servers // leaves}
    bandwidth: 25GB/s
    latency: 0.35us
  spines:
    names: spine0..{spines - 1}
    bandwidth: 25GB/s
    latency: 0.35us
"""
    return read_yaml(text, source="clos")


def job(name: str, model: Model, ranks: Sequence[int]) -> Job:
    """Return a job of a model on some GPUs."""
    flops = model.compute_s * len(ranks) * GPU_FLOPS
    return Job(name, tuple(ranks), model.compute_s, flops, model.overlap, 0.0, None, None, ())


def mixed(topology: Topology, wanted: Sequence[tuple[str, Sequence[int]]]) -> Mix:
    """Return jobs, each a model on some GPUs, with the flows of their rings."""
    jobs, flows = [], []
    for at, (name, ranks) in enumerate(wanted):
        model, servers = MODELS[name], servers_of(topology, ranks)
        share = max(map(servers.count, set(servers))) / GPUS
        size_bytes = int(model.communication_s * HOST_RATE * share / (2 * (1 - 1 / len(ranks))))
        jobs.append(job(f"{name}{at}", model, ranks))
        flows.append(flows_of(topology, ranks, ring_pairs("allreduce", size_bytes, servers)))
    return Mix(topology, tuple(jobs), tuple(flows))


def testbed(wanted: Sequence[tuple[str, int]], spines: int, seed: int) -> Mix:
    """Return jobs on 12 servers under 4 leaves, by chance: 8 GPUs as half of two servers, more as whole servers."""
    chance = random.Random(seed)
    free = chance.sample(range(12), 12)
    halves: list[tuple[int, int]] = []
    placed = []
    for name, gpus in wanted:
        if gpus == GPUS:
            halves = halves or [(free.pop(), free.pop())] * 2
            first = len(halves) % 2 * GPUS // 2
            ranks = [server * GPUS + first + gpu for server in halves.pop() for gpu in range(GPUS // 2)]
        else:
            ranks = whole_servers(sorted(free.pop() for _ in range(gpus // GPUS)))
        placed.append((name, ranks))
    return mixed(clos(12, 4, spines), placed)


def snapshot(elsewhere: float, spines: int, seed: int) -> Mix:
    """Return jobs that fill 2,048 GPUs of 256 servers under 64 leaves, leaf by leaf but for a share of the servers."""
    chance = random.Random(seed)
    free = [leaf * 4 + at for leaf in chance.sample(range(64), 64) for at in range(4)]
    moved = [at for at in range(256) if chance.random() < elsewhere]
    for at, server in zip(moved, chance.sample([free[at] for at in moved], len(moved)), strict=True):
        free[at] = server
    placed = []
    while free:
        (gpus,) = chance.choices([size for size, _ in SIZES], [share for _, share in SIZES])
        servers, free = sorted(free[: gpus // GPUS]), free[gpus // GPUS :]
        placed.append((chance.choice(list(MODELS)), whole_servers(servers)))
    return mixed(clos(256, 64, spines), placed)


def hundred(seed: int) -> Mix:
    """Return 100 jobs on 2,048 GPUs, on scattered servers, of which no iteration takes less than a second."""
    chance = random.Random(seed)
    free, placed = chance.sample(range(256), 256), []
    for servers in (*[1] * 40, *[2] * 30, *[4] * 21, *[8] * 9):
        mine, free = sorted(free[:servers]), free[servers:]
        placed.append((chance.choice(list(MODELS)), whole_servers(mine)))
    mix = mixed(clos(256, 64, 16), placed)
    return replace(mix, jobs=tuple(replace(job, compute_s=max(1.0, job.compute_s)) for job in mix.jobs))


def hour(policy: str, seed: int) -> dict[str, float]:
    """Return the CPU seconds of an hour of 100 jobs: to decide, and to simulate."""
    mix = hundred(seed)
    began_s = time.process_time()
    decision = decide(mix, Policy(policy, LEVELS, seed))
    decided_s = time.process_time()
    outcome = played(mix, decision, until_s=HOUR_S)
    ended_s = time.process_time()
    return {
        "jobs": len(mix.jobs),
        "gpus": sum(len(job.ranks) for job in mix.jobs),
        "contending": max(map(len, contending(outcome.loads))),
        "iterations": sum(done.iterations for done in outcome.progress),
        "decide_s": decided_s - began_s,
        "simulate_s": ended_s - decided_s,
    }


def whole_servers(servers: Sequence[int]) -> list[int]:
    """Return all GPUs of some servers."""
    return [server * GPUS + gpu for server in servers for gpu in range(GPUS)]


def mix_of(name: str, oversubscription: int, seed: int) -> Mix:
    """Return the jobs of a mix by its name; a leaf's links down have so many times the bandwidth of those up."""
    if name in MIXES:
        return testbed(MIXES[name], 12 // oversubscription, seed)
    return snapshot(ELSEWHERE[name], 16 // oversubscription, seed)


def mixes(name: str, oversubscription: int, first: int, count: int) -> list[dict[str, Any]]:
    """Return of seeded cases the share of GPUs that are busy under each policy, and the share of jobs at risk.

    At risk are jobs that share a link, over hashed paths, that they can fill together. ``iterations`` has by model how
    long an iteration takes with Crux over that with ``ecmp``, mean of its jobs.
    """
    found = []
    for seed in range(first, first + count):
        mix = mix_of(name, oversubscription, seed)
        hashed = mix.loads([ecmp_choice(mine, seed) for mine in mix.flows])
        at_risk = {job for of in full_links(hashed).values() for job in of}
        outcomes = {
            policy: played(mix, decide(mix, Policy(policy, LEVELS, seed)), until_s=SECONDS) for policy in POLICIES
        }
        busy = {policy: outcome.gpu_utilisation for policy, outcome in outcomes.items()}
        ratios = _iteration_ratios(mix, outcomes["crux"], outcomes["ecmp"])
        found.append({"at_risk": len(at_risk) / len(mix.jobs), "busy": busy, "iterations": ratios})
    return found


def _iteration_ratios(mix: Mix, one: Outcome, other: Outcome) -> dict[str, float]:
    ratios: dict[str, list[float]] = {}
    for job, mine, theirs in zip(mix.jobs, one.progress, other.progress, strict=True):
        if mine.iterations and theirs.iterations:
            ratios.setdefault(job.name.rstrip("0123456789"), []).append(mine.mean_iteration_s / theirs.mean_iteration_s)
    return {model: fmean(each) for model, each in sorted(ratios.items())}
