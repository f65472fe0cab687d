"""What a synthesis needs to know about a cluster and a collective whatever the size: found once, used at every size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from syccl.clock import Clock
from syccl.collective import Op, require_equal
from syccl.sketch.price import Pricing, price
from syccl.sketch.quotient import Quotient
from syccl.symmetry import Group, trivial_group
from syccl.symmetry.automorphisms import find_group
from syccl.symmetry.dimensions import islands
from syccl.topology import Topology, merged
from syccl.topology.check import require_connected

PRICED_OPS = ("allgather", "reducescatter", "allreduce")
"""Collectives of which every rank has a share of trees; these are priced by column generation."""

_CHUNKS_WANTED = 64


@dataclass(frozen=True, eq=False)
class Prepared:
    """A cluster with its symmetry and islands, and the collective that is asked for.

    Parameters
    ----------
    symmetry
        The largest group found; what is used at a size may be a part of it.
    root
        Root of rooted ops.
    """

    topology: Topology
    op: Op
    symmetry: Group
    islands: tuple[tuple[int, ...], ...]
    root: int = 0

    def bounding_group(self, elements: int, *, exact: bool = False) -> Group:
        """Return the symmetry that bounds may use for a total buffer of ``elements``; see ``Problem.exact``."""
        if (self.op.source, self.op.target) != ("all", "all"):
            return self.symmetry
        # Chunks come in multiples of the order, so it is a power of two, one that cuts the elements evenly where they
        # can be cut often enough.
        even = elements & -elements
        most = elements if not exact and even < _CHUNKS_WANTED <= elements // _CHUNKS_WANTED else even
        return _power_of_two_part(self.symmetry, 1 << (min(most, self.symmetry.order).bit_length() - 1))

    @cached_property
    def root_group(self) -> Group:
        """Symmetry that leaves the root in place, for trees and paths of rooted ops."""
        return find_group(self.topology, fixed_rank=self.root) if self.op.rooted else trivial_group(self.topology)

    def planning_group(self, elements: int, *, exact: bool = False) -> Group:
        """Return the symmetry that plans for a total buffer of ``elements`` have; see ``Problem.exact``."""
        return trivial_group(self.topology) if self.op.rooted else self.bounding_group(elements, exact=exact)

    def priced(self, group: Group, clock: Clock) -> tuple[Quotient, Pricing | None]:
        """Return the topology seen through a group, and its prices where the collective is priced."""
        return _priced(self.op, group, None if clock.limit_s is None else clock)


def prepare(topology: Topology, op: Op, *, root: int = 0, progress: Callable[[str], None] = lambda _: None) -> Prepared:
    """Return a topology prepared for the synthesis of a collective.

    Raises
    ------
    InputError
        When the topology is not connected, or the collective is alltoallv, which has no sizes but a matrix.
    """
    require_equal(op)
    require_connected(topology)
    topology = merged(topology)
    progress("finding symmetry")
    return Prepared(topology, op, find_group(topology), islands(topology), root)


@lru_cache(maxsize=16)
def _power_of_two_part(group: Group, most: int) -> Group:
    return group.largest_part(lambda order: order & (order - 1) == 0 and order <= most)


@lru_cache(maxsize=16)
def _priced(op: Op, group: Group, clock: Clock | None) -> tuple[Quotient, Pricing | None]:
    quotient = Quotient.of(group.topology, group)
    return quotient, price(op, quotient, clock=clock) if op.name in PRICED_OPS else None
