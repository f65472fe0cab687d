"""How trees are to look: their shape, and what they pay for departing from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OPEN, EVEN, FAN, DEPTH, PREFER, DETOUR = 0.15, 0.3, 0.1, 0.03, 0.3, 0.02
"""Penalties in units of 0.3 / (least bandwidth): a new connection, an uneven one, a fan-out, a level of depth, another
feeder than the wave's, a sender that is not its island's entry."""
NOISE = 1e-5
"""Largest penalty that only breaks ties."""
REHANG_GAIN = 0.05
"""What a leaf must gain to leave the star for another parent."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How trees are built; candidates differ in it.

    Parameters
    ----------
    wave
        Order in which islands feed one another: ``"binomial"``, ``"chain"`` or ``"star"``.
    relays
        0: the holder serves its whole island; else it serves that many relays, which serve the others.
    by_turns
        Whether each piece of an allreduce compares one root of every island, by turns, instead of all roots. All roots
        even out the loads inside islands; turns mix the traffic between them better over time.
    """

    wave: str = "binomial"
    relays: int = 0
    by_turns: bool = False


def preferred_feeders(islands: int, home: int, wave: int, shape: str) -> NDArray[np.int64]:
    """Return the island that should feed each island, positions counted from the root's island."""
    preferred = np.full(islands, home, dtype=np.int64)
    order = [home] + [i for i in (np.arange(islands) + home + wave % max(1, islands)) % islands if i != home]
    for position in range(1, islands):
        before = {"binomial": position & (position - 1), "chain": position - 1, "star": 0}[shape]
        preferred[order[position]] = order[before]
    return preferred


def star_parents(entry: int, members: tuple[int, ...], wave: int, relays: int) -> dict[int, int]:
    """Return child -> parent of an island that ``entry`` serves, directly or over relays that turn with the wave."""
    mates = [v for v in members if v != entry]
    if not relays or relays >= len(mates):
        return dict.fromkeys(mates, entry)
    turn = (wave + entry) % len(mates)
    mates = mates[turn:] + mates[:turn]
    return {mate: entry if i < relays else mates[i % relays] for i, mate in enumerate(mates)}
