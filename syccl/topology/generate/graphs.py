"""Graphs of GPUs without servers: rings, meshes, tori, hypercubes, dragonflies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from syccl.errors import InputError
from syccl.topology.generate.recipe import Recipe, Wanted, cables, head, listed, span

_MOST_GPUS = 32768
_RATE, _LATENCY = "50GB/s", "0.5us"
_SOURCE = "50 GB/s a link and direction: an inter-chip link of TPU v4 (Jouppi et al., ISCA 2023); 0.5 us a link."


def grid(name: str, wanted: Wanted, *, wrap: bool, default: tuple[int, ...]) -> Recipe:
    """Return a mesh, or with ``wrap`` a torus; a ring is a torus of one dimension. The last dimension runs fastest."""
    dims = _dims(wanted.dims, default, least=1)
    lines = head(name, _SOURCE, f"Rank: the place in {'x'.join(map(str, dims))}, the last dimension fastest.")
    lines += ["nodes:", f"  - {{kind: gpu, names: {span('gpu', math.prod(dims))}}}", "", "links:"]
    for axis, length in enumerate(dims):
        steps = length if wrap and length > 2 else length - 1
        if steps:
            lines += _along(dims, axis, steps)
    if lines[-1] == "links:":
        lines[-1] = "links: []"
    order = math.prod(dims) if wrap else math.prod(2 if length % 2 == 0 else 1 for length in dims)
    return Recipe("\n".join(lines) + "\n", order)


def _along(dims: Sequence[int], axis: int, steps: int) -> list[str]:
    """Return the links from every place to the next along one axis."""
    weights = [math.prod(dims[i + 1 :]) for i in range(len(dims))]
    ends: tuple[list[int], list[int]] = ([], [])
    for place in product(*map(range, dims)):
        if place[axis] < steps:
            rank = sum(at * weight for at, weight in zip(place, weights, strict=True))
            ends[0].append(rank)
            ends[1].append(rank + weights[axis] * ((place[axis] + 1) % dims[axis] - place[axis]))
    return cables(_runs(ends[0]), _runs(ends[1]), _RATE, _LATENCY)


def _runs(ranks: Sequence[int]) -> str:
    """Return names of GPUs, runs of ranks as ranges."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and runs[-1][-1] == rank - 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return listed([f"gpu{run[0]}" if len(run) == 1 else f"gpu{run[0]}..{run[-1]}" for run in runs])


def hypercube(name: str, wanted: Wanted) -> Recipe:
    """Return a hypercube; ``dims`` is its dimension alone."""
    (dimension,) = _dims(wanted.dims, (4,), least=1, count=1)
    if dimension > 14:
        msg = f"dims {dimension}: a hypercube of 2**{dimension} GPUs; choose a dimension of 1..14"
        raise InputError(msg)
    n = 2**dimension
    lines = [*head(name, _SOURCE), "nodes:", f"  - {{kind: gpu, names: {span('gpu', n)}}}", "", "links:"]
    for bit in range(dimension):
        low = [rank for rank in range(n) if not rank >> bit & 1]
        lines += cables(_runs(low), _runs([rank | 1 << bit for rank in low]), _RATE, _LATENCY)
    return Recipe("\n".join(lines) + "\n", n)


def dragonfly(name: str, wanted: Wanted) -> Recipe:
    """Return a canonical dragonfly: ``dims`` are routers a group, GPUs a router, global links a router.

    Groups: routers x global links + 1, every two joined once, router by router in the order of distance, so that
    turning the groups is a symmetry (Kim et al., ISCA 2008; "palm tree" wiring of Camarero et al., TACO 2014).
    """
    routers, hosts, links = _dims(wanted.dims, (4, 2, 2), least=1, count=3)
    groups = routers * links + 1
    lines = head(name, "Links of 25 GB/s (Slingshot, 200 Gb/s).", f"Dragonfly: {groups} groups of {routers} routers.")
    group = span("group", groups)
    lines += ["nodes:", f"  - {{kind: gpu, names: {group}.{span('router', routers)}.{span('gpu', hosts)}}}"]
    lines += [f"  - {{kind: switch, names: {group}.{span('router', routers)}}}", "", "links:"]
    lines += cables(
        f"{group}.{span('router', routers)}.{span('gpu', hosts)}",
        f"{group}.{span('router', routers)}",
        "25GB/s",
        "0.5us",
    )
    for one in range(routers):
        for other in range(one + 1, routers):
            lines += cables(f"{group}.router{one}", f"{group}.router{other}", "25GB/s", "0.35us")
    for distance in range(1, groups // 2 + 1):
        out, back = (distance - 1) // links, (groups - distance - 1) // links
        turned = listed([f"group{(g + distance) % groups}.router{back}" for g in range(groups)])
        mine = f"{group}.router{out}"
        if 2 * distance == groups:
            mine = f"{span('group', distance)}.router{out}"
            turned = listed([f"group{g + distance}.router{back}" for g in range(distance)])
        lines += cables(mine, turned, "25GB/s", "0.5us")
    reflected = 2 if routers % 2 == 0 else 1
    return Recipe("\n".join(lines) + "\n", groups * hosts * reflected)


def _dims(
    dims: tuple[int, ...] | None, default: tuple[int, ...], *, least: int, count: int | None = None
) -> tuple[int, ...]:
    chosen = dims or default
    wrong = len(chosen) != count if count is not None else not 1 <= len(chosen) <= 4
    if wrong or min(chosen) < least or (count is None and math.prod(chosen) > _MOST_GPUS):
        need = f"{count} numbers" if count is not None else f"one to four lengths of at most {_MOST_GPUS} GPUs in all"
        msg = f"dims {'x'.join(map(str, chosen))} must be {need}, such as {'x'.join(map(str, default))}"
        raise InputError(msg)
    return chosen
