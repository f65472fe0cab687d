"""What is told of an execution plan of MSCCL++ that was made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from syccl.findings import Finding, errors
from syccl.program.mscclpp.ir import MAX_BLOCKS, MAX_OPERATIONS, Plan
from syccl.report.figures import US
from syccl.report.synthesis import microseconds, size_meaning
from syccl.report.tables import Table
from syccl.schedule import Schedule
from syccl.units import format_size


@dataclass(frozen=True)
class Planned:
    """A schedule and its plan; ``schedule_time_s`` is the schedule's time in seconds: plans are not simulated."""

    schedule: Schedule
    plan: Plan
    size_bytes: int
    schedule_time_s: float
    output: Path

    @property
    def blocks(self) -> int:
        """Most thread blocks of a rank."""
        return max(len(rank.blocks) for rank in self.plan.ranks)

    @property
    def operations(self) -> int:
        """Most operations of a thread block."""
        return max((len(block.ops) for rank in self.plan.ranks for block in rank.blocks), default=0)


def table(made: Planned) -> Table:
    """Return the account for people."""
    demand = made.schedule.demand
    rows = [
        ("schedule", f"{demand.op.name} over {demand.ranks} ranks of {made.schedule.topology.name}"),
        ("size", f"{format_size(made.size_bytes)}: {size_meaning(demand.op)}"),
        ("target", "mscclpp"),
        ("chunks", str(demand.chunks)),
        ("thread blocks", f"{made.blocks} of {MAX_BLOCKS} a rank"),
        ("operations", f"{made.operations} of {MAX_OPERATIONS} a thread block"),
        ("schedule time", f"{microseconds(made.schedule_time_s * US)}; the plan itself is not simulated"),
        ("wrote", str(made.output)),
    ]
    return Table(rows)


def next_steps(made: Planned) -> list[str]:
    """Return how the plan is loaded, and which calls it is for."""
    kind = "in-place" if made.plan.in_place else "out-of-place"
    name = json.dumps(str(made.output))
    return [
        "to use it with MSCCL++ 0.9:",
        f"  in Python: mscclpp.ExecutionPlan({name}, rank), run by mscclpp.Executor",
        f"  for {kind} calls of a multiple of {format_size(_unit_bytes(made.plan))} in the larger buffer",
    ]


def _unit_bytes(plan: Plan) -> int:
    return plan.alignment * max(max(rank.input_chunks, rank.output_chunks) for rank in plan.ranks)


def lint_lines(name: str, what: str, findings: Sequence[Finding]) -> list[str]:
    """Return one line a finding, and whether the executor loads the plan."""
    verdict = "NOT usable" if errors(findings) else "usable; whether it is right: syccl verify"
    return [*map(str, findings), f"{name}: {what}: {verdict}"]


def lint_record(name: str, what: str, findings: Sequence[Finding]) -> dict[str, object]:
    """Return the same under stable names, for ``--json``."""
    found = [asdict(finding) for finding in findings]
    return {"file": name, "what": what, "usable": not errors(findings), "findings": found}


def record(made: Planned) -> dict[str, object]:
    """Return the account under stable names, for ``--json``; ``program_us`` is null since plans are not simulated."""
    return {
        "op": made.schedule.demand.op.name,
        "topology": made.schedule.topology.name,
        "ranks": made.schedule.demand.ranks,
        "size_bytes": made.size_bytes,
        "target": "mscclpp",
        "protocol": made.plan.protocol,
        "in_place": made.plan.in_place,
        "chunks": made.schedule.demand.chunks,
        "thread_blocks": made.blocks,
        "operations": made.operations,
        "schedule_us": made.schedule_time_s * US,
        "program_us": None,
        "output": str(made.output),
    }
