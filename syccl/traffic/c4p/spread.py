"""Even use of equal routes: connections are coloured with the ways onward, part of the network after part.

The connections are the edges of a multigraph from sending to receiving nodes, and the colours are spines (or planes, or
cores): the textbook's edge colouring of a bipartite multigraph, by which each link of a leaf with ``n`` connections and
``s`` spines carries at most ``ceil(n / s)`` of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from syccl.topology import Topology
from syccl.traffic.c4p.colour import Choice, balanced

Links = tuple[int, ...]


def spread(topology: Topology, sizes: Sequence[float], routes: Sequence[Sequence[Links]]) -> list[int]:
    """Return which of its routes each connection takes, so that the links of every node share its load evenly.

    Parameters
    ----------
    sizes
        Bytes of each connection.
    routes
        Candidates of each connection, as links from end to end.
    """
    left = [list(range(len(of))) for of in routes]
    while undecided := [item for item, of in enumerate(left) if len(of) > 1]:
        forks = [_fork([(routes[item][at], at) for at in left[item]]) for item in undecided]
        options = _options(topology, forks)
        choices = [_choice(topology, fork, of) for fork, of in zip(forks, options, strict=True)]
        colours = balanced(choices, [sizes[item] for item in undecided])
        for item, of, colour in zip(undecided, options, colours, strict=True):
            left[item] = of[colour]
    return [of[0] for of in left]


@dataclass(frozen=True)
class _Fork:
    """Where the candidates that are left to a connection part (after ``before`` links), and how many end alike."""

    candidates: list[tuple[Links, int]]
    before: int
    after: int

    @property
    def nexts(self) -> list[int]:
        """The link onward of each candidate."""
        return [links[self.before] for links, _ in self.candidates]

    @property
    def lasts(self) -> list[int]:
        """The link of each candidate by which it joins the others again."""
        return [links[-1 - self.after] for links, _ in self.candidates]


def _fork(candidates: list[tuple[Links, int]]) -> _Fork:
    ways = [links for links, _ in candidates]
    turned = [links[::-1] for links in ways]
    return _Fork(candidates, _common(min(ways), max(ways)), _common(min(turned), max(turned)))


def _common(one: Links, other: Links) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _options(topology: Topology, forks: Sequence[_Fork]) -> list[dict[int, list[int]]]:
    """Return the candidates of each fork by what is decided now.

    That is the part of the network, where some meet at forks only (planes at NICs, spines at leaves), else the link
    onward, by its position among those of its node.
    """
    parts = _Parts(topology, forks)
    found = [_grouped(fork, list(parts.of(fork))) for fork in forks]
    if any(len(of) > 1 for of in found):
        return found
    onward: dict[int, list[int]] = {}
    for link in sorted({link for fork in forks for link in fork.nexts}):
        onward.setdefault(topology.links[link].src, []).append(link)
    position = {link: at for of in onward.values() for at, link in enumerate(of)}
    return [_grouped(fork, [position[link] for link in fork.nexts]) for fork in forks]


def _grouped(fork: _Fork, colours: Sequence[int]) -> dict[int, list[int]]:
    options: dict[int, list[int]] = {}
    for (_, at), colour in zip(fork.candidates, colours, strict=True):
        options.setdefault(colour, []).append(at)
    return options


class _Parts:
    """Parts of the network that hang together without the nodes at which candidates part and meet."""

    def __init__(self, topology: Topology, forks: Sequence[_Fork]) -> None:
        self.links = topology.links
        self.borders = {self.links[link].src for fork in forks for link in fork.nexts}
        self.borders |= {self.links[link].dst for fork in forks for link in fork.lasts}
        self.root: dict[int, int] = {}
        for inner in {inner for fork in forks for inner in self._inner(fork)}:
            for one, other in pairwise(inner):
                a, b = sorted((self._find(one), self._find(other)))
                if a != b:
                    self.root[b] = a

    def of(self, fork: _Fork) -> Iterator[int]:
        """Yield the part of each candidate, by its lowest node; of parallel links their position, as -1, -2, ..."""
        direct = 0
        for inner in self._inner(fork):
            direct -= not inner
            yield self._find(inner[0]) if inner else direct

    def _inner(self, fork: _Fork) -> Iterator[Links]:
        for links, _ in fork.candidates:
            middle = (self.links[link].dst for link in links[fork.before : len(links) - fork.after - 1])
            yield tuple(node for node in middle if node not in self.borders)

    def _find(self, node: int) -> int:
        while node in self.root:
            node = self.root[node]
        return node


def _choice(topology: Topology, fork: _Fork, options: dict[int, list[int]]) -> Choice:
    """Return what is to be chosen, with the names of what is to be even at both ends, from a NIC to all leaves."""
    links, _ = fork.candidates[0]
    n, start, end = len(links), topology.links[fork.nexts[0]].src, topology.links[fork.lasts[0]].dst
    sending = [links[at : fork.before] for at in range(fork.before)] + [(start,)]
    receiving = [links[n - fork.after : n - at] for at in range(fork.after)] + [(end,)]
    sending.append(tuple(sorted({topology.links[link].dst for link in fork.nexts})))
    receiving.append(tuple(sorted({topology.links[link].src for link in fork.lasts})))
    return Choice(tuple(sorted(options)), tuple(sending), tuple(receiving))
