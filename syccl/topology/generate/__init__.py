"""Generators of well-known clusters, as topology files whose numbers say where they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from syccl.errors import InputError
from syccl.topology.generate.clusters import bigraph, clos, hpn, nvl72, pcie, superpod
from syccl.topology.generate.graphs import dragonfly, grid, hypercube
from syccl.topology.generate.machines import A100, B200, H100, MI300X, P4D, P5, RAIL_200
from syccl.topology.generate.recipe import Recipe as Recipe
from syccl.topology.generate.recipe import Wanted as Wanted
from syccl.topology.naming import did_you_mean


@dataclass(frozen=True)
class Generator:
    """A sort of cluster: what it is, which of ``Wanted`` it takes, how it is made."""

    summary: str
    takes: tuple[str, ...]
    make: Callable[[str, Wanted], Recipe]


_FABRIC = ("servers", "block", "oversubscription")

GENERATORS: dict[str, Generator] = {
    "a100-superpod": Generator("DGX A100 SuperPOD, units of 20", _FABRIC, lambda n, w: superpod(n, A100, w, unit=20)),
    "h100-superpod": Generator("DGX H100 SuperPOD, units of 32", _FABRIC, lambda n, w: superpod(n, H100, w, unit=32)),
    "b200-superpod": Generator("DGX B200 SuperPOD, units of 32", _FABRIC, lambda n, w: superpod(n, B200, w, unit=32)),
    "gb200-nvl72": Generator("GB200 NVL72 racks", ("servers",), nvl72),
    "hpn": Generator("Alibaba HPN 7, dual plane", ("servers", "block"), lambda n, w: hpn(n, RAIL_200, w)),
    "bigraph": Generator("EFLOPS BiGraph; dims: switches x servers", ("dims",), lambda n, w: bigraph(n, A100, w)),
    "clos": Generator("Clos of DGX A100, all ports on a leaf", _FABRIC, lambda n, w: clos(n, A100, w, unit=4)),
    "aws-p4d": Generator("AWS p4d.24xlarge", _FABRIC, lambda n, w: clos(n, P4D, w, unit=16)),
    "aws-p5": Generator("AWS p5.48xlarge", _FABRIC, lambda n, w: clos(n, P5, w, unit=16)),
    "azure-ndv4": Generator("Azure ND A100 v4, rails", _FABRIC, lambda n, w: superpod(n, A100, w, unit=20)),
    "azure-ndv5": Generator("Azure ND H100 v5, rails", _FABRIC, lambda n, w: superpod(n, H100, w, unit=32)),
    "mi300x": Generator("AMD MI300X platforms, rails", _FABRIC, lambda n, w: superpod(n, MI300X, w, unit=32)),
    "pcie": Generator("eight GPUs on PCIe", ("servers",), pcie),
    "ring": Generator("ring; dims: GPUs", ("dims",), lambda n, w: grid(n, w, wrap=True, default=(8,))),
    "mesh": Generator("mesh; dims: AxB...", ("dims",), lambda n, w: grid(n, w, wrap=False, default=(4, 4))),
    "torus": Generator("torus; dims: AxB...", ("dims",), lambda n, w: grid(n, w, wrap=True, default=(4, 4, 4))),
    "hypercube": Generator("hypercube; dims: dimension", ("dims",), hypercube),
    "dragonfly": Generator("dragonfly; dims: routers x GPUs x links", ("dims",), dragonfly),
}
"""All generators by name."""


def generate(name: str, wanted: Wanted) -> Recipe:
    """Return the topology file of a well-known cluster.

    Raises
    ------
    InputError
        When the name is unknown, or something is asked for that this cluster does not have or is out of range.
    """
    generator = GENERATORS.get(name)
    if generator is None:
        near = did_you_mean(name, GENERATORS)
        msg = f"unknown cluster {name!r}{near or ';'} choose one of {', '.join(GENERATORS)}"
        raise InputError(msg)
    default = Wanted()
    for field in vars(default):
        if getattr(wanted, field) != getattr(default, field) and field not in generator.takes:
            msg = f"{name} has no {field}; it takes {', '.join(generator.takes)}"
            raise InputError(msg)
    if not 1 <= wanted.oversubscription <= 1000:
        msg = f"oversubscription {wanted.oversubscription:g} is out of range; choose 1..1000"
        raise InputError(msg)
    sizes = "x".join(map(str, wanted.dims)) if wanted.dims else str(wanted.servers or "")
    return generator.make(f"{name}-{sizes}" if sizes else name, wanted)
