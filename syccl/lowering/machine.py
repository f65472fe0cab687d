"""Tasks as a machine for the simulator: blocks, connections, routes over link orbits, priorities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syccl.lowering.tasks import Task
from syccl.schedule import Schedule
from syccl.simulate.cost import Protocol, chunk_loop
from syccl.simulate.machine import FlowRoute, Machine
from syccl.simulate.profile import Costs, carried_rates, costs_of, network_links, overheads


def machine_of(
    schedule: Schedule, tasks: Sequence[Task], protocol: Protocol, *, size_bytes: int, copies: int = 1
) -> Machine:
    """Return one iteration of the program as a machine whose order is still free.

    Rows of lower ``order`` in the schedule have priority. In the quotient a link orbit is one resource; a message loads
    it once for each of its images that share a link.

    Parameters
    ----------
    copies
        How often the program is laid out side by side, each copy on its own channels with an equal share of the data.
        Copies behave alike, so one is simulated on its share of the links.
    """
    loop = chunk_loop(size_bytes / (schedule.demand.buffer_chunks * copies), protocol)
    blocks = {block: i for i, block in enumerate(sorted({task.block for task in tasks}))}
    connections: dict[tuple[int, int, int, bool], int] = {}
    costs = costs_of(schedule.topology, protocol)
    capacities, routes = flow_routes(schedule, costs)
    order = schedule.transfers.order.tolist()
    route_of_row = schedule.transfers.route.tolist()
    sends, receives, route, incoming, connection_of_row = [], [], [], [], {}
    sender = {task.row_out: i for i, task in enumerate(tasks) if task.row_out >= 0}
    for task in tasks:
        if task.row_out >= 0:
            key = (task.block.rank, task.block.send, task.block.channel, True)
            connection_of_row[task.row_out] = connections.setdefault(key, len(connections))
    for task in tasks:
        sends.append(connection_of_row.get(task.row_out, -1))
        receives.append(connection_of_row.get(task.row_in, -1))
        route.append(route_of_row[task.row_out] if task.row_out >= 0 else -1)
        incoming.append(sender[task.row_in] if task.row_in >= 0 else -1)
    return Machine(
        capacities=[capacity / copies for capacity in capacities],
        routes=routes,
        depth=protocol.depth,
        slices=costs.slices,
        block=[blocks[task.block] for task in tasks],
        size=[loop.chunk_bytes * task.cnt * (protocol.wire_factor if _is_message(task) else 1.0) for task in tasks],
        route=route,
        sends=sends,
        receives=receives,
        prerequisites=[task.after for task in tasks],
        incoming=incoming,
        lock=[task.lock for task in tasks],
        priority=[_priority(task, order) for task in tasks],
        thread_block_rate=costs.thread_block_rate,
        local_rate=costs.local_rate,
        overheads=overheads(costs, [False] * len(tasks), [_waits(task, tasks) for task in tasks]),
        launch_s=costs.launch_s,
    )


def remaining_s(machine: Machine) -> list[float]:
    """Return for each task how long it and the longest chain of what waits for it take at least, seconds.

    Rounded to picoseconds, so that tasks that are alike come out alike.
    """
    count = len(machine.block)
    before = [list(tasks) for tasks in machine.prerequisites]
    for task, sender in enumerate(machine.incoming):
        if sender >= 0:
            before[task].append(sender)
    followers = [0] * count
    for tasks in before:
        for task in tasks:
            followers[task] += 1
    ready = [task for task in range(count) if not followers[task]]
    chain = [0.0] * count
    for task in ready:
        chain[task] += _least_s(machine, task)
        for earlier in before[task]:
            chain[earlier] = max(chain[earlier], chain[task])
            followers[earlier] -= 1
            if not followers[earlier]:
                ready.append(earlier)
    return [round(seconds, 12) for seconds in chain]


def _least_s(machine: Machine, task: int) -> float:
    """Return what a task takes when nothing else is going on, seconds."""
    size, overhead = machine.size[task], machine.overheads[task] if machine.overheads else 0.0
    local_s = size / machine.thread_block_rate
    if machine.route[task] < 0:
        return overhead + local_s
    uses, latency_s = machine.routes[machine.route[task]]
    return overhead + latency_s + max(local_s, *(size * weight / machine.capacities[link] for link, weight in uses))


def _waits(task: Task, tasks: Sequence[Task]) -> bool:
    """Return whether a task waits for one of another block."""
    return any(tasks[before].block != task.block for before in task.after)


def _is_message(task: Task) -> bool:
    return task.row_in >= 0 or task.row_out >= 0


def _priority(task: Task, order: Sequence[int]) -> float:
    row = task.row_out if task.row_out >= 0 else task.row_in
    return -float(order[row]) if row >= 0 else 0.0


def flow_routes(schedule: Schedule, costs: Costs) -> tuple[list[float], list[FlowRoute]]:
    """Return the capacity of every link orbit and each route's uses of them."""
    is_network = network_links(schedule.topology)
    links = len(schedule.topology.links)
    symmetry = schedule.symmetry
    least = np.arange(links) if symmetry is None else symmetry.group.links.min(axis=0)
    members, orbit, sizes = np.unique(least, return_inverse=True, return_counts=True)
    share = schedule.order_of_symmetry / sizes
    capacities = carried_rates(schedule.topology)[members].tolist()
    routes = []
    for number, path in enumerate(schedule.routes):
        uses: dict[int, float] = {}
        for link in path:
            uses[int(orbit[link])] = uses.get(int(orbit[link]), 0.0) + float(share[orbit[link]])
        hop_s = costs.network_hop_s if is_network[list(path)].any() else costs.hop_s
        routes.append(FlowRoute(tuple(sorted(uses.items())), float(schedule.route_latencies_s[number]) + hop_s))
    return capacities, routes
