"""Paths of connections: planned, hashed and sprayed, and after a link has failed."""

from __future__ import annotations

import statistics
import time
from typing import Any

from syccl.topology.catalog import read_topology
from syccl.topology.generate import Wanted, generate
from syccl.traffic.c4p import busiest, connections_of, plan_paths, replan, ways_of
from syccl.traffic.c4p.connections import inner_links
from syccl.traffic.c4p.hashing import Hashing, hashed_pieces
from syccl.traffic.outcome import servers_of
from syccl.traffic.pairs import direct_sends, ring_sends

SIZE = 2**30
SEEDS = (0, 1, 2)
SPRAY = 128


def planned(fabric: str, wanted: dict[str, Any], pattern: str, queue_pairs: int) -> dict[str, float]:
    """Seconds of the busiest link by each way to choose paths; of the means over seeds, hashed and sprayed."""
    given = {name: tuple(value) if name == "dims" else value for name, value in wanted.items()}
    topology = read_topology(generate(fabric, Wanted(**given)).text, source=fabric)
    ranks = range(topology.ranks)
    ring = pattern == "ring"
    sends = ring_sends("allreduce", SIZE, servers_of(topology, ranks)) if ring else direct_sends(
        "alltoall", SIZE, topology.ranks
    )  # fmt: skip
    made = connections_of(topology, "job", ranks, sends, queue_pairs=queue_pairs)
    began = time.process_time()
    ways = ways_of(topology, made)
    plan = plan_paths(topology, made, ways)
    cpu_s = time.process_time() - began
    hashed = [busiest(topology, hashed_pieces(topology, made, ways, Hashing(seed=seed))) for seed in SEEDS]
    sprayed = busiest(topology, hashed_pieces(topology, made, ways, Hashing(), paths=SPRAY))
    used = sorted(link for link in plan.busy_s if link in inner_links(topology))
    name = topology.link_name(max(used, key=lambda link: (plan.busy_s[link], -link))).replace("->", "/")
    after = replan(plan, [f"link:{name}"], Hashing())
    return {
        "gpus": topology.ranks,
        "connections": len(made),
        "bound_s": plan.bound_s,
        "planned_s": plan.busiest_s,
        "hashed_s": statistics.fmean(hashed),
        "sprayed_s": sprayed,
        "cpu_s": cpu_s,
        "hit": after.hit,
        "moved": after.moved,
        "during_s": busiest(topology, after.during),
        "after_s": after.plan.busiest_s,
        "after_bound_s": after.plan.bound_s,
    }
