"""Trees over relays: each leaves the root's island through a rank of its own and crosses the others over its rail.

The root hands each piece to one relay; from there it goes from island to island over ranks of the same place, as in a
binary tree, and each island's entry serves the others. So few and flat trees use root and network evenly, on clusters
of like servers that are too large for negotiation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syccl.sketch.packing import Longs, Packing, height_of
from syccl.sketch.ways import Ways


def relayed(ways: Ways, root: int, islands: Sequence[Sequence[int]], *, twice: bool = False) -> Packing | None:
    """Return trees for every other rank of the root's island, or None where islands are unlike or arcs are missing.

    Parameters
    ----------
    twice
        Whether to make two trees over each relay, in which islands that serve two others in one serve none in the
        other; the relay itself serves one.
    """
    home = next(i for i, island in enumerate(islands) if root in island)
    order = [*range(home + 1, len(islands)), *range(home)]
    if not order or len(islands[home]) < 2 or len({len(island) for island in islands}) > 1:
        return None
    places = [place for place, rank in enumerate(islands[home]) if rank != root]
    orders = (order, order[::-1]) if twice else (order,)
    in_order = [[islands[i] for i in (home, *turns)] for turns in orders]
    first = 1 if twice else 2
    parents = np.array(
        [_tree(root, turns, place, ranks=ways.ranks, first=first) for place in places for turns in in_order]
    )
    child = np.broadcast_to(np.arange(ways.ranks), parents.shape)[parents >= 0]
    over = parents[parents >= 0]
    if not np.isfinite(ways.latency_s[over, child]).all():
        return None
    uses = np.bincount(ways.links[over, child].ravel(), minlength=len(ways.seconds_per_byte))
    load = float((uses * ways.seconds_per_byte).max())
    return Packing(parents, load, height_of(parents))


def _tree(root: int, islands: Sequence[Sequence[int]], place: int, *, ranks: int, first: int) -> Longs:
    """Return the parent of every rank in the tree over the ranks of one place; the first island is the root's.

    It serves ``first`` others, each of which serves two.
    """
    parent = np.full(ranks, -1, dtype=np.int64)
    for turn, island in enumerate(islands):
        entry = island[place]
        parent[list(island)] = entry
        parent[entry] = root if turn == 0 else islands[max(0, (turn - first + 1) // 2)][place]
    parent[root] = -1
    return parent
