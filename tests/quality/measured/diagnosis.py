"""Faults put into made-up measurements of 512 ranks, and what is named."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from syccl.topology import Topology, routes_from
from syccl.topology.catalog import load_topology
from syccl.topology.elements import element_of
from syccl.traffic.c4d import Fault, Suspect, diagnose
from syccl.traffic.c4d.routes import flat
from syccl.traffic.c4d.suspects import KINDS as SUSPECT_KINDS
from syccl.traffic.c4d.synthetic import fair_rates, measured
from syccl.traffic.outcome import servers_of
from syccl.traffic.pairs import direct_sends, ring_sends

CLUSTER = "h800x512"
SLOWNESS, NOISE, WINDOWS = 2.0, 0.1, 5
KINDS = ("link", "tx side", "rx side", "node", "leaf pair", "healthy")
SEVERAL, NOTHING = "several faults", "nothing"


def diagnosed(pattern: str, first: int, count: int) -> dict[str, dict[str, list[int]]]:
    """For each kind of fault and for what was named, how often that was right, and how often it was not."""
    case = Connections(pattern)
    found: dict[str, dict[str, list[int]]] = {kind: {} for kind in KINDS}
    for seed in range(first, first + count):
        for at, kind in enumerate(KINDS):
            truth, faults = case.told(kind, seed * len(KINDS) + at)
            counts = found[kind].setdefault(named(faults), [0, 0])
            counts[0 if case.is_right(truth, faults) else 1] += 1
    return {kind: dict(sorted(counts.items())) for kind, counts in found.items()}


def named(faults: Sequence[Fault]) -> str:
    """Return what faults are said to be: the kinds of all suspects where it is one fault."""
    if len(faults) != 1:
        return SEVERAL if faults else NOTHING
    kinds = {suspect.kind for suspect in faults[0].suspects}
    return " or ".join(sorted(kinds, key=SUSPECT_KINDS.index))


class Connections:
    """The connections of a ring or an alltoall."""

    def __init__(self, pattern: str) -> None:
        self.topology: Topology = load_topology(CLUSTER)
        ranks = range(self.topology.ranks)
        ring = pattern == "ring"
        sends = ring_sends("allreduce", 2**20, servers_of(self.topology, ranks)) if ring else direct_sends(
            "alltoall", 2**20, len(ranks)
        )  # fmt: skip
        self.ends = sorted(sends)
        self.links = [routes_from(self.topology, src)[dst].links for src, dst, _ in self.ends]
        self.routes = flat(self.links)

    def told(self, kind: str, seed: int) -> tuple[Suspect, tuple[Fault, ...]]:
        """Return a fault of some kind that is drawn at random, and what is found at fault."""
        chance = random.Random(seed)
        truth = _fault(kind, chance)
        cells = self.through(truth)
        slow = {link: SLOWNESS for part in truth.parts for link in element_of(self.topology, part).links}
        rates = fair_rates(self.topology, self.routes, slow)
        if kind == "leaf pair":
            rates[cells] /= SLOWNESS
        made = measured(self.ends, rates, noise=NOISE, windows=WINDOWS, seed=seed)
        return truth, diagnose(self.topology, [made]).faults

    def is_right(self, truth: Suspect, faults: tuple[Fault, ...]) -> bool:
        """Whether one fault is found, suspects hold the truth and are no more than connections tell apart."""
        if truth.kind == "healthy" or len(faults) != 1:
            return truth.kind == "healthy" and not faults
        cells, suspects = self.through(truth), faults[0].suspects
        return truth in suspects and all(np.array_equal(self.through(each), cells) for each in suspects)

    def through(self, suspect: Suspect) -> Any:
        """The connections through something, by its parts or its name and the routes alone."""
        links = {link for part in suspect.parts for link in element_of(self.topology, part).links}
        hit = np.isin(self.routes.link, sorted(links))
        if suspect.kind == "leaf pair":
            one, other = (int(name.removeprefix("rail")) for name in suspect.name.split(" to "))
            away = [src // 8 != dst // 8 and (src % 8, dst % 8) == (one, other) for src, dst, _ in self.ends]
            return np.flatnonzero(away)
        return np.unique(self.routes.cell[hit])


def _fault(kind: str, chance: random.Random) -> Suspect:
    server, rail = chance.randrange(64), chance.randrange(8)
    nic, leaf = f"server{server}.nic{rail}", f"rail{rail}"
    if kind == "link":
        one, other = chance.choice(((leaf, "spine0"), ("spine0", leaf)))
        return Suspect(kind, f"{one} -> {other}", (f"arc:{one}/{other}",))
    if kind == "tx side":
        return Suspect(kind, f"{nic} -> {leaf}", (f"arc:{nic}/{leaf}",))
    if kind == "rx side":
        return Suspect(kind, f"{leaf} -> {nic}", (f"arc:{leaf}/{nic}",))
    if kind == "node":
        return Suspect(kind, nic, (f"nic:{nic}",))
    if kind == "leaf pair":
        return Suspect(kind, f"rail{rail} to rail{rail ^ 1}")
    return Suspect(kind, "")
