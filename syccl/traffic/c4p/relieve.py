"""Relief of busy links: a connection goes to another of its routes, and what then is in its way goes on in turn."""

from __future__ import annotations

from collections.abc import Sequence

from syccl.topology import Topology

Links = tuple[int, ...]

_ROUNDED = 1e-9
_DEEPEST = 6
_MOST_GOALS = 8
_MOST_IN_THE_WAY = 2
_MOST_TRIES = 20_000
"""Routes that are tried for one goal; a count, so that the same input always ends alike."""


class Placement:
    """Connections on their routes, and how busy that makes every link.

    Parameters
    ----------
    routes
        Candidates of each connection.
    choice
        Which of them each takes.
    """

    def __init__(
        self, topology: Topology, sizes: Sequence[float], routes: Sequence[Sequence[Links]], choice: Sequence[int]
    ) -> None:
        self.rates = [link.rate for link in topology.links]
        self.sizes, self.routes = sizes, routes
        self.choice = list(choice)
        self.busy_s: dict[int, float] = {}
        self.on: dict[int, dict[int, None]] = {}
        self._tries = 0
        for item, at in enumerate(self.choice):
            self._add(item, routes[item][at])

    def _add(self, item: int, links: Links) -> None:
        for link in links:
            self.busy_s[link] = self.busy_s.get(link, 0.0) + self.sizes[item] / self.rates[link]
            self.on.setdefault(link, {})[item] = None

    def move(self, item: int, at: int) -> None:
        """Put a connection on another of its routes."""
        for link in self.routes[item][self.choice[item]]:
            self.busy_s[link] -= self.sizes[item] / self.rates[link]
            del self.on[link][item]
        self.choice[item] = at
        self._add(item, self.routes[item][at])

    def settle(self, item: int) -> None:
        """Put a connection on the route whose busiest link is least busy, then the next, and so on."""
        self.move(item, min(range(len(self.routes[item])), key=lambda at: (self._seconds_with(item, at), at)))

    def _seconds_with(self, item: int, at: int) -> list[float]:
        here = set(self.routes[item][self.choice[item]])
        links = self.routes[item][at]
        more = ((i, 0.0 if i in here else self.sizes[item] / self.rates[i]) for i in links)
        return sorted((self.busy_s.get(i, 0.0) + each for i, each in more), reverse=True)

    @property
    def busiest_s(self) -> float:
        """Seconds of the busiest link."""
        return max(self.busy_s.values())

    def relieve(self, goal_s: float) -> bool:
        """Move connections until no link is busier than a goal, in chains as short as possible; return whether.

        Where that cannot be reached, links that are busiest are still made less busy as far as chains are found.
        """
        self._tries = 0
        limit_s = goal_s * (1 + _ROUNDED)
        for depth in range(1, _DEEPEST + 1):
            while sum(self._clear(link, limit_s, depth, ()) for link in self._over(limit_s)):
                pass
            if not self._over(limit_s):
                return True
        return False

    def lower(self, least_s: float) -> None:
        """Make the busiest links less busy, down to a bound at best; what does not help the busiest is not moved."""
        missed_s = goal_s = least_s
        for _ in range(_MOST_GOALS):
            if self.busiest_s <= missed_s * (1 + _ROUNDED):
                return
            before = list(self.choice)
            if not self.relieve(goal_s):
                missed_s = goal_s
                for item, at in enumerate(before):
                    if self.choice[item] != at:
                        self.move(item, at)
            goal_s = (missed_s + self.busiest_s) / 2

    def _over(self, limit_s: float) -> list[int]:
        over = [link for link, busy_s in self.busy_s.items() if busy_s > limit_s]
        return sorted(over, key=lambda link: (-self.busy_s[link], link))

    def _clear(self, link: int, limit_s: float, depth: int, moved: tuple[int, ...]) -> bool:
        """Take one connection off a link, so that no other link is above the limit afterwards."""
        excess = self.busy_s[link] - limit_s
        if excess <= 0:
            return False
        rate = self.rates[link]
        for item in sorted(self.on[link], key=lambda item: (self.sizes[item] / rate < excess, self.sizes[item], item)):
            if item not in moved and self._goes_elsewhere(item, link, limit_s, (depth, moved)):
                return True
        return False

    def _goes_elsewhere(self, item: int, link: int, limit_s: float, state: tuple[int, tuple[int, ...]]) -> bool:
        depth, moved = state
        old = self.choice[item]
        here = set(self.routes[item][old])
        options = []
        for at, links in enumerate(self.routes[item]):
            if link in links:
                continue
            self._tries += 1
            after = [(self.busy_s.get(i, 0.0) + self.sizes[item] / self.rates[i], i) for i in links if i not in here]
            over = [i for busy_s, i in after if busy_s > limit_s]
            if not over:
                self.move(item, at)
                return True
            if len(over) <= _MOST_IN_THE_WAY:
                options.append((max(after)[0], at, tuple(over)))
        if depth == 1:
            return False
        for _, at, in_the_way in sorted(options):
            if self._tries > _MOST_TRIES:
                return False
            self.move(item, at)
            if all(
                self.busy_s[i] <= limit_s
                or (self._clear(i, limit_s, depth - 1, (*moved, item)) and self.busy_s[i] <= limit_s)
                for i in in_the_way
            ):
                return True
            self.move(item, old)
        return False
