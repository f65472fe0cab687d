"""Structured trees by rip-up and re-route: even loads on links *and* on connections.

Every piece gets a tree that enters each island once and spreads inside it; trees are chosen one by one under prices
that grow exponentially with the load of each link orbit, as in global routing of circuits, and each is taken out and
put back at current prices in later passes. Everything happens in the quotient by the symmetry group, so a tree stands
for all its images.
"""

from __future__ import annotations

from collections.abc import Callable

from syccl.errors import InternalError
from syccl.sketch.grow import TreeRouter
from syccl.sketch.model import Piece, both_trees, in_tree, out_tree

_ROOTS_TRIED = 2


def route_allgather(router: TreeRouter, pieces: int, *, inward: bool = False, passes: int = 2) -> tuple[Piece, ...]:
    """Return ``pieces`` trees for every representative root; ``inward`` makes them in-trees (reducescatter)."""

    def build(slot: tuple[int, int]) -> Piece:
        root, wave = slot
        parent = router.tree(root, wave, inward=inward)
        return Piece(root, in_tree(root, parent) if inward else out_tree(root, parent), "structured")

    slots = [(root, wave) for wave in range(pieces) for root in router.ground.quotient.representatives.tolist()]
    return _negotiate(router, slots, build, passes)


def route_root(
    router: TreeRouter, root: int, pieces: int, *, inward: bool = False, passes: int = 4
) -> tuple[Piece, ...]:
    """Return ``pieces`` trees of one root (broadcast); ``inward`` makes them in-trees (reduce)."""

    def build(slot: tuple[int, int]) -> Piece:
        parent = router.tree(root, slot[1], inward=inward)
        return Piece(root, in_tree(root, parent) if inward else out_tree(root, parent), "structured")

    return _negotiate(router, [(root, wave) for wave in range(pieces)], build, passes)


def route_allreduce(router: TreeRouter, pieces: int, *, passes: int = 2) -> tuple[Piece, ...]:
    """Return ``pieces`` in-tree and out-tree pairs, each at the root where both together cost least."""
    reps = router.ground.quotient.representatives.tolist()
    step = max(1, len(reps) // _ROOTS_TRIED)

    def build(slot: tuple[int, int]) -> Piece:
        turn, wave = slot
        best: tuple[float, Piece] | None = None
        for i in range(min(len(reps), _ROOTS_TRIED)):
            root = reps[(turn + i * step) % len(reps)]
            prices, kinds = router.prices(), router.ground.quotient.arc_class
            inward, outward = router.tree(root, wave, inward=True), router.tree(root, wave)
            piece = Piece(root, both_trees(root, inward, outward), "structured")
            router.count(piece.hops, -1.0)
            price = float(sum(prices[kinds[hop.src, hop.dst]] for hop in piece.hops))
            if best is None or price < best[0]:
                best = (price, piece)
        if best is None:
            msg = "a topology without ranks cannot be routed"
            raise InternalError(msg)
        router.count(best[1].hops, 1.0)
        return best[1]

    slots = [(k % len(reps), k // len(reps)) for k in range(pieces)]
    return _negotiate(router, slots, build, passes)


def _negotiate(
    router: TreeRouter,
    slots: list[tuple[int, int]],
    build: Callable[[tuple[int, int]], Piece],
    passes: int,
) -> tuple[Piece, ...]:
    """Place every piece, then take each out and put it back at current prices."""
    placed = [build(slot) for slot in slots]
    for _ in range(passes - 1):
        for i, slot in enumerate(slots):
            router.count(placed[i].hops, -1.0)
            placed[i] = build(slot)
    return tuple(placed)
