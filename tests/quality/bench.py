"""AllGather on the topologies that other synthesizers were measured on, also with scrambled names and order.

``peers.csv`` holds what the others reached: ratio to the optimum (ForestColl's is that of an ideal pipeline) and CPU
seconds of one process on a machine of two cores, measured beforehand with their released code; TE-CCL with HiGHS.
"""

from __future__ import annotations

import csv
import time
from dataclasses import dataclass
from pathlib import Path

from syccl.collective import op_named
from syccl.pipeline import Options, Synthesis, synthesize
from syccl.topology import Topology
from syccl.topology.edge_list import read_edge_list
from tests.quality.case import ROOT, synth
from tests.quality.tables import Table, Target, against
from tests.strategies import scrambled

FOLDER = ROOT.parent / "shared" / "data" / "topologies" / "bench"
SIZE_BYTES = 2**30
LARGEST = 64
MOST = 1.05
PEERS = ("forestcoll", "tacos", "teccl", "sccl")
SEED = 7


@dataclass(frozen=True)
class Quick:
    """Schedule only, without a program; what the peers make too."""

    cpu_s: float
    made: Synthesis

    @property
    def algbw(self) -> float:
        """Output bytes per schedule time, GB/s."""
        return SIZE_BYTES / self.made.schedule_time_s / 1e9


def table(_: int) -> Table:
    made = Table(
        [
            "topology",
            "GPUs",
            "optimum, GB/s",
            "our bound, GB/s",
            "algbw, GB/s",
            f"optimum / algbw (target {MOST})",
            "the same, scrambled",
            "schedule, CPU s",
            "schedule + program, whole process, CPU s",
            "ForestColl: ratio, CPU s",
            "TACOS",
            "TE-CCL",
            "SCCL",
        ]
    )
    peers = _peers()
    for path in sorted(FOLDER.glob("*.json")):
        topology = read_edge_list(path.read_text(encoding="utf-8"), source=path.name)
        if topology.ranks <= LARGEST:
            _add(made, path, topology, peers.get(path.stem, {}))
    if not made.rows:
        made.notes.append(f"no topologies found beside the repository ({FOLDER.relative_to(ROOT.parent)})")
    return made


def _peers() -> dict[str, dict[str, str]]:
    with Path(__file__).with_name("peers.csv").open(encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def _quick(topology: Topology) -> Quick:
    began = time.process_time()
    options = Options(size_bytes=SIZE_BYTES, want_program=False)
    made = synthesize(topology, op_named("allgather"), options)
    return Quick(time.process_time() - began, made)


def _add(made: Table, path: Path, topology: Topology, peer: dict[str, str]) -> None:
    quick, other = _quick(topology), _quick(scrambled(topology, SEED)[0])
    bound = SIZE_BYTES / quick.made.bound.bandwidth_s / 1e9
    optimum = float(peer.get("optimum_GBps") or bound)
    whole = synth(str(path), "allgather", "1GiB")
    ratios = [optimum / one.algbw for one in (quick, other)]
    made.rows.append(
        [
            topology.name,
            str(topology.ranks),
            peer.get("optimum_GBps") or "-",
            f"{bound:.2f}",
            f"{quick.algbw:.2f}",
            *(against(ratio, MOST) for ratio in ratios),
            f"{quick.cpu_s:.2f}",
            f"{whole.cpu_s:.2f}",
            *(_peer(peer, name) for name in PEERS),
        ]
    )
    names = (topology.name, f"{topology.name}, scrambled")
    made.targets += [Target(f"{what}: optimum / algbw", ratio, MOST) for what, ratio in zip(names, ratios, strict=True)]


def _peer(row: dict[str, str], name: str) -> str:
    cells = [row.get(f"{name}_{field}", "") for field in ("ratio", "s")]
    return ", ".join(cell for cell in cells if cell) or "-"
