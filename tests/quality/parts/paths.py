"""Paths for connections: planned against the bound, hashes and packet spray, and after a failure."""

from __future__ import annotations

from collections.abc import Sequence

from tests.quality.measured.paths import SEEDS, SPRAY
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table

FABRICS = {
    "Clos, 1:2": ("clos", {"servers": 32, "block": 4, "oversubscription": 2.0}, 1),
    "HPN, two ports": ("hpn", {"servers": 32, "block": 8}, 2),
    "SuperPOD, rails": ("h100-superpod", {"servers": 64}, 1),
    "BiGraph": ("bigraph", {"dims": [4, 2]}, 1),
}
"""Generator, what is wanted of it, queue pairs of a connection."""
SMALL = {
    "Clos, 1:2": {"servers": 8, "block": 2, "oversubscription": 2.0},
    "HPN, two ports": {"servers": 8, "block": 4},
    "SuperPOD, rails": {"servers": 8, "block": 4},
    "BiGraph": {"dims": [2, 2]},
}
"""What is wanted where all send to all."""
MOST_OVER = 1.0
ROUNDED = 1e-9


def _cases(quick: bool) -> list[Case]:
    names = list(FABRICS)[:2] if quick else list(FABRICS)
    return [(name, pattern) for name in names for pattern in ("ring", "alltoall")]


def _rows(case: Case) -> list[Row]:
    name, pattern = case
    fabric, wanted, queue_pairs = FABRICS[name]
    chosen = wanted if pattern == "ring" else SMALL[name]
    return [Row.of("planned", fabric=fabric, wanted=chosen, pattern=pattern, queue_pairs=queue_pairs)]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    even = Table(["fabric", "sends", "GPUs", "connections", "planned", "hashed", f"sprayed over {SPRAY}", "CPU s"])
    failed = Table(["fabric", "sends", "paths hit", "others moved", "before", "during", "after", "after / its bound"])
    for one in measured:
        name, pattern = one.case
        even.failures += one.failures(f"{name} {pattern}")
        for value in (value for value in one.values if value is not None):
            bound = value["bound_s"]
            ratio = even.check(f"{name}, {pattern}: planned / bound", value["planned_s"] / bound, MOST_OVER + ROUNDED)
            others = [f"{value[key] / bound:.3f}" for key in ("hashed_s", "sprayed_s")]
            counts = [str(value["gpus"]), str(value["connections"])]
            even.rows.append([name, pattern, *counts, ratio, *others, f"{value['cpu_s']:.2f}"])
            stages = [f"{value[key] / bound:.3f}" for key in ("planned_s", "during_s", "after_s")]
            against = f"{value['after_s'] / value['after_bound_s']:.3f}"
            failed.rows.append([name, pattern, str(value["hit"]), str(value["moved"]), *stages, against])
    even.notes.append(f"busiest link over the bound for whole connections; hashed: mean of {len(SEEDS)} seeds")
    failed.title = "The busiest link between switches fails"
    return [even, failed]


PART = Part("paths", _cases, _rows, _tables)
