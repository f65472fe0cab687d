"""Random connected graphs by seed: GPUs and switches, links of unequal rate, some of them one-way."""

from __future__ import annotations

import random

from syccl.topology import Kind, Link, Node, Topology

RATES = (5, 12.5, 25, 25, 50, 100, 300)
"""GB/s; no two links join the same nodes in the same direction."""
FEWEST, MOST = 5, 12
MOST_SWITCHES = 3


def random_graph(seed: int) -> Topology:
    """The graph of a seed: a random tree of duplex links for connection, then up to two more links a node."""
    rng = random.Random(seed)
    ranks, switches = rng.randint(FEWEST, MOST), rng.randint(0, MOST_SWITCHES)
    nodes = [Node(f"gpu{i}", Kind.GPU) for i in range(ranks)]
    nodes += [Node(f"switch{i}", Kind.SWITCH) for i in range(switches)]
    order = list(range(len(nodes)))
    rng.shuffle(order)
    pairs = [(order[i], order[rng.randrange(i)]) for i in range(1, len(order))]
    for _ in range(rng.randint(0, 2 * len(nodes))):
        a, b = rng.sample(range(len(nodes)), 2)
        if (a, b) not in pairs and (b, a) not in pairs:
            pairs.append((a, b))
    links = [link for i, pair in enumerate(pairs) for link in _links(rng, pair, duplex=i < len(nodes) - 1)]
    return Topology(f"random{seed}", tuple(nodes), tuple(links))


def _links(rng: random.Random, pair: tuple[int, int], *, duplex: bool) -> list[Link]:
    """One direction or both; one pair in five has unequal directions."""
    there, back = rng.choice(RATES), rng.choice(RATES)
    latency_ps = rng.randint(2, 20) * 100_000
    links = [Link(*pair, round(there * 1e9), latency_ps)]
    if duplex or rng.random() < 0.8:
        links.append(Link(pair[1], pair[0], round((back if rng.random() < 0.2 else there) * 1e9), latency_ps))
    return links
