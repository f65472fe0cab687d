"""The thread blocks of a program and their orbits under a symmetry group, checked step by step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syccl.errors import InputError
from syccl.program import Program, StepType, ThreadBlock
from syccl.symmetry import Group, link_permutation
from syccl.topology import Topology

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Blocks:
    """All thread blocks of a program in one row, rank by rank."""

    blocks: tuple[ThreadBlock, ...]
    rank: tuple[int, ...]
    index: dict[tuple[int, int], int]
    """Of (rank, thread block id)."""
    sender: dict[tuple[int, int, int], int]
    """Block that sends on the connection (source rank, destination rank, channel)."""


def blocks_of(program: Program) -> Blocks:
    """Return the thread blocks of a program.

    Raises
    ------
    InputError
        When two blocks of a rank send to, or receive from, the same rank on the same channel.
    """
    blocks = tuple(block for rank in program.ranks for block in rank.blocks)
    ranks = tuple(rank.rank for rank in program.ranks for _ in rank.blocks)
    sender: dict[tuple[int, int, int], int] = {}
    receiver: dict[tuple[int, int, int], int] = {}
    for i, (rank, block) in enumerate(zip(ranks, blocks, strict=True)):
        ends = ((sender, block.send, (rank, block.send)), (receiver, block.recv, (block.recv, rank)))
        for owner, peer, pair in ends:
            if peer >= 0 and owner.setdefault((*pair, block.channel), i) != i:
                msg = (
                    f"rank {rank}: thread blocks {blocks[owner[*pair, block.channel]].id} and {block.id} both own the "
                    f"connection {pair[0]}->{pair[1]} on channel {block.channel}; give it to one of them"
                )
                raise InputError(msg)
    index = {(rank, block.id): i for i, (rank, block) in enumerate(zip(ranks, blocks, strict=True))}
    return Blocks(blocks, ranks, index, sender)


@dataclass(frozen=True, eq=False)
class Quotient:
    """Orbits of blocks and links: the least member of each point's orbit, and the size of that orbit."""

    block_orbit: Indices
    link_orbit: Indices
    block_orbit_size: Indices
    link_orbit_size: Indices

    @property
    def representatives(self) -> list[int]:
        """Least block of every orbit, ascending."""
        return np.flatnonzero(self.block_orbit == np.arange(len(self.block_orbit))).tolist()


def trivial_quotient(table: Blocks, topology: Topology) -> Quotient:
    """Return the quotient in which everything stands for itself."""
    return _quotient([], [], len(table.blocks), len(topology.links))


def program_quotient(table: Blocks, group: Group) -> Quotient | None:
    """Return orbits of blocks and links under ``group``, or None when it does not keep the program.

    It does when each generator carries every block onto one with the images of its peers, the same channel, and the
    same step types, counts and dependencies.
    """
    topology = group.topology
    images = _block_images(table, group)
    if images is None:
        return None
    steps = _step_columns(table)
    if not all(_keeps_steps(steps, image) for image in images):
        return None
    links = [link_permutation(topology, generator) for generator in group.generators]
    if any(image is None for image in links):
        return None
    link_images = [np.asarray(image, dtype=np.intp) for image in links]
    return _quotient(images, link_images, len(table.blocks), len(topology.links))


def _quotient(block_images: list[Indices], link_images: list[Indices], blocks: int, links: int) -> Quotient:
    block_orbit, link_orbit = _orbit_labels(block_images, blocks), _orbit_labels(link_images, links)
    block_sizes = np.bincount(block_orbit, minlength=blocks)[block_orbit]
    return Quotient(block_orbit, link_orbit, block_sizes, np.bincount(link_orbit, minlength=links)[link_orbit])


def _orbit_labels(images: list[Indices], points: int) -> Indices:
    """Return the least point of each point's orbit."""
    labels = np.arange(points)
    both_ways = images + [np.argsort(image) for image in images]
    while True:
        before = labels
        for image in both_ways:
            labels = np.minimum(labels, labels[image])
        labels = labels[labels]
        if np.array_equal(labels, before):
            return labels


def _block_images(table: Blocks, group: Group) -> list[Indices] | None:
    """Return where each generator sends each block, by rank, peers and channel."""
    seen: Counter[tuple[int, int, int, int]] = Counter()
    keys: dict[tuple[int, ...], int] = {}
    for i, (rank, block) in enumerate(zip(table.rank, table.blocks, strict=True)):
        key = (rank, block.send, block.recv, block.channel)
        keys[*key, seen[key]] = i
        seen[key] += 1
    images = []
    for generator in group.generators:
        moved = [group.topology.rank_of[int(generator[gpu])] for gpu in group.topology.gpus]
        moved.append(-1)
        image = [keys.get((moved[rank], moved[to], moved[by], *rest), -1) for rank, to, by, *rest in keys]
        if -1 in image:
            return None
        images.append(np.array(image, dtype=np.intp))
    return images


@dataclass(frozen=True, eq=False)
class _StepColumns:
    """What matters of all steps of all blocks, in one row: ``fixed`` must be kept, ``waits_for`` moves with blocks."""

    first: Indices
    count: Indices
    fixed: Indices
    waits_for: Indices


def _step_columns(table: Blocks) -> _StepColumns:
    kinds: list[StepType] = []
    counts: list[int] = []
    publishes: list[bool] = []
    waits_for: list[int] = []
    waits_at: list[int] = []
    by_rank: dict[int, dict[int, int]] = {}
    for (rank, number), i in table.index.items():
        by_rank.setdefault(rank, {})[number] = i
    for rank, block in zip(table.rank, table.blocks, strict=True):
        if block.steps:
            kind, _, _, cnt, depends, published, _ = zip(*block.steps, strict=True)
            kinds += kind
            counts += cnt
            publishes += published
            here = by_rank[rank]
            waits_for += [here.get(flag[0], -1) if flag else -1 for flag in depends]
            waits_at += [flag[1] if flag else -1 for flag in depends]
    # Members of an enumeration are single objects, so their ids tell them apart, at a fraction of the price of a hash.
    fixed = np.array([list(map(id, kinds)), counts, publishes, waits_at], dtype=np.intp)
    count = np.array([len(block.steps) for block in table.blocks], dtype=np.intp)
    return _StepColumns(np.cumsum(count) - count, count, fixed, np.array(waits_for, dtype=np.intp))


def _keeps_steps(steps: _StepColumns, image: Indices) -> bool:
    """Return whether every block has the steps of its image, dependencies carried along."""
    if not np.array_equal(steps.count, steps.count[image]):
        return False
    within = np.arange(len(steps.waits_for)) - np.repeat(steps.first, steps.count)
    step_image = np.repeat(steps.first[image], steps.count) + within
    moved = np.append(image, -1)[steps.waits_for]
    return bool(
        np.array_equal(steps.fixed, steps.fixed[:, step_image]) and np.array_equal(moved, steps.waits_for[step_image])
    )
