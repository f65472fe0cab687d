"""Other fabrics: rails of 64 and 512 GPUs, a hybrid cube mesh, a torus."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.quality.case import Run, syccl, synth
from tests.quality.tables import Table, Target, against

CASES = (
    ("h800x64", "allgather", "1GiB", 1.03),
    ("dgx1-v100", "allgather", "256MiB", 1.08),
    ("dgx1-v100", "allreduce", "256MiB", 1.08),
    ("torus2d-4x4", "allgather", "256MiB", 1.08),
    ("torus2d-4x4", "allreduce", "256MiB", 1.08),
)
LARGE = ("h800x512", "allgather", "1GiB")
LARGE_MOST, LARGE_S = 1.05, 10.0


def table(_: int) -> Table:
    made = Table(
        [
            "topology",
            "op",
            "size",
            "bound, us",
            "schedule / bound",
            "target",
            "program / bound",
            "whole process, s",
            "CPU s",
            "peak, MiB",
        ]
    )
    for topology, op, size, most in CASES:
        run = synth(topology, op, size)
        _add(made, (topology, op, size), most, run)
    with tempfile.TemporaryDirectory() as folder:
        _large(made, Path(folder) / "made.json")
    return made


def _add(made: Table, case: tuple[str, str, str], most: float, run: Run) -> None:
    record = run.record
    program = record["program_ratio"]
    made.rows.append(
        [
            *case,
            f"{record['bound_us']:.1f}",
            against(record["schedule_ratio"], most),
            f"{most}",
            "-" if program is None else f"{program:.3f}",
            f"{run.wall_s:.1f}",
            f"{run.cpu_s:.1f}",
            f"{run.peak_mib:.0f}",
        ]
    )
    made.targets.append(Target(f"{' '.join(case)}: schedule / bound", record["schedule_ratio"], most))


def _large(made: Table, path: Path) -> None:
    topology, op, size = LARGE
    run = syccl(["synth", "--topo", topology, "--op", op, "--size", size, "--json", "-o", str(path)])
    _add(made, LARGE, LARGE_MOST, run)
    made.targets.append(Target(f"{' '.join(LARGE)}: whole process, s", run.wall_s, LARGE_S))
    checked = syccl(["verify", str(path)])
    timed = syccl(["simulate", str(path), "--topo", topology, "--size", size, "--json"])
    rows = len(json.loads(path.read_text(encoding="utf-8"))["transfers"]["chunk"])
    made.notes.append(
        f"{topology}: under {LARGE_S:g} s is asked for bound, schedule, verification and simulation together, which is "
        f"what the whole process does; its file of {path.stat().st_size / 2**20:.2f} MiB holds {rows} transfers for "
        f"{rows * run.record['symmetry_order']}. `syccl verify` on it takes {checked.wall_s:.1f} s, "
        f"`syccl simulate` {timed.wall_s:.1f} s."
    )
