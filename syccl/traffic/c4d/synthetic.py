"""Made-up measurements: connections that share links fairly, some of them slow, with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from syccl.topology import Topology
from syccl.traffic.c4d.records import Floats, Timings
from syccl.traffic.c4d.routes import Routes

_ROUNDED = 1e-9


def fair_rates(topology: Topology, routes: Routes, slow: Mapping[int, float] | None = None) -> Floats:
    """Return the max-min fair rate of each connection where all send at once, bytes per second.

    Parameters
    ----------
    slow
        By which factor links are slower than stated.
    """
    link, flow, starts = routes.link, routes.cell, routes.start
    left = topology.link_rates.copy()
    for at, factor in (slow or {}).items():
        left[at] /= factor
    rates = np.zeros(len(starts))
    rising = np.ones(len(starts), dtype=np.bool_)
    while rising.any():
        count = np.bincount(link[rising[flow]], minlength=len(left))
        share = np.where(count > 0, left / np.maximum(count, 1), np.inf)
        least = np.minimum.reduceat(share[link], starts)
        lowest = np.full(len(left), np.inf)
        mine = rising[flow]
        np.minimum.at(lowest, link[mine], least[flow[mine]])
        full = lowest >= share * (1 - _ROUNDED)
        stops = rising & np.logical_or.reduceat(full[link] & (count[link] > 0), starts)
        rates[stops] = least[stops]
        left = np.maximum(0.0, left - np.bincount(link, np.where(stops[flow], rates[flow], 0.0), minlength=len(left)))
        rising &= ~stops
    return rates


def measured(ends: Sequence[tuple[int, int, int]], rates: Floats, *, noise: float, windows: int, seed: int) -> Timings:
    """Return the times of transfers of 1 MiB: in each window one of each connection, with normal noise.

    Parameters
    ----------
    ends
        Sender, receiver and channel of each connection.
    rates
        Bytes per second of each.
    noise
        Standard deviation of a time over the time.
    """
    chance = np.random.default_rng(seed)
    n = len(ends)
    src, dst, channel = (np.tile(np.array(column, dtype=np.int64), windows) for column in zip(*ends, strict=True))
    size = np.full(n * windows, float(2**20))
    factor = np.maximum(0.1, 1 + noise * chance.standard_normal(n * windows))
    time_us = np.tile(2**20 / rates * 1e6, windows) * factor
    zero = np.zeros(n * windows, dtype=np.int64)
    window = np.repeat(np.arange(windows, dtype=np.int64), n)
    return Timings(src, dst, channel, zero, window, size, time_us, zero - 1, zero - 1)
