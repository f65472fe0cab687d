"""Groups of measured rows: which cluster, which program, whether they are promised to be predicted."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

POINTS = Path(__file__).parents[4] / "shared" / "data" / "calibration" / "points.csv"
MSCCL = "MI300X Azure MSCCL "
"""Before the name of each program that was measured on MI300X: op_algorithm_protocol_(channels_)instances."""
_TIMES = "\N{MULTIPLICATION SIGN}"
"""In names of clusters in the file, here a plain x."""
LARGEST_BYTES = 1 << 30
"""Rates no longer change above it."""


class Point(NamedTuple):
    """One measured row; out of place, but for programs in XML, which only the in-place column runs."""

    op: str
    size_bytes: int
    measured_us: float
    fitted: bool
    """Whether the profile was fitted to it: every second row of a cluster and collective, the first included."""


@dataclass(frozen=True)
class Cluster:
    """A cluster of the file on which NCCL chose ring or tree, or something that is not modelled.

    Parameters
    ----------
    topology
        Bundled topology, or generator and number of servers.
    channels, channel_rate
        Of NCCL: 24 on an A100 server; two for each NIC where there are several servers. What its search gives each,
        bytes per second.
    promised
        Whether its rows have a target.
    """

    name: str
    topology: tuple[str, int]
    profile: str
    channels: int
    channel_rate: float
    promised: bool = False

    @property
    def servers(self) -> int:
        """Number of servers."""
        return max(1, self.topology[1])


CLUSTERS = {
    "8 x A100": Cluster("DGX-like 8xA100-40GB NVSwitch", ("a100x8", 0), "a100", 24, 10e9, promised=True),
    "2 x DGX A100": Cluster("2xDGX A100 k8s network operator", ("a100-superpod", 2), "a100", 16, 12e9, promised=True),
    "2 x 8 H200, RoCE": Cluster(
        "2xGCP A3 Ultra (H200, 8x400G RoCE)", ("h100-superpod", 2), "h100", 16, 24e9, promised=True
    ),
    "2 x B4.8 (A100)": Cluster("2xOCI B4.8 (A100-40, 16x100G)", ("a100-superpod", 2), "a100", 16, 12e9),
    "2 x p4de (EFA)": Cluster("2xAWS p4de (A100-80, 4x100G EFA)", ("aws-p4d", 2), "a100", 8, 6e9),
    "2 x p5 (EFA, NVLS)": Cluster("2xAWS p5 EKS", ("aws-p5", 2), "h100", 16, 24e9),
    "8 x H100 (NVLS)": Cluster("8xH100 (Supermicro)", ("h100x8", 0), "h100", 16, 20e9),
    "2 x 8 H100 (NVLS)": Cluster("OCI H100, 2 nodes (ratio 1.875)", ("h100-superpod", 2), "h100", 16, 24e9),
    "8 x 8 H100 (NVLS)": Cluster("8xHGX H100 (8xNDR400)", ("h100-superpod", 8), "h100", 16, 24e9),
}
PROTOCOLS = {"simple": "Simple", "ll": "LL", "LL128": "LL128"}
PROMISED = ("Simple", "LL")
"""Protocols of programs on MI300X with a target."""


@lru_cache(maxsize=1)
def points() -> dict[str, tuple[Point, ...]]:
    """Return the measured rows by cluster, none where the file is absent."""
    if not POINTS.exists():
        return {}
    found: dict[str, list[Point]] = {}
    seen: dict[tuple[str, str], int] = {}
    with POINTS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            cluster = row["cluster"].replace(_TIMES, "x")
            key = (cluster, row["collective"])
            time = row["ip_time_us" if cluster.startswith(MSCCL) else "oop_time_us"]
            if time and int(row["bytes"]) <= LARGEST_BYTES:
                at = seen[key] = seen.get(key, -1) + 1
                point = Point(row["collective"], int(row["bytes"]), float(time), at % 2 == 0)
                found.setdefault(cluster, []).append(point)
    return {name: tuple(rows) for name, rows in found.items()}


def msccl_names(protocol: str) -> list[str]:
    """Return the names of the programs of a protocol that were measured."""
    names = [name.removeprefix(MSCCL) for name in points() if name.startswith(MSCCL)]
    return sorted(name for name in names if PROTOCOLS[name.split("_")[2]] == protocol)


def groups() -> dict[str, tuple[tuple[str, ...], bool]]:
    """Return the clusters or programs of each group of the table, and whether it has a target."""
    made = {
        f"MI300X, {protocol}": (tuple(msccl_names(protocol)), protocol in PROMISED) for protocol in PROTOCOLS.values()
    }
    return made | {name: ((name,), cluster.promised) for name, cluster in CLUSTERS.items()}
