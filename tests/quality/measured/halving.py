"""Halving-doubling on a BiGraph, plain and with EFLOPS's mapping of ranks."""

from __future__ import annotations

from syccl.baselines.halving import halving_schedule, hdrm_order, most_flows
from syccl.baselines.ring import ring_schedule
from syccl.bounds import lower_bound
from syccl.collective import OPS
from syccl.schedule.verify import verify_schedule
from syccl.simulate.schedule_time import schedule_time
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import merged
from syccl.topology.catalog import read_topology
from syccl.topology.generate import Wanted, generate


def halving(dims: list[int], sizes: list[int]) -> dict[str, object]:
    """Schedule times in microseconds by name and size, the bound, and the most flows on a link in any step."""
    made = generate("bigraph", Wanted(dims=(dims[0], dims[1])))
    topology = merged(read_topology(made.text, source="bigraph"))
    servers, group, op = islands(topology), find_group(topology), OPS["allreduce"]
    schedules = {
        "plain": halving_schedule(topology, servers),
        "hdrm": halving_schedule(topology, servers, order=hdrm_order(topology, servers)),
        "ring": ring_schedule(topology, op, servers, group=group),
    }
    times: dict[str, dict[str, float]] = {}
    for name, schedule in schedules.items():
        if schedule is None or verify_schedule(schedule):
            msg = f"no right schedule by {name} on {topology.name}"
            raise ValueError(msg)
        times[name] = {str(size): schedule_time(schedule, size_bytes=size).seconds * 1e6 for size in sizes}
    times["bound"] = {
        str(size): lower_bound(topology, op, size_bytes=size, group=group, islands=servers).seconds * 1e6
        for size in sizes
    }
    flows = {name: max(most_flows(schedules[name], servers)) for name in ("plain", "hdrm")}  # type: ignore[arg-type]
    return {"gpus": topology.ranks, "times_us": times, "flows": flows}
