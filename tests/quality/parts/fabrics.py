"""Other fabrics: rails of 64 and 512 GPUs, a hybrid cube mesh, a torus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, Target, number

CASES: tuple[Case, ...] = (
    ("h800x64", "allgather", "1GiB", 1.03),
    ("dgx1-v100", "allgather", "256MiB", 1.08),
    ("dgx1-v100", "allreduce", "256MiB", 1.08),
    ("torus2d-4x4", "allgather", "256MiB", 1.08),
    ("torus2d-4x4", "allreduce", "256MiB", 1.08),
    ("h800x512", "allgather", "1GiB", 1.05),
)
CHAINED = "h800x512"
CHAIN_S = 10.0


def _cases(quick: bool) -> Sequence[Case]:
    return CASES[1:2] + CASES[-1:] if quick else CASES


def _rows(case: Case) -> list[Row]:
    topology, op, size, _ = case
    asked = {"topology": topology, "op": op, "size": size}
    return [Row.of("chain", **asked) if topology == CHAINED else Row.of("command", **asked, form="xml")]


def _tables(measured: Sequence[Measured]) -> list[Table]:
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
    for one in measured:
        topology, op, size, most = one.case
        what, (record,) = f"{topology} {op} {size}", one.values
        made.failures += one.failures(what)
        if record is not None:
            made.rows.append(
                [
                    *what.split(),
                    f"{record['bound_us']:.1f}",
                    made.check(f"{what}: schedule / bound", record["schedule_ratio"], most),
                    f"{most}",
                    number(record["program_ratio"]),
                    f"{record['wall_s']:.1f}",
                    f"{record['cpu_s']:.1f}",
                    f"{record['peak_mib']:.0f}",
                ]
            )
            if topology == CHAINED:
                _tell_chain(made, what, record)
    return [made]


def _tell_chain(made: Table, what: str, record: dict[str, Any]) -> None:
    made.targets.append(Target(f"{what}: whole process, s", record["wall_s"], CHAIN_S))
    made.notes.append(
        f"{CHAINED}: under {CHAIN_S:g} s is asked for bound, schedule, verification and simulation together, which is "
        f"what the whole process does; its file of {record['file_mib']:.2f} MiB holds {record['rows']} transfers for "
        f"{record['rows'] * record['symmetry_order']}. `syccl verify` on it takes {record['verify_s']:.1f} s, "
        f"`syccl simulate` {record['simulate_s']:.1f} s."
    )


PART = Part("fabrics", _cases, _rows, _tables)
