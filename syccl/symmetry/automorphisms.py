"""The largest group of automorphisms found in which only the identity fixes a GPU.

The graph alone decides: names, server labels and the order of nodes and links have no say, except that a natural order
of the GPUs makes the search quick. Every generator is checked link by link before it is returned.
"""

from __future__ import annotations

from collections.abc import Sequence

from syccl.errors import InputError
from syccl.symmetry.action import Displacements, FreeAction
from syccl.symmetry.collapse import Graph, collapse
from syccl.symmetry.digits import natural_generators
from syccl.symmetry.group import Group, link_permutation, trivial_group
from syccl.symmetry.refine import Partition, common_divisor, refine, sharpened
from syccl.symmetry.search import Budget
from syccl.symmetry.stabiliser import stabiliser
from syccl.symmetry.tower import Frame, Manner, climb
from syccl.topology import Topology

_PASSES = 20
_FIRST_ROUNDS = (8,)
_WORK = 100_000
_WORK_PER_ARC = 600
_EARLY_SHARPEN_WORK = 100_000
_SHARPEN_WORK = 400_000


def find_group(topology: Topology, *, fixed_rank: int | None = None) -> Group:
    """Return a group of automorphisms in which only the identity fixes a GPU, as large as the search finds.

    Parameters
    ----------
    fixed_rank
        A rank that the whole group must leave in place, for rooted collectives. Some more ranks may then stay in place
        under all elements; each of the others is moved by all but the identity. The group with the fewest orbits wins.

    Returns
    -------
    Group
        The identity alone where nothing better is found.

    Raises
    ------
    InputError
        When there is no such rank.

    Notes
    -----
    All elements are kept, so memory grows with the order times the nodes: 1 GB at 4,096 symmetric GPUs.
    """
    if fixed_rank is not None and not 0 <= fixed_rank < topology.ranks:
        msg = f"rank {fixed_rank} of {topology.name!r} does not exist; ranks are 0..{topology.ranks - 1}"
        raise InputError(msg)
    graph = collapse(topology)
    budget = Budget(_WORK + _WORK_PER_ARC * len(graph.table))
    if fixed_rank is None:
        action = _largest(graph, graph.gpus, graph.colours, budget)
    else:
        action = stabiliser(graph, graph.gpus[fixed_rank], budget, _largest)
    return _checked(topology, graph, action)


def _checked(topology: Topology, graph: Graph, action: FreeAction) -> Group:
    """Return the group on the topology after checking every link and that only the identity fixes a moved GPU."""
    generators = tuple(graph.lift(generator) for generator in action.generators)
    if any(link_permutation(topology, generator) is None for generator in generators):
        return trivial_group(topology)
    group = Group.generated(topology, generators)
    sizes = {len(orbit) for orbit in group.rank_orbits}
    return group if group.order == action.order and sizes <= {1, group.order} else trivial_group(topology)


def _largest(graph: Graph, gpus: Sequence[int], colours: Sequence[int], budget: Budget) -> FreeAction:
    """Return a large group that keeps colours and in which only the identity fixes one of the given GPUs."""
    stable = Partition(colours)
    refine(graph.arcs, stable)
    bound = common_divisor(stable, gpus)
    best = FreeAction.trivial(_root_first(stable, gpus), len(graph.arcs))
    for move, order in natural_generators(graph, stable, gpus, bound) if bound > 1 else ():
        best = best.extended(move, order) or best
    if best.order >= bound:
        return best
    frame = _sharper(Frame(graph, stable, best.free, bound, Displacements(graph, stable)), best, _EARLY_SHARPEN_WORK)
    best = climb(frame, _rebased(best, frame), budget, Manner(rounds=_FIRST_ROUNDS))
    if best.order < frame.bound and frame.stable is stable:
        frame = _sharper(frame, best, _SHARPEN_WORK)
    return _climb_often(frame, _rebased(best, frame), budget)


def _rebased(action: FreeAction, frame: Frame) -> FreeAction:
    return FreeAction(frame.free, action.generators, action.elements)


def _root_first(stable: Partition, gpus: Sequence[int]) -> tuple[int, ...]:
    root = min(gpus, key=lambda v: stable.size[stable.cell[v]])
    return (root, *(v for v in gpus if v != root))


def _sharper(frame: Frame, best: FreeAction, work: int) -> Frame:
    """Return the frame with cells, and so the bound, made finer by setting one GPU of every orbit apart.

    The frame stays as it is when more arcs than ``work`` would have to be looked at.
    """
    if len(best.representatives) * len(frame.graph.table) > work:
        return frame
    stand_in = {v: best.representatives[best.orbit[v]] for v in best.free}
    stable = sharpened(frame.graph.arcs, frame.stable, stand_in)
    displacements = Displacements(frame.graph, stable)
    free = _root_first(stable, frame.free)
    return Frame(frame.graph, stable, free, common_divisor(stable, free), displacements)


def _climb_often(frame: Frame, best: FreeAction, budget: Budget) -> FreeAction:
    """Climb on from the best group, then afresh with other orders of trials, and keep the largest."""
    base = best
    for attempt in range(_PASSES):
        if best.order >= frame.bound or budget.work <= 0:
            break
        found = climb(frame, base, budget, Manner(attempt))
        best = max(best, found, key=lambda action: action.order)
        if found.order == 1 and not budget.capped:
            break
        base = FreeAction.trivial(frame.free, len(frame.graph.arcs))
    return best
