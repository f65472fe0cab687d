"""How a new automorphism may permute the group it extends: automorphisms of that group, given on its generators."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from syccl.symmetry.action import Displacements, FreeAction
from syccl.symmetry.search import Budget

Twist = tuple[int, ...]
"""For each generator the index of the element that it turns into."""

_MAX_TWISTS = 64
_MAX_ORDER = 256


def straight(action: FreeAction) -> Twist:
    """Return the twist that changes nothing: the new automorphism commutes with the group."""
    root = action.free[0]
    return tuple(action.sender[int(generator[root])] for generator in action.generators)


def twists(action: FreeAction, target: int, displacements: Displacements, budget: Budget) -> Iterator[Twist]:
    """Yield all twists but the straight one under which the root may go to a target.

    A generator turns only into elements that displace the target as it displaces the root. Large groups are not
    twisted.
    """
    if not action.generators or action.order > _MAX_ORDER:
        return
    plain = straight(action)
    choices = [_alike(action, element, target, displacements) for element in plain]
    budget.work -= action.order
    found = 0
    for twist in itertools.product(*choices):
        if found >= _MAX_TWISTS or budget.work <= 0:
            return
        budget.work -= len(twist)
        if twist != plain and _keeps_commuting(action, plain, twist):
            budget.work -= action.order
            if _is_automorphism(action, plain, twist):
                found += 1
                yield twist


def _alike(action: FreeAction, element: int, target: int, displacements: Displacements) -> list[int]:
    root = action.free[0]
    kind = displacements.row(root)[0][action.elements[element, root]]
    types = displacements.row(target)[0][action.elements[:, target]]
    same_order = action.orders == action.orders[element]
    return [int(i) for i in np.flatnonzero((types == kind) & same_order)]


def _keeps_commuting(action: FreeAction, plain: Twist, twist: Twist) -> bool:
    product = action.products
    return all(
        (product[a, b] == product[b, a]) == (product[c, d] == product[d, c])
        for (a, c), (b, d) in itertools.combinations(zip(plain, twist, strict=True), 2)
    )


def _is_automorphism(action: FreeAction, plain: Twist, twist: Twist) -> bool:
    product = action.products
    result = np.zeros(action.order, dtype=np.int64)
    known = {0}
    frontier = [0]
    while frontier:
        element = frontier.pop()
        for generator, image in zip(plain, twist, strict=True):
            larger = int(product[generator, element])
            if larger not in known:
                known.add(larger)
                result[larger] = product[image, result[element]]
                frontier.append(larger)
    respects = all((result[product[g]] == product[h][result]).all() for g, h in zip(plain, twist, strict=True))
    return respects and len(np.unique(result)) == action.order
