"""Trees and paths of one root for a deadline: early pieces take cheap detours, late ones go straight.

Every piece grows a tree arc by arc. An arc costs what its links are worth, which rises exponentially as a link fills
up to what it can carry between the first byte that can reach it and the last that can still be of use, and what its
arrival costs, which rises exponentially towards the deadline. So the first pieces, which have time, save the slow
links, and the last ones use whatever is idle, as the best known schedules do.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InfeasibleError
from syccl.sketch.first_path import first_path
from syccl.sketch.ways import Ways

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

_STEEP = 20.0
_MOST_EXPONENT = 30.0
_IDLE = 1e-3
"""Price of an idle link, as a share of a full one."""
_HASTE = 0.02
"""What a second of arrival costs, however far the deadline."""
_LEAST_WINDOW = 0.05
"""Shortest time in which a link is taken to be of use, as a share of the deadline."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be sent, and when it should be there.

    Parameters
    ----------
    pieces
        Number of equal pieces.
    chunk_bytes
        Size of one.
    deadline_s
        Seconds.
    passes
        How often every piece is routed.
    """

    pieces: int
    chunk_bytes: float
    deadline_s: float
    passes: int = 3


def timely_trees(ways: Ways, root: int, goal: Goal) -> Longs:
    """Return a tree for every piece: the parent of every rank, -1 at the root, shape ``(pieces, ranks)``.

    Raises
    ------
    InfeasibleError
        When some rank cannot be reached.
    """
    router = _Router(ways, root, goal)
    placed: list[Longs | None] = [None] * goal.pieces
    for _ in range(goal.passes):
        # Late pieces first: they have the least choice.
        for piece in reversed(range(goal.pieces)):
            before = placed[piece]
            if before is not None:
                router.count(before, -1.0)
            placed[piece] = router.tree(piece)
            router.count(placed[piece], 1.0)
    return np.array(placed)


class _Router:
    """Loads as shares of what links can carry in time."""

    def __init__(self, ways: Ways, root: int, goal: Goal) -> None:
        self.ways, self.root, self.goal = ways, root, goal
        busy = ways.seconds_per_byte * goal.chunk_bytes
        self.busy = busy
        self.step = busy / self._windows()
        self.worth = goal.deadline_s * busy / busy.max()
        self.load = np.zeros(len(busy))
        self.length = ways.uses(goal.chunk_bytes) + ways.latency_s
        first = np.unique(ways.links[root, np.isfinite(ways.latency_s[root]), 0])
        self.pace = goal.chunk_bytes / float(
            (1.0 / ways.seconds_per_byte[first[:-1] if len(first) > 1 else first]).sum()
        )

    def _windows(self) -> Floats:
        """Return how long each link can be of use before the deadline."""
        ways, deadline = self.ways, self.goal.deadline_s
        nearest = _distances(ways.latency_s, self.root)
        before = np.full(len(ways.seconds_per_byte), np.inf)
        after = np.full(len(ways.seconds_per_byte), np.inf)
        for place in range(ways.links.shape[2]):
            np.minimum.at(before, ways.links[:, :, place], np.broadcast_to(nearest[:, None], ways.latency_s.shape))
            np.minimum.at(after, ways.links[:, :, place], ways.latency_s)
        return np.asarray(np.maximum(deadline - before - after, _LEAST_WINDOW * deadline))

    def count(self, parent: Longs | None, sign: float) -> None:
        """Add or take out the load of a tree."""
        if parent is None:
            return
        children = np.flatnonzero(parent >= 0)
        used = self.ways.links[parent[children], children].ravel()
        self.load += sign * np.bincount(used, minlength=len(self.load)) * self.step
        self.load[-1] = 0.0

    def tree(self, piece: int) -> Longs:
        """Return a tree for a piece that leaves the root in its turn."""
        ways, n, deadline = self.ways, self.ways.ranks, self.goal.deadline_s
        fill = np.minimum(_STEEP * (self.load + self.step - 1.0), _MOST_EXPONENT)
        prices = (self.worth * (np.exp(fill) + _IDLE))[ways.links].sum(axis=2)
        held = np.full(n, np.inf)
        held[self.root] = piece * self.pace
        parent = np.full(n, -1, dtype=np.int64)
        arrival, keys = np.full((n, n), np.inf), np.full((n, n), np.inf)
        free = np.zeros(len(self.load))
        closed = np.zeros(n)
        closed[self.root] = np.inf
        changed = [self.root]
        for _ in range(n - 1):
            begin = np.maximum(held[changed, None], free[ways.links[changed]].max(axis=2))
            arrival[changed] = begin + self.length[changed]
            late = np.minimum(_STEEP * (arrival[changed] / deadline - 1.0), _MOST_EXPONENT)
            keys[changed] = deadline * np.exp(late) + _HASTE * arrival[changed] + prices[changed] + closed
            over, child = divmod(int(keys.argmin()), n)
            if not np.isfinite(keys[over, child]):
                msg = f"no tree joins rank {self.root} with every other rank; check the directions of the links"
                raise InfeasibleError(msg)
            parent[child], held[child] = over, arrival[over, child]
            free[ways.links[over, child]] = held[child] - ways.latency_s[over, child]
            free[-1] = 0.0
            closed[child] = np.inf
            keys[:, child] = np.inf
            changed = [over, child]
        return parent


def _distances(latency_s: Floats, root: int) -> Floats:
    """Return the least sum of alphas from the root to every rank."""
    reached = latency_s[root].copy()
    reached[root] = 0.0
    for _ in range(len(reached)):
        nearer = np.minimum(reached, (reached[:, None] + latency_s).min(axis=0))
        if np.array_equal(nearer, reached):
            break
        reached = nearer
    return np.asarray(reached)


class Path(NamedTuple):
    """Ranks from the root to a target, and when each transfer begins, in seconds."""

    ranks: tuple[int, ...]
    begin_s: tuple[float, ...]


def timely_paths(
    ways: Ways, root: int, targets: Sequence[int], chunk_bytes: float, *, backwards: bool = False
) -> list[Path]:
    """Return a path from the root for a chunk of every target, each the one that arrives first after those before it.

    Parameters
    ----------
    backwards
        Whether time will run backwards: links are then busy right before a transfer arrives, not when it begins.

    Raises
    ------
    InfeasibleError
        When some target cannot be reached.
    """
    lines = _Lines(ways, chunk_bytes, backwards)
    paths = []
    for target in targets:
        ranks = first_path(lines.arrive, float(lines.nearest[target]), root, target)
        begins: list[float] = []
        since = 0.0
        for src, dst in itertools.pairwise(ranks):
            begins.append(max(since, float(lines.waits(src)[dst])))
            since = lines.take(src, dst, begins[-1])
        paths.append(Path(ranks, tuple(begins)))
    return paths


class _Lines:
    """When every link is free again."""

    def __init__(self, ways: Ways, chunk_bytes: float, backwards: bool) -> None:
        self.ways, self.backwards = ways, backwards
        self.length = ways.uses(chunk_bytes) + ways.latency_s
        self.busy = ways.seconds_per_byte * chunk_bytes
        self.free = np.zeros(len(self.busy))
        self.nearest = self.length.min(axis=0)

    def waits(self, src: int) -> Floats:
        """Return when a transfer from a rank to every other can begin."""
        links = self.ways.links[src]
        if self.backwards:
            return np.asarray((self.free + self.busy)[links].max(axis=1) - self.length[src])
        return np.asarray(self.free[links].max(axis=1))

    def arrive(self, src: int, since_s: float) -> Floats:
        """Return when a transfer would reach every other rank that its sender can make from a time on."""
        return np.asarray(np.maximum(since_s, self.waits(src)) + self.length[src])

    def take(self, src: int, dst: int, begin_s: float) -> float:
        """Occupy the links of a transfer and return when it arrives."""
        arrival_s = begin_s + float(self.length[src, dst])
        used = self.ways.links[src, dst]
        # Links that cannot be overloaded would only keep later chunks from gaps before their turn.
        used = used[self.ways.can_queue[used]]
        self.free[used] = arrival_s if self.backwards else begin_s + self.busy[used]
        return arrival_s
