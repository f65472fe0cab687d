"""Plans of staged sketches, alone and mixed, for sizes at which latency counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from syccl.planning.mixes import Mix, dealt, search_mixes
from syccl.planning.problem import MAX_CHUNKS, Plan, Problem, make_plan
from syccl.sketch.families import Family, spreading_family, summing_family
from syccl.sketch.grid import grids
from syccl.sketch.model import Hop
from syccl.sketch.search import Sketch, spreading_sketches, summing_sketches, word_sketches
from syccl.solve.polish import polished

_LARGEST_SKETCH = 5_000_000
"""Images of all hops of a sketch above which it is left out."""
_ROWS_OF_MIX, _ROWS_OF_PLANS = 4_000, 12_000
_CHUNKS_WANTED = 64
"""Where elements cannot be cut evenly in so many chunks, they are not."""
_POLISHED, _TRIES = 2, 8
_GOOD_ENOUGH = 1.01
"""Plans that are timed under better priorities, how many are tried, and how near the bound none is looked for."""
_MIXES_TIMED = 6
_FEW_PARTS = (1, 2, 4, 8)
_MIXES_OF_FEW_PARTS = 3
_ALONE = 2
_PARTS_ALONE = (2, 4, 8)


def staged_plans(problem: Problem) -> list[Plan]:
    """Return plans of the best mixes of staged sketches."""
    families = _families(problem)
    if not families:
        return []
    made: list[Plan] = []
    rows_left = _ROWS_OF_PLANS
    mixes = search_mixes(problem, families)
    picked = _picked(mixes) + (_pure(mixes) if problem.most_hops is not None else [])
    if not problem.op.reduces:
        picked = _picked(search_mixes(problem, families, backwards=True)) + picked
    for mix in {mix.shares: mix for mix in picked}.values():
        rows = _rows(families, mix)
        if rows <= min(rows_left, _ROWS_OF_MIX) and _cuts(problem, families, mix):
            rows_left -= rows
            made.append(_plan(problem, families, mix))
    return _with_polish(problem, made)


def _with_polish(problem: Problem, made: Sequence[Plan]) -> list[Plan]:
    """Return plans, the fastest ones under better priorities."""
    plans, good = list(made), _GOOD_ENOUGH * problem.bound_s
    for tries, count in ((1, 0 if problem.sums_everywhere else len(made)), (_TRIES, _POLISHED)):
        for i in sorted(range(len(plans)), key=lambda i: (plans[i].seconds, i))[:count]:
            timed = polished(plans[i].timed, plans[i].pieces, tries=tries, good_enough_s=good)
            plans[i] = replace(plans[i], timed=timed)
    return plans


def _picked(mixes: Sequence[Mix]) -> list[Mix]:
    """Return the mixes to be timed hop by hop: the fastest, and of few parts too, which programs prefer."""
    few = [mix for parts in _FEW_PARTS for mix in [m for m in mixes if m.parts == parts][:_MIXES_OF_FEW_PARTS]]
    return list(dict.fromkeys([*few, *mixes[:_MIXES_TIMED]]))


def _pure(mixes: Sequence[Mix]) -> list[Mix]:
    """Return the fastest sketches alone in several parts, as thread blocks like even work."""
    alone = [mix for mix in mixes if mix.parts == 1][:_ALONE]
    return [Mix(((mix.shares[0][0], parts),), mix.seconds) for mix in alone for parts in _PARTS_ALONE]


def _families(problem: Problem) -> list[Family]:
    """Return the families of all sketches that serve every rank, each set of hops once."""
    q = problem.quotient
    found: dict[tuple[tuple[Hop, ...], ...], Family] = {}
    for sketch in _sketches(problem):
        own = [sketch.hops(root) for root in problem.root_ranks]
        if max(map(len, own)) * problem.group.order > _LARGEST_SKETCH or not all(_serves(problem, h) for h in own):
            continue
        key = tuple(tuple(sorted(hops)) for hops in own)
        if key not in found:
            hops_at = dict(zip(problem.root_ranks, own, strict=True)).__getitem__
            if problem.sums_everywhere:
                found[key] = summing_family(q, sketch.name, hops_at, even=problem.most_hops is not None)
            else:
                found[key] = spreading_family(q, sketch.name, hops_at)
    return list(found.values())


def _sketches(problem: Problem) -> list[Sketch]:
    levels = problem.levels
    words: list[Sketch] = []
    for grid in grids(problem.quotient, problem.islands, levels.routed):
        words += word_sketches(grid, sums=problem.sums_everywhere, inward=problem.op.reduces)
    if problem.sums_everywhere:
        return summing_sketches(levels) + words
    return spreading_sketches(levels, inward=problem.op.reduces) + words


def _chunks(problem: Problem, families: Sequence[Family], mix: Mix) -> int:
    if problem.sums_everywhere:
        return mix.parts * math.lcm(*(families[family].chunks for family, _ in mix.shares))
    return mix.parts * problem.quotient.ranks


def _copies(families: Sequence[Family], mix: Mix) -> list[int]:
    """Return the family of every unit of a mix, units of all families having equal chunks."""
    most = math.lcm(*(families[family].chunks for family, _ in mix.shares))
    return dealt([(family, parts * most // families[family].chunks) for family, parts in mix.shares])


def _rows(families: Sequence[Family], mix: Mix) -> int:
    return sum(families[family].rows for family in _copies(families, mix))


def _plan(problem: Problem, families: Sequence[Family], mix: Mix) -> Plan:
    name = " + ".join(f"{k} x {families[f].name}" if mix.parts > 1 else families[f].name for f, k in mix.shares)
    pieces = tuple(piece for family in _copies(families, mix) for piece in families[family].pieces)
    return make_plan(problem, name, pieces, mix.parts)


def _cuts(problem: Problem, families: Sequence[Family], mix: Mix) -> bool:
    """Return whether the data can be cut in the chunks of a mix, evenly where a runtime must select the file."""
    chunks = _chunks(problem, families, mix)
    if problem.most_hops is None or chunks > MAX_CHUNKS:
        return chunks <= min(MAX_CHUNKS, problem.elements)
    if not problem.sums_everywhere:
        return problem.cuts_evenly(mix.parts)
    even = problem.elements & -problem.elements
    is_even = problem.elements % chunks == 0 or (even < _CHUNKS_WANTED and chunks * _CHUNKS_WANTED <= problem.elements)
    return is_even and chunks & (chunks - 1) == 0


def _serves(problem: Problem, hops: Sequence[Hop]) -> bool:
    """Return whether hops have routes and leave every rank that needs the chunk with all of it."""
    routed, n = problem.levels.routed, problem.quotient.ranks
    if not hops or any(not routed[hop.src, hop.dst] for hop in hops):
        return False
    if not problem.op.reduces:
        return {hop.dst for hop in hops} | {hops[0].src} == set(range(n))
    holds = [1 << rank for rank in range(n)]
    for _, stage in itertools.groupby(sorted(hops, key=lambda hop: hop.stage), key=lambda hop: hop.stage):
        sent = [(hop, holds[hop.src]) for hop in stage]
        for hop, content in sent:
            if hop.reduce and holds[hop.dst] & content:
                return False
            holds[hop.dst] = holds[hop.dst] | content if hop.reduce else content
    whole = (1 << n) - 1
    return all(content == whole for content in holds) if problem.sums_everywhere else whole in holds
