"""Max-min fair rates of classes of flows that share links, kept up to date as flows come and go.

Flows with the same links and the same rate limit form a class and always have equal rates, so there is one rate per
class: rates rise together until a link is full or a limit is reached, then those flows stay and the others rise on
(progressive filling; Bertsekas and Gallager, Data Networks, section 6.5.2). A link on which all flows fit at their
limits never holds anything up; only the other, *hot*, links are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Uses = Sequence[tuple[int, float]]
"""(resource, weight) pairs: a flow of rate ``x`` takes ``weight * x`` of the resource."""

_SLACK = 1 + 1e-9
_SMALL = 32


class FairShare:
    """Weighted max-min fair rates of classes.

    Change ``counts`` (flows in each class), then call ``update``; ``rates`` holds the rate of one flow of each class.

    Parameters
    ----------
    capacities
        Of each resource, bytes per second.
    uses
        Of each class.
    caps
        Largest rate of a flow of each class, bytes per second.
    """

    def __init__(self, capacities: Sequence[float], uses: Sequence[Uses], caps: Sequence[float]) -> None:
        self.counts = [0] * len(uses)
        self.rates = list(caps)
        self._capacities = capacities
        self._uses = uses
        self._caps = caps
        self._members: list[list[tuple[int, float]]] = [[] for _ in capacities]
        for k, row in enumerate(uses):
            for resource, weight in row:
                self._members[resource].append((k, weight))
        self._limits = [capacity * _SLACK for capacity in capacities]
        self._applied = [0] * len(uses)
        self._demands = [0.0] * len(capacities)
        self._hot = [False] * len(capacities)
        self._memo: dict[tuple[int, ...], list[float]] = {}

    def update(self, touched: Iterable[int]) -> list[int]:
        """Bring ``rates`` up to date after the counts of ``touched`` classes changed; return classes with new rates."""
        counts, applied = self.counts, self._applied
        fresh = [k for k in touched if counts[k] != applied[k]]
        if not fresh:
            return fresh
        if len(counts) > _SMALL:
            return self._update_part(fresh)
        for k in fresh:
            applied[k] = counts[k]
        key = tuple(counts)
        rates = self._memo.get(key)
        if rates is None:
            rates = self._memo[key] = self._all_rates()
        old, self.rates = self.rates, rates
        return [k for k, rate in enumerate(rates) if rate != old[k]]

    def _all_rates(self) -> list[float]:
        """Return the rates of all classes from nothing but the counts."""
        counts, caps = self.counts, self._caps
        hot = []
        for resource, members in enumerate(self._members):
            if sum(counts[k] * weight * caps[k] for k, weight in members) > self._limits[resource]:
                hot.append(resource)
        rates = list(caps)
        for k, rate in self._fill(range(len(counts)), hot):
            rates[k] = rate
        return rates

    def _update_part(self, fresh: list[int]) -> list[int]:
        """Recompute only the classes that hot resources join to the changed ones."""
        classes, hot = self._joined(fresh)
        rates = self.rates
        share = {k: self._caps[k] for k in classes}
        share.update(self._fill(share, hot))
        changed = [k for k, rate in share.items() if rate != rates[k]]
        for k in changed:
            rates[k] = share[k]
        return changed

    def _joined(self, fresh: list[int]) -> tuple[list[int], list[int]]:
        """Return the classes joined to ``fresh`` ones by resources that are or were hot, and the hot resources."""
        counts, uses, caps, demands, was_hot = self.counts, self._uses, self._caps, self._demands, self._hot
        for k in fresh:
            flow = (counts[k] - self._applied[k]) * caps[k]
            self._applied[k] = counts[k]
            for resource, weight in uses[k]:
                demands[resource] += flow * weight
        seen, classes = set(fresh), list(fresh)
        seen_resources: set[int] = set()
        hot = []
        for k in classes:
            for resource, _ in uses[k]:
                if resource in seen_resources:
                    continue
                seen_resources.add(resource)
                is_hot = demands[resource] > self._limits[resource]
                if is_hot:
                    hot.append(resource)
                elif not was_hot[resource]:
                    continue
                was_hot[resource] = is_hot
                for other, _ in self._members[resource]:
                    if counts[other] and other not in seen:
                        seen.add(other)
                        classes.append(other)
        return classes, hot

    def _fill(self, classes: Iterable[int], hot: list[int]) -> list[tuple[int, float]]:
        """Return the rate of each of ``classes`` that flows on ``hot`` resources, by progressive filling."""
        counts, uses = self.counts, self._uses
        through, rising = self._flowing(classes, hot)
        left = {resource: self._capacities[resource] for resource in through}
        load = {resource: sum([counts[k] * weight for k, weight in row]) for resource, row in through.items()}
        flowing = {resource: len(row) for resource, row in through.items()}
        rates: list[tuple[int, float]] = []
        lowest_cap = min(rising.values(), default=math.inf)
        while rising:
            level, full = math.inf, -1
            for resource in flowing:
                height = left[resource] / load[resource]
                if height < level:
                    level, full = height, resource
            if lowest_cap <= level:
                lowest_cap = min(rising.values())
            if lowest_cap <= level:
                level = lowest_cap
                stopped = [k for k, cap in rising.items() if cap == lowest_cap]
            else:
                stopped = [k for k, _ in through[full] if k in rising]
            for k in stopped:
                del rising[k]
                rates.append((k, level))
                for resource, weight in uses[k]:
                    if resource in flowing:
                        taken = counts[k] * weight
                        left[resource] -= taken * level
                        load[resource] -= taken
                        flowing[resource] -= 1
                        if not flowing[resource]:
                            del flowing[resource]
        return rates

    def _flowing(
        self, classes: Iterable[int], hot: list[int]
    ) -> tuple[dict[int, list[tuple[int, float]]], dict[int, float]]:
        """Return the flowing classes, with their weights, on each of ``hot``, and the caps of all of these classes."""
        through: dict[int, list[tuple[int, float]]] = {resource: [] for resource in hot}
        rising: dict[int, float] = {}
        for k in classes:
            if self.counts[k]:
                for resource, weight in self._uses[k]:
                    if resource in through:
                        through[resource].append((k, weight))
                        rising[k] = self._caps[k]
        return through, rising


def max_min_rates(
    counts: Sequence[int], uses: Sequence[Uses], capacities: Sequence[float], caps: Sequence[float]
) -> list[float]:
    """Return the weighted max-min fair rate of a flow of each class, bytes per second; ``caps`` where none flows."""
    share = FairShare(capacities, uses, caps)
    share.counts[:] = counts
    share.update(range(len(counts)))
    return list(share.rates)
