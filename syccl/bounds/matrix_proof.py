"""Proofs of bounds of alltoallv: prices of links over time, from cuts and from the flow of all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from syccl.bounds.concurrent import flow_prices
from syccl.bounds.latency import least_time
from syccl.bounds.matrix import busy_ends, cuts_of
from syccl.bounds.network import UNREACHED, Longs, Network
from syccl.collective import ALLTOALLV, Matrix
from syccl.errors import GaveUpError, InputError
from syccl.proof import Certificate, Priced, verify_certificate
from syccl.proof.ways import Ways, ways_of
from syccl.topology import Topology
from syccl.units import PS_PER_SECOND

_BELOW = Fraction(1, 10**6)
"""A proof is for so much less than the time that its prices exclude."""
_TRIED = 6
"""Prices that are checked, the most promising first."""
_LARGEST_PRICE = 1 << 24


class _Claim(NamedTuple):
    """Links with what crossing them costs, and when: from ``opens`` to ``closes`` before the end, picoseconds."""

    time_ps: int
    links: Longs
    price: Longs
    opens: Longs
    closes: Longs


def matrix_proof(topology: Topology, matrix: Matrix, *, islands: Sequence[Sequence[int]]) -> Certificate:
    """Return a checked proof of about the largest time that cuts and flows exclude.

    Parameters
    ----------
    topology, matrix, islands
        As for ``matrix_bound``.

    Raises
    ------
    GaveUpError
        When nothing has to be sent, or the cluster has too many ways from GPU to GPU.
    """
    network = Network.of(topology)
    table = matrix.table * ~np.eye(matrix.ranks, dtype=np.bool_)
    try:
        ways = ways_of(topology)
    except InputError as error:
        raise GaveUpError(str(error)) from None
    claims = [*_cut_claims(network, ways, table, islands), *_flow_claims(network, table)]
    for claim in sorted(claims, key=lambda claim: -claim.time_ps)[:_TRIED]:
        made = _certificate(topology, matrix, claim)
        if not verify_certificate(made):
            return made
    msg = "no certificate: nothing has to be sent, or no prices prove anything; the bound is a formula"
    raise GaveUpError(msg)


def _cut_claims(network: Network, ways: Ways, table: Longs, islands: Sequence[Sequence[int]]) -> Iterator[_Claim]:
    """Yield for every cut its price of one, while data of its senders can cross and still get to a receiver."""
    for inside, crossing in cuts_of(network, table, islands):
        for sources, sinks in busy_ends(ways.distance, table, inside):
            moved = int(table[np.ix_(sources, sinks)].sum())
            links = np.array(crossing.links, dtype=np.int64)
            opens, closes = _windows(ways, links, sources, sinks)
            used = opens + closes < UNREACHED
            links, opens, closes = links[used], opens[used], closes[used]
            shut: dict[int, Fraction] = {}
            for link, unusable in zip(links.tolist(), (opens + closes).tolist(), strict=True):
                shut[unusable] = shut.get(unusable, Fraction(0)) + int(network.rates[link])
            if shut and moved:
                seconds = least_time(Fraction(moved), shut)
                yield _Claim(_just_below(seconds), links, np.ones(len(links), dtype=np.int64), opens, closes)


def _windows(ways: Ways, links: Longs, sources: Sequence[int], sinks: Sequence[int]) -> tuple[Longs, Longs]:
    """Return from when on, and until how long before the end, each link is of use; picoseconds.

    Data passes the slowest links of a way when it is launched, and faster ones at any time before.
    """
    first = ways.distance[list(sources)].min(axis=0)[ways.tail]
    last = np.minimum(ways.alpha + ways.distance[:, list(sinks)].min(axis=1)[ways.head], UNREACHED)
    opens, closes = [], []
    for link in links.tolist():
        way, step = np.nonzero(ways.links == link)
        always = not ways.slowest[way, step].all()
        opens.append(0 if always else int(first[way].min(initial=UNREACHED)))
        closes.append(int(last[way].min(initial=UNREACHED)))
    return np.array(opens, dtype=np.int64), np.array(closes, dtype=np.int64)


def _flow_claims(network: Network, table: Longs) -> Iterator[_Claim]:
    """Yield the prices at which all pairs together pay most, the same at all times."""
    found = flow_prices(network, table)
    if found is None:
        return
    seconds, prices = found
    whole = np.ceil(prices / prices.max() * _LARGEST_PRICE).astype(np.int64)
    links = np.flatnonzero(whole)
    never = np.zeros(len(links), dtype=np.int64)
    yield _Claim(_just_below(Fraction(seconds)), links, whole[links], never, never)


def _just_below(seconds: Fraction) -> int:
    return int(seconds * PS_PER_SECOND * (1 - _BELOW))


def _certificate(topology: Topology, matrix: Matrix, claim: _Claim) -> Certificate:
    points = {0, claim.time_ps, *claim.opens.tolist(), *(claim.time_ps - claim.closes).tolist()}
    grid = np.array(sorted(t for t in points if 0 <= t <= claim.time_ps), dtype=np.int64)
    rows: dict[tuple[int, ...], list[int]] = {}
    for link, price, opens, closes in zip(*(column.tolist() for column in claim[1:]), strict=True):
        open_at = (grid[:-1] >= opens) & (grid[1:] <= claim.time_ps - closes)
        rows.setdefault(tuple((price * open_at).tolist()), []).append(link)
    priced = tuple(
        Priced(np.array(ids, dtype=np.int64), np.array(price, dtype=np.int64)) for price, ids in rows.items()
    )
    return Certificate(topology, ALLTOALLV, matrix.size_bytes, 0, grid, (), priced, matrix=matrix.rows)
