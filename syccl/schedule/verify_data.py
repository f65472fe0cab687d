"""Follows every chunk through the transfers: who holds which contributions after which stage."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.collective import ALL, Demand
from syccl.findings import Finding
from syccl.schedule.ir import Transfers

LISTED = 5
"""So many ranks are named in one message."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Transfers to follow: rows of a schedule or images of them; all arrays have the same length.

    ``row`` says which row of ``transfers`` each is, or is an image of; ``chunk``, ``src`` and ``dst`` are its own.
    """

    transfers: Transfers
    row: NDArray[np.integer]
    chunk: NDArray[np.integer]
    src: NDArray[np.integer]
    dst: NDArray[np.integer]


class _Move(NamedTuple):
    """One transfer of one chunk."""

    stage: int
    row: int
    src: int
    dst: int
    reduce: bool
    order: int


@dataclass(frozen=True)
class _Trouble:
    """A finding before it is put in words."""

    rule: str
    move: _Move
    message: str


def data_findings(cells: Cells, demand: Demand, *, chunks: NDArray[np.integer] | None = None) -> tuple[Finding, ...]:
    """Return what goes wrong with the data.

    Parameters
    ----------
    cells
        All transfers of the chunks to follow.
    chunks
        The chunks to follow; all of the demand by default.
    """
    moves = _moves_by_chunk(cells)
    ids = range(demand.chunk_ids) if chunks is None else chunks.tolist()
    return tuple(itertools.chain.from_iterable(_chunk_findings(c, moves.get(c, []), cells, demand) for c in ids))


def _moves_by_chunk(cells: Cells) -> dict[int, list[_Move]]:
    """Return the moves of each chunk by ascending stage."""
    rows, row = cells.transfers, cells.row
    by_stage = np.lexsort((rows.stage[row], cells.chunk))
    index = row[by_stage]
    columns = (
        rows.stage[index],
        index,
        cells.src[by_stage],
        cells.dst[by_stage],
        rows.reduce[index],
        rows.order[index],
    )
    moves = [_Move(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]
    chunk = cells.chunk[by_stage]
    found, first = np.unique(chunk, return_index=True)
    bounds = [*first.tolist(), len(moves)]
    return {c: moves[a:b] for c, (a, b) in zip(found.tolist(), itertools.pairwise(bounds), strict=True)}


def _chunk_findings(chunk: int, moves: list[_Move], cells: Cells, demand: Demand) -> Iterator[Finding]:
    source, target = int(demand.sources[chunk]), int(demand.targets[chunk])
    full = (1 << demand.ranks) - 1
    held = [1 << r for r in range(demand.ranks)] if source == ALL else [0] * demand.ranks
    if source != ALL:
        held[source] = full
    wanted = range(demand.ranks) if target == ALL else (target,)
    stages = [list(batch) for _, batch in itertools.groupby(moves, key=lambda move: move.stage)]
    clean = True
    for trouble in _follow(stages, held, sums=source == ALL):
        clean = False
        yield Finding("error", trouble.rule, _place(cells.transfers, trouble.move, chunk), trouble.message)
    for rank in wanted:
        if held[rank] != full:
            clean = False
            yield Finding("error", "missing", f"chunk {chunk} at rank {rank}", _what_lacks(held[rank], demand, source))
    if clean:
        for move in _unused(stages, set(wanted)):
            message = f"rank {move.dst} neither keeps what it brings nor sends it on; leave it out"
            yield Finding("error", "redundant", _place(cells.transfers, move, chunk), message)


def _place(rows: Transfers, move: _Move, chunk: int) -> str:
    own = (int(rows.chunk[move.row]), int(rows.src[move.row]), int(rows.dst[move.row]))
    image = "" if own == (chunk, move.src, move.dst) else f", its image of chunk {chunk}, {move.src}->{move.dst}"
    return f"transfer {move.row} (chunk {own[0]}, {own[1]}->{own[2]}){image}"


def _follow(stages: list[list[_Move]], held: list[int], *, sums: bool) -> Iterator[_Trouble]:
    """Carry out the moves stage by stage; change ``held``, the bit mask of contributions at each rank.

    After a trouble the receiver is given what it should have got, so that one mistake is told once.
    """
    full = (1 << len(held)) - 1
    latest: dict[int, int] = {}
    for moves in stages:
        carried = [held[move.src] for move in moves]
        for move in moves:
            if move.order <= latest.get(move.src, move.order - 1):
                message = f"has order {move.order}, but carries what a transfer of order {latest[move.src]} brings"
                yield _Trouble("order", move, message)
        for move, mask in zip(moves, carried, strict=True):
            if not move.reduce:
                yield from _copy(move, mask, held, full)
        for move, mask in zip(moves, carried, strict=True):
            if move.reduce:
                yield from _add(move, mask, held, sums=sums)
        for move in moves:
            latest[move.dst] = max(move.order, latest.get(move.dst, move.order))


def _copy(move: _Move, mask: int, held: list[int], full: int) -> Iterator[_Trouble]:
    if mask != full:
        lacks = f"; it lacks the contributions of {_names(full & ~mask)}" if mask else ""
        yield _Trouble("holds", move, f"rank {move.src} does not hold the finished chunk at stage {move.stage}{lacks}")
    if held[move.dst] == full:
        yield _Trouble("redundant", move, f"rank {move.dst} has the finished chunk")
    held[move.dst] = full


def _add(move: _Move, mask: int, held: list[int], *, sums: bool) -> Iterator[_Trouble]:
    if not sums:
        yield _Trouble("reduce", move, "adds, but this collective only copies")
        return
    if held[move.dst] & mask:
        both = _names(held[move.dst] & mask)
        yield _Trouble("twice", move, f"adds the contributions of {both} to a sum at rank {move.dst} that has them")
    held[move.dst] |= mask


def _names(mask: int) -> str:
    """Return the ranks of a bit mask for people."""
    ranks = [rank for rank in range(mask.bit_length()) if mask >> rank & 1]
    more = f" and {len(ranks) - LISTED} more" if len(ranks) > LISTED else ""
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks[:LISTED])) + more


def _what_lacks(mask: int, demand: Demand, source: int) -> str:
    if source != ALL:
        return f"wants it, but never receives it from rank {source}"
    return f"wants the sum, but lacks the contributions of {_names((1 << demand.ranks) - 1 & ~mask)}"


def _unused(stages: list[list[_Move]], used: set[int]) -> Iterable[_Move]:
    """Return the moves that bring nothing of use; ``used`` are the ranks whose content counts in the end.

    Goes back in time: what a rank holds counts when it is wanted at the end, or carried away by a move that counts
    before a copy replaces it.
    """
    unused = []
    for moves in reversed(stages):
        useful = [move for move in moves if move.dst in used]
        unused += [move for move in moves if move.dst not in used]
        used -= {move.dst for move in moves if not move.reduce}
        used |= {move.src for move in useful}
    return reversed(unused)
