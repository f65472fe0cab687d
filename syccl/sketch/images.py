"""Copies of trees and paths of one root under the symmetries that leave the root in place.

Any group that fixes the root moves a tree of the root to another tree of the root. Where each carries data of its own,
the loads of a tree and all its images are even over every orbit of links, so it is enough to plan one of them with
orbits for links [1]_.

References
----------
.. [1] "SyCCL: Exploiting Symmetry for Efficient Collective Communication Scheduling", SIGCOMM 2025, section 3.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syccl.sketch.first_path import first_path
from syccl.sketch.ways import Ways
from syccl.symmetry import Group

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

_PASSES = 3
_STEEP, _IDLE = 20.0, 1e-3
"""How fast prices of links rise towards the fullest one, and the price of an idle link as a share of that."""
_DIGITS = 9
"""Decimals of loads over that of one byte on the slowest link; what differs less is the same load."""


def folded(ways: Ways, group: Group) -> Ways:
    """Return ways with an orbit of links in place of each, as fast as all of its links together.

    The load of a tree on an orbit is then the load that the tree and its images, each with an equal share of the data,
    put on each of its links.
    """
    orbit = np.zeros(len(group.topology.links), dtype=np.int64)
    for i, members in enumerate(group.link_orbits):
        orbit[list(members)] = i
    _, label, sizes = np.unique(orbit[ways.kept], return_inverse=True, return_counts=True)
    number = np.append(label, len(sizes))
    seconds = np.zeros(len(sizes) + 1)
    seconds[number] = ways.seconds_per_byte
    queues = np.zeros(len(sizes) + 1, dtype=np.bool_)
    np.logical_or.at(queues, number, ways.can_queue)
    seconds[:-1] /= sizes
    return replace(ways, links=number[ways.links], seconds_per_byte=seconds, can_queue=queues)


def images(parents: Longs, group: Group) -> Longs:
    """Return all images of a tree, the tree first and none twice, shape ``(images, ranks)``.

    Parameters
    ----------
    parents
        Parent of every rank, -1 at the root, which the group fixes, shape ``(ranks,)``.
    """
    moved = np.empty(group.ranks.shape, dtype=np.int64)
    over = np.where(parents < 0, -1, group.ranks[:, parents])
    np.put_along_axis(moved, group.ranks.astype(np.int64), over, axis=1)
    _, first = np.unique(moved, axis=0, return_index=True)
    return np.asarray(moved[np.sort(first)])


def balanced(ways: Ways, parents: Longs, group: Group, each: int) -> tuple[Longs, float]:
    """Return so many images of every tree that together load the busiest link as little as a greedy choice gets it.

    Parameters
    ----------
    parents
        Trees, shape ``(trees, ranks)``.
    each
        Images of one tree, the tree itself among them; fewer where it has fewer.

    Returns
    -------
    parents
        Images of the first tree, of the second, and so on in turns, shape ``(chosen, ranks)``.
    load
        Seconds that the busiest link takes when every image carries one byte.
    """
    copies = [images(tree, group) for tree in parents]
    added = [np.array([_load(ways, copy) for copy in of_tree]) for of_tree in copies]
    slowest = float(ways.seconds_per_byte.max())
    load = np.zeros(len(ways.seconds_per_byte))
    chosen: list[Longs] = []
    left = [list(range(len(of_tree))) for of_tree in copies]
    for _ in range(each):
        for tree, rest in enumerate(left):
            if rest:
                after = load + added[tree][rest]
                fullest = np.round(after.max(axis=1) / slowest, _DIGITS)
                best = min(range(len(rest)), key=lambda i: (float(fullest[i]), float((after[i] ** 2).sum())))
                load = after[best]
                chosen.append(copies[tree][rest.pop(best)])
    return np.array(chosen), float(load.max())


def spread_paths(ways: Ways, root: int, group: Group, copies: int) -> list[tuple[int, ...]]:
    """Return so many paths from the root to every other rank, loads spread evenly, copy after copy.

    One rank of every orbit is routed, by rip-up and re-route under prices that rise with the load of an orbit of
    links; the others take the images of its paths.

    Parameters
    ----------
    group
        It leaves the root in place.

    Raises
    ------
    InfeasibleError
        When some rank cannot be reached.
    """
    whole = folded(ways, group)
    absent = np.where(np.isfinite(ways.latency_s), 0.0, np.inf)
    load = np.zeros(len(whole.seconds_per_byte))
    slowest = float(whole.seconds_per_byte.max())
    targets = [orbit for orbit in group.rank_orbits if root not in orbit] * copies
    paths: list[tuple[int, ...]] = [() for _ in targets]
    for _ in range(_PASSES):
        for i, orbit in enumerate(targets):
            load -= _path_load(whole, paths[i]) * len(orbit)
            fullest = max(float(load.max()), slowest)
            prices = whole.seconds_per_byte * (np.exp(_STEEP * (load / fullest - 1.0)) + _IDLE)
            into = float((prices[whole.links[:, orbit[0]]].sum(axis=1) + absent[:, orbit[0]]).min())

            def arrive(near: int, since: float, prices: Floats = prices) -> Floats:
                return np.asarray(since + prices[whole.links[near]].sum(axis=1) + absent[near])

            paths[i] = first_path(arrive, into, root, orbit[0])
            load += _path_load(whole, paths[i]) * len(orbit)
    return [
        tuple(group.ranks[group.mover[rank], list(path)].tolist())
        for orbit, path in zip(targets, paths, strict=True)
        for rank in orbit
    ]


def _path_load(ways: Ways, path: tuple[int, ...]) -> Floats:
    """Return the seconds that every link is busy when a path carries one byte."""
    used = ways.links[path[:-1], path[1:]].ravel() if path else np.zeros(0, dtype=np.int64)
    return np.asarray(np.bincount(used, minlength=len(ways.seconds_per_byte)) * ways.seconds_per_byte)


def _load(ways: Ways, parent: Longs) -> Floats:
    """Return the seconds that every link is busy when a tree carries one byte."""
    children = np.flatnonzero(parent >= 0)
    used = ways.links[parent[children], children].ravel()
    return np.asarray(np.bincount(used, minlength=len(ways.seconds_per_byte)) * ways.seconds_per_byte)
