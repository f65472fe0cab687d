"""Structured trees by rip-up and re-route: even loads on links *and* on connections.

Every piece gets a tree that enters each island once and spreads inside it; trees are chosen one by one under prices
that grow exponentially with the load of each link orbit, as in global routing of circuits, and each is taken out and
put back at current prices in later passes. Everything happens in the quotient by the symmetry group, so a tree stands
for all its images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from syccl.sketch.grow import TreePair, TreeRouter
from syccl.sketch.model import Piece, both_trees

_ROOTS_TRIED = 2


def route_allgather(router: TreeRouter, pieces: int, *, inward: bool = False, passes: int = 2) -> tuple[Piece, ...]:
    """Return ``pieces`` trees for every representative root; ``inward`` makes them in-trees (reducescatter)."""
    roots = router.ground.quotient.representatives.tolist()
    return _route_trees(router, [(root, wave) for wave in range(pieces) for root in roots], inward, passes)


def route_root(
    router: TreeRouter, root: int, pieces: int, *, inward: bool = False, passes: int = 4
) -> tuple[Piece, ...]:
    """Return ``pieces`` trees of one root (broadcast); ``inward`` makes them in-trees (reduce)."""
    return _route_trees(router, [(root, wave) for wave in range(pieces)], inward, passes)


def _route_trees(router: TreeRouter, slots: Sequence[tuple[int, int]], inward: bool, passes: int) -> tuple[Piece, ...]:
    def build(slot: tuple[int, int]) -> TreePair:
        tree = router.tree(*slot, inward=inward)
        return TreePair(slot[0], tree, None) if inward else TreePair(slot[0], None, tree)

    return _negotiate(router, slots, build, passes)


def route_allreduce(router: TreeRouter, pieces: int, *, passes: int = 2) -> tuple[Piece, ...]:
    """Return ``pieces`` in-tree and out-tree pairs, each at the root where both together cost least."""
    choices = _roots_tried(router)

    def build(slot: tuple[int, int]) -> TreePair:
        return router.pair(choices[slot[0]], slot[1])

    slots = [(k % len(choices), k // len(choices)) for k in range(pieces)]
    return _negotiate(router, slots, build, passes)


def _roots_tried(router: TreeRouter) -> list[list[int]]:
    """Return which roots are compared for each piece, in turn: all of them where that is cheap, else two."""
    roots = router.ground.quotient.representatives.tolist()
    if router.is_steady and router.shape.by_turns:
        homes = [[root for root in members if root in roots] for members in router.ground.islands]
        homes = [home for home in homes if home]
        return [[home[turn % len(home)] for home in homes] for turn in range(max(map(len, homes)))]
    if router.is_steady:
        return [roots]
    count = min(len(roots), _ROOTS_TRIED)
    step = max(1, len(roots) // _ROOTS_TRIED)
    return [[roots[(turn + i * step) % len(roots)] for i in range(count)] for turn in range(len(roots))]


def _negotiate(
    router: TreeRouter,
    slots: Sequence[tuple[int, int]],
    build: Callable[[tuple[int, int]], TreePair],
    passes: int,
) -> tuple[Piece, ...]:
    """Place every piece, then take each out and put it back at current prices."""
    placed = [build(slot) for slot in slots]
    for _ in range(passes - 1):
        for i, slot in enumerate(slots):
            router.count_pair(placed[i], -1.0)
            placed[i] = build(slot)
    return tuple(Piece(p.root, both_trees(p.root, p.inward or {}, p.outward or {}), "structured") for p in placed)
