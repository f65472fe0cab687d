"""Topologies by name: bundled ones and those that only benchmarks use.

==================  ==========================================================================
``a100x32``         a bundled one
``bench/T1_...``    a file of other synthesizers' benchmark, beside the repository
``published/...``   see ``tests.quality.measured.published``
``cluster/...``     see ``tests.quality.measured.clusters``
``random/7``        see ``tests.quality.measured.graphs``
``NAME~7``          the same graph with names, nodes and links shuffled by that seed
==================  ==========================================================================
"""

from __future__ import annotations

import json
from pathlib import Path

from syccl.topology import Kind, Topology
from syccl.topology.catalog import load_topology
from tests.quality.measured.clusters import CLUSTERS
from tests.quality.measured.graphs import random_graph
from tests.quality.measured.process import ROOT
from tests.quality.measured.published import PUBLISHED
from tests.strategies import scrambled

BENCH = ROOT.parent / "shared" / "data" / "topologies" / "bench"


def topology_named(name: str) -> Topology:
    """The topology of a name."""
    plain, _, seed = name.partition("~")
    if seed:
        return scrambled(topology_named(plain), int(seed))[0]
    family, _, member = plain.rpartition("/")
    if family == "cluster":
        return CLUSTERS[member]()
    if family == "published":
        return PUBLISHED[member]()
    if family == "random":
        return random_graph(int(member))
    return load_topology(str(BENCH / f"{member}.json") if family == "bench" else member)


def topology_file(name: str, folder: Path) -> str:
    """What to give to ``--topo`` for a name: a bundled name, or a file that is written into a folder."""
    if "/" not in name and "~" not in name:
        return name
    topology = topology_named(name)
    path = folder / "topology.json"
    path.write_text(_edge_list(topology), encoding="utf-8")
    return str(path)


def _edge_list(topology: Topology) -> str:
    names = [node.name for node in topology.nodes]
    gpus = [node.name for node in topology.nodes if node.kind is Kind.GPU]
    links = [[names[link.src], names[link.dst], link.rate / 1e9, link.latency_ps / 1e6] for link in topology.links]
    others = [name for name in names if name not in set(gpus)]
    return json.dumps({"name": topology.name, "gpus": gpus, "switches": others, "links": links})
