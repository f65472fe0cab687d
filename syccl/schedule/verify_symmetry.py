"""Checks the symmetry that a compressed schedule claims, and lists the transfers of the chunks that stand for all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from syccl.collective import ALL, Demand
from syccl.findings import Finding
from syccl.schedule.ir import Schedule, Symmetry, Transfers
from syccl.schedule.verify_data import Cells
from syccl.symmetry.group import Group, link_permutation


def symmetry_findings(schedule: Schedule) -> Iterator[Finding]:
    """Yield why the group of a compressed schedule is no symmetry of its topology and demand.

    Generators must be automorphisms of nodes, links and demand; elements must be exactly what they generate, each
    with the chunk permutation that follows from those of the generators. All other elements then are automorphisms.
    """
    symmetry = schedule.symmetry
    if symmetry is None:
        return
    troubles = list(_shape_troubles(schedule, symmetry))
    if not troubles:
        index = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(symmetry.group.elements))}
        troubles = list(_element_troubles(symmetry, index)) or list(_generator_troubles(schedule, symmetry, index))
    if not troubles:
        troubles = list(_composition_troubles(symmetry, index))
    for where, message in troubles:
        yield Finding("error", "symmetry", where, message)


def representative_cells(transfers: Transfers, symmetry: Symmetry) -> tuple[Cells, NDArray[np.integer]]:
    """Return all transfers of the least chunk of every orbit, and these chunks.

    Every row is moved by all elements that carry its chunk to the least of its orbit.
    """
    ranks, least = symmetry.group.ranks, symmetry.chunks.min(axis=0)
    rows, elements = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for chunk in np.unique(transfers.chunk).tolist():
        here = np.flatnonzero(transfers.chunk == chunk)
        movers = np.flatnonzero(symmetry.chunks[:, chunk] == least[chunk])
        rows.append(np.tile(here, len(movers)))
        elements.append(np.repeat(movers, len(here)))
    row, element = np.concatenate(rows), np.concatenate(elements)
    src, dst = (ranks[element, column[row]] for column in (transfers.src, transfers.dst))
    return Cells(transfers, row, least[transfers.chunk[row]], src, dst), np.unique(least)


Trouble = tuple[str, str]
"""Where, and what is wrong."""


def _shape_troubles(schedule: Schedule, symmetry: Symmetry) -> Iterator[Trouble]:
    topology, group, chunk_ids = schedule.topology, symmetry.group, schedule.demand.chunk_ids
    same = group.topology.nodes == topology.nodes and group.topology.links == topology.links
    if group.topology is not topology and not same:
        yield "group", "acts on another topology"
    nodes = len(topology.nodes)
    if group.elements.ndim != 2 or group.elements.shape[1] != nodes or not len(group.elements):
        yield "group", f"elements have shape {group.elements.shape}; expected (order, {nodes})"
    elif symmetry.chunks.shape != (group.order, chunk_ids):
        yield "group", f"chunk actions have shape {symmetry.chunks.shape}; expected ({group.order}, {chunk_ids})"
    else:
        for what, table, limit in (("nodes", group.elements, nodes), ("chunks", symmetry.chunks, chunk_ids)):
            if not ((table >= 0) & (table < limit)).all():
                yield "group", f"an element sends {what} out of 0..{limit - 1}"
    for i, generator in enumerate(group.generators):
        if not _is_permutation(generator, nodes):
            yield f"generator {i}", f"is no permutation of {nodes} nodes"


def _is_permutation(values: NDArray[np.int32], size: int) -> bool:
    return values.shape == (size,) and bool(np.array_equal(np.sort(values), np.arange(size)))


def _element_troubles(symmetry: Symmetry, index: dict[bytes, int]) -> Iterator[Trouble]:
    group = symmetry.group
    if len(index) < group.order:
        yield "group", f"has {group.order} elements, of which only {len(index)} differ"
    for what, first in (("nodes", group.elements[0]), ("chunks", symmetry.chunks[0])):
        if not np.array_equal(first, np.arange(len(first))):
            yield "element 0", f"moves {what}; it must be the identity"


def _position(group: Group, permutation: NDArray[np.int32], index: dict[bytes, int]) -> int | None:
    return index.get(permutation.astype(group.elements.dtype).tobytes())


def _generator_troubles(schedule: Schedule, symmetry: Symmetry, index: dict[bytes, int]) -> Iterator[Trouble]:
    topology, group = schedule.topology, symmetry.group
    for i, generator in enumerate(group.generators):
        where = f"generator {i}"
        position = _position(group, generator, index)
        if position is None:
            yield where, "is not among the elements"
        elif link_permutation(topology, generator) is None:
            yield where, "does not keep the kinds of nodes or the ends, bandwidths and latencies of links"
        elif not _is_permutation(symmetry.chunks[position], schedule.demand.chunk_ids):
            yield where, f"has no permutation of the {schedule.demand.chunk_ids} chunks"
        else:
            yield from _demand_troubles(where, schedule.demand, group.ranks[position], symmetry.chunks[position])


def _demand_troubles(
    where: str, demand: Demand, ranks: NDArray[np.int32], chunks: NDArray[np.int32]
) -> Iterator[Trouble]:
    for what, ends in (("starts", demand.sources), ("is wanted", demand.targets)):
        moved = np.where(ends == ALL, ALL, ranks[ends])
        wrong = np.flatnonzero(ends[chunks] != moved)
        if len(wrong):
            c = int(wrong[0])
            yield where, f"moves chunk {c} to {chunks[c]}, which {what} at rank {ends[chunks[c]]}, not {moved[c]}"


def _composition_troubles(symmetry: Symmetry, index: dict[bytes, int]) -> Iterator[Trouble]:
    """Multiply every element by every generator: the product is an element, and chunks move as they must."""
    group, chunks = symmetry.group, symmetry.chunks
    products = []
    for i, generator in enumerate(group.generators):
        action = chunks[index[generator.astype(group.elements.dtype).tobytes()]]
        found = [_position(group, generator[element], index) for element in group.elements]
        product = [position for position in found if position is not None]
        if len(product) < len(found):
            yield f"generator {i}", f"times element {found.index(None)} is not among the elements"
            return
        products.append(product)
        # One element at a time: the whole table of chunk actions can be hundreds of megabytes.
        wrong = [e for e, image in enumerate(product) if not np.array_equal(chunks[image], action[chunks[e]])]
        if wrong:
            yield f"generator {i}", f"times element {wrong[0]} moves chunks otherwise than the two one after the other"
    reached = _reached(products)
    if reached < group.order:
        yield "group", f"has {group.order} elements, but its generators make only {reached}"


def _reached(products: list[list[int]]) -> int:
    """Return how many elements follow from the identity; ``products[g][e]`` is generator g times element e."""
    seen, todo = {0}, [0]
    while todo:
        element = todo.pop()
        for product in products:
            if product[element] not in seen:
                seen.add(product[element])
                todo.append(product[element])
    return len(seen)
