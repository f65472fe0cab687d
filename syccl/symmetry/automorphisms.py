"""The largest group of automorphisms found in which only the identity fixes a GPU."""

from __future__ import annotations

from syccl.symmetry.action import Displacements, FreeAction
from syccl.symmetry.collapse import Graph, collapse
from syccl.symmetry.digits import natural_generators
from syccl.symmetry.group import Group, link_permutation, trivial_group
from syccl.symmetry.refine import Partition, common_divisor, refine, sharpened
from syccl.symmetry.search import Budget
from syccl.symmetry.tower import Frame, climb
from syccl.topology import Topology

_PASSES = 6
_WORK_PER_ARC = 400
_SHARPEN_WORK = 400_000


def find_group(topology: Topology, *, fixed_rank: int | None = None) -> Group:
    graph = collapse(topology)
    action = _largest(graph, graph.gpus, graph.colours)
    return action
def _largest(graph, gpus, colours, natural=True):
    stable = Partition(colours)
    refine(graph.arcs, stable)
    bound = common_divisor(stable, gpus)
    best = FreeAction.trivial(_rooted(stable, gpus), len(graph.arcs))
    if bound == 1:
        return best
    if natural:
      for move, order in natural_generators(graph, stable, gpus, bound):
        larger = best.extended(move, order)
        best = best if larger is None else larger
    if best.order < bound and len(best.representatives) * len(graph.table) <= _SHARPEN_WORK:
        reps = {v: best.representatives[best.orbit[v]] for v in gpus}
        stable = sharpened(graph.arcs, stable, reps)
        bound = common_divisor(stable, gpus)
    if best.order == bound:
        return best
    free = _rooted(stable, gpus)
    frame = Frame(graph, stable, free, bound, Displacements(graph, stable))
    budget = Budget(_WORK_PER_ARC * len(graph.table))
    base = FreeAction(free, best.generators, best.elements)
    for n in range(_PASSES):
        found = climb(frame, base if n == 0 else FreeAction.trivial(free, len(graph.arcs)), budget, order_of_primes=n)
        if found.order > best.order:
            best = found
        if best.order == bound or budget.work <= 0:
            break
    import os
    if os.environ.get("DBG"): print("bound",bound,"best",best.order,"work left",budget.work,"of",_WORK_PER_ARC * len(graph.table), 'pass',n)
    return best
def _rooted(stable, gpus):
    root = min(gpus, key=lambda v: stable.size[stable.cell[v]])
    return (root, *(v for v in gpus if v != root))
