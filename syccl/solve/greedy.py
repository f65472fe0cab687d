"""A first answer to who is served by whom and when: of all that can be done, always what is done soonest."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence

from syccl.optimize.choice import Choice, Way
from syccl.optimize.status import Status

_Offer = tuple[int, int, int, int]
"""When it would be done and begun, item, way."""


def soonest_first(items: Sequence[Sequence[Way]]) -> Choice:
    """Return a choice that does every item, or one with status gave up where some cannot be done."""
    waiting: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for item, ways in enumerate(items):
        for i, way in enumerate(ways):
            waiting[way.after].append((item, i))
    free: dict[int, int] = defaultdict(int)
    done: dict[int, int] = {}
    taken: dict[int, tuple[int, int]] = {}

    def offer(item: int, i: int) -> _Offer:
        way = items[item][i]
        begin = max([way.release, done.get(way.after, 0), *(free[resource] for resource, _ in way.uses)])
        return begin + way.length, begin, item, i

    offers = [offer(item, i) for item, i in waiting[-1]]
    heapq.heapify(offers)
    while offers:
        end, begin, item, i = heapq.heappop(offers)
        if item in done:
            continue
        now = offer(item, i)
        if now[0] > end:
            # Something was used in the meantime; offers only get worse, so the best of all is found all the same.
            heapq.heappush(offers, now)
            continue
        taken[item], done[item] = (i, begin), end
        free.update({resource: begin + ticks for resource, ticks in items[item][i].uses})
        for other, j in waiting[item]:
            if other not in done:
                heapq.heappush(offers, offer(other, j))
    if len(done) < len(items):
        return Choice(Status.GAVE_UP, (), (), 0, 0)
    ways, starts = zip(*(taken[item] for item in range(len(items))), strict=True) if items else ((), ())
    return Choice(Status.FEASIBLE, tuple(ways), tuple(starts), max(done.values(), default=0), 0)
