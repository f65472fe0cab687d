"""Even colouring of connections at many nodes at once.

Two colours are evened out at a time: at every node, connections of these colours are paired, at both of their ends;
along the alternating paths that this gives, colours alternate. Pairs are made within the smallest group first (a NIC),
what is left over then within the next (a leaf), and so on, so that all tiers are even at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

_MOST_SWEEPS = 32
_LESS = 1e-9

Group = tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """What a connection may choose, and the groups that are to be even in which it sends and receives.

    Groups go from the smallest to the largest; a group is known by its place in this order and its numbers.
    """

    colours: tuple[int, ...]
    sending: tuple[Group, ...]
    receiving: tuple[Group, ...]


_Items = tuple[Sequence[Choice], Sequence[float]]
"""What may be chosen, and the bytes."""


def balanced(choices: Sequence[Choice], sizes: Sequence[float]) -> list[int]:
    """Return a colour for each connection, such that in every group colours have about equally many bytes.

    Where all may have any colour and sizes are equal, the numbers of two colours differ by 1 at most in every group.
    """
    every = tuple(sorted({colour for choice in choices for colour in choice.colours}))
    by_size = sorted(range(len(choices)), key=lambda item: (-sizes[item], item))
    colours = [choice.colours[0] for choice in choices]
    _halve(by_size, every, colours, (choices, sizes))
    if any(len(choice.colours) < len(every) for choice in choices):
        _sweep(by_size, every, colours, (choices, sizes))
    return colours


def _halve(items: list[int], every: Group, colours: list[int], of: _Items) -> None:
    """Give colours: half of them to half of the connections, and so on, while their number is even."""
    choices, _ = of
    if len(every) % 2:
        turn: dict[Group, int] = {}
        for item in items:
            allowed = [colour for colour in every if colour in choices[item].colours]
            node = choices[item].sending[-2]
            colours[item] = allowed[turn.get(node, 0) % len(allowed)]
            turn[node] = turn.get(node, 0) + 1
        if len(every) > 1:
            _sweep(items, every, colours, of)
        return
    low, high = every[: len(every) // 2], every[len(every) // 2 :]
    free = [item for item in items if set(low) & set(choices[item].colours) and set(high) & set(choices[item].colours)]
    signs = dict.fromkeys(items, 0.0) | _alternating_of(free, choices)
    mine = [item for item in items if signs[item] > 0 or (signs[item] == 0 and set(low) & set(choices[item].colours))]
    _halve(mine, low, colours, of)
    taken = set(mine)
    _halve([item for item in items if item not in taken], high, colours, of)


def _sweep(items: list[int], every: Group, colours: list[int], of: _Items) -> None:
    """Even out all pairs of colours, again and again, until nothing gets better."""
    _, sizes = of
    for _ in range(_MOST_SWEEPS):
        better = False
        members: dict[int, list[int]] = {colour: [] for colour in every}
        for item in items:
            members[colours[item]].append(item)
        for one, other in combinations(every, 2):
            both = sorted(members[one] + members[other], key=lambda item: (-sizes[item], item))
            if _evened(both, (one, other), colours, of):
                better = True
                members[one] = [item for item in both if colours[item] == one]
                members[other] = [item for item in both if colours[item] == other]
        if not better:
            return


def _evened(both: list[int], pair: tuple[int, int], colours: list[int], of: _Items) -> bool:
    """Give two colours anew to the connections that have them, where that is more even; return whether it was."""
    choices, sizes = of
    free = [item for item in both if pair[0] in choices[item].colours and pair[1] in choices[item].colours]
    signs = {item: 1.0 if colours[item] == pair[0] else -1.0 for item in both}
    before = _unevenness(both, signs, choices, sizes)
    if before == 0.0 or not free:
        return False
    signs |= _alternating_of(free, choices)
    if _unevenness(both, signs, choices, sizes) >= before * (1 - _LESS):
        return False
    for item in free:
        colours[item] = pair[0] if signs[item] > 0 else pair[1]
    return True


def _unevenness(
    both: Sequence[int], signs: dict[int, float], choices: Sequence[Choice], sizes: Sequence[float]
) -> float:
    """Return the sum over groups of the square of the difference in bytes."""
    more: dict[tuple[bool, int, Group], float] = {}
    for item in both:
        each = signs[item] * sizes[item]
        for receives, groups in enumerate((choices[item].sending, choices[item].receiving)):
            for at, group in enumerate(groups):
                key = bool(receives), len(groups) - at, group
                more[key] = more.get(key, 0.0) + each
    return sum(each * each for each in more.values())


def _partners(items: Sequence[int], groups: Sequence[tuple[Group, ...]]) -> dict[int, int]:
    """Return pairs of connections, both ways: within the smallest groups first, then of those left over."""
    partner: dict[int, int] = {}
    alone = list(zip(items, groups, strict=True))
    for up_to in range(max(map(len, groups)), 0, -1):
        waiting: dict[Group, int] = {}
        for item, of in alone:
            if len(of) < up_to:
                continue
            other = waiting.pop(of[-up_to], None)
            if other is None:
                waiting[of[-up_to]] = item
            else:
                partner[item], partner[other] = other, item
        alone = [(item, of) for item, of in alone if item not in partner]
    return partner


def _alternating_of(free: Sequence[int], choices: Sequence[Choice]) -> dict[int, float]:
    if not free:
        return {}
    sending = _partners(free, [choices[item].sending for item in free])
    return _alternating(free, sending, _partners(free, [choices[item].receiving for item in free]))


def _alternating(items: Sequence[int], sending: dict[int, int], receiving: dict[int, int]) -> dict[int, float]:
    """Return 1 or -1 for each connection, different for partners; paths with open ends are begun there."""
    signs: dict[int, float] = {}
    total = 0.0
    ends = [item for item in items if item not in sending or item not in receiving]
    for first in (*ends, *items):
        if first in signs:
            continue
        item: int | None = first
        sign = 1.0 if total <= 0 else -1.0
        side = receiving if first not in sending else sending
        while item is not None and item not in signs:
            signs[item] = sign
            total += sign
            item = side.get(item)
            sign = -sign
            side = receiving if side is sending else sending
    return signs
