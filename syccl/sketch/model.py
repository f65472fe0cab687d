"""Pieces: the shape of one chunk's journey, before anything is said about time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple


class Hop(NamedTuple):
    """One transfer of a piece between two ranks; ``stage`` and ``reduce`` as in ``schedule.Transfers``."""

    src: int
    dst: int
    stage: int
    reduce: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """All hops of one representative chunk.

    Under the symmetry group the piece stands for all its images, one chunk each.

    Parameters
    ----------
    root
        Rank that the chunk belongs to: its source (copies), its target (sums), or where the sum is formed (allreduce).
    hops
        By ascending stage.
    kind
        How it was made, for reports.
    target
        Rank that a chunk with one source and one target ends at; ``root`` is then its source.
    leaders
        For allreduce, where some symmetries map the piece to itself: the position of the hop that stands for each hop
        under them, the first of its kind. Empty: every hop stands for itself.
    """

    root: int
    hops: tuple[Hop, ...]
    kind: str
    target: int = -1
    leaders: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """Number of hops that stand for all others."""
        return len(set(self.leaders)) if self.leaders else len(self.hops)

    @property
    def symmetries(self) -> int:
        """Number of symmetries that map the piece to itself."""
        return len(self.leaders) // self.rows if self.leaders else 1


def out_tree(root: int, parent: dict[int, int], *, first_stage: int = 0) -> tuple[Hop, ...]:
    """Return the hops that spread a chunk from ``root`` along ``parent`` (child -> parent); stage is the depth."""
    children: dict[int, list[int]] = defaultdict(list)
    for child, over in parent.items():
        children[over].append(child)
    hops: list[Hop] = []
    level, stage = [root], first_stage
    while level:
        fresh = [Hop(u, v, stage) for u in level for v in children[u]]
        hops += fresh
        level, stage = [hop.dst for hop in fresh], stage + 1
    return tuple(hops)


def in_tree(root: int, parent: dict[int, int]) -> tuple[Hop, ...]:
    """Return the hops that sum contributions into ``root`` along ``parent``; deepest ranks send first."""
    down = out_tree(root, parent)
    last = max((hop.stage for hop in down), default=0)
    return tuple(Hop(hop.dst, hop.src, last - hop.stage, True) for hop in reversed(down))


def both_trees(root: int, inward: dict[int, int], outward: dict[int, int]) -> tuple[Hop, ...]:
    """Return an in-tree followed by an out-tree with a common root."""
    up = in_tree(root, inward)
    first = max((hop.stage for hop in up), default=-1) + 1
    return up + out_tree(root, outward, first_stage=first)
