"""What ``syccl diagnose`` tells."""

from __future__ import annotations

from syccl.errors import InputError
from syccl.report.tables import Table
from syccl.topology import Topology
from syccl.topology.check import disconnected_parts
from syccl.topology.damage import degraded
from syccl.topology.elements import element_of
from syccl.traffic.c4d import Diagnosis

_SHOWN = 4


def diagnosis_record(topology: Topology, found: Diagnosis) -> dict[str, object]:
    """Return everything for scripts; ``without`` is what to hand to ``--without`` so that nothing suspect is used."""
    return {
        "topology": topology.name,
        "connections": 0 if found.cells is None else len(found.cells),
        "windows": 0 if found.cells is None else found.cells.windows,
        "faults": [
            {
                "class": fault.classified,
                "suspects": [
                    {"kind": suspect.kind, "name": suspect.name, "parts": list(suspect.parts)}
                    for suspect in fault.suspects
                ],
                "connections": fault.connections,
                "evidence": fault.evidence,
                "swap": fault.swap,
            }
            for fault in found.faults
        ],
        "without": leave_out(topology, found),
    }


def leave_out(topology: Topology, found: Diagnosis) -> list[str]:
    """Return the parts that may be at fault, except those without which the cluster would fall apart.

    What is part of another suspect of the same fault is not named again.
    """
    chosen: list[str] = []
    for fault in found.faults:
        links = {part: set(element_of(topology, part).links) for part in fault.parts}
        for part, mine in links.items():
            alone = not any(mine < others for others in links.values())
            if alone and part not in chosen and _holds(topology, [*chosen, part]):
                chosen.append(part)
    return chosen


def _holds(topology: Topology, without: list[str]) -> bool:
    try:
        return not disconnected_parts(degraded(topology, without=without))
    except InputError:
        return False


def diagnosis_table(found: Diagnosis) -> Table:
    """Return a row for each fault, and one more for each suspect that cannot be told from the first."""
    rows = []
    for fault in found.faults:
        shown = [(each.kind, each.name) for each in fault.suspects[:_SHOWN]] or [("-", "-")]
        if len(fault.suspects) > _SHOWN:
            shown.append(("", f"and {len(fault.suspects) - _SHOWN} more"))
        rows.append((fault.classified, *shown[0], str(fault.connections or "-"), fault.evidence))
        rows += [("", f"or {kind}" if kind else "", name, "", "") for kind, name in shown[1:]]
    return Table(rows, ("fault", "where", "", "connections", "evidence"), frozenset({3}))


def diagnosis_lines(topology: Topology, found: Diagnosis, *, hashed: bool) -> list[str]:
    """Return what to do next: what would tell suspects apart, and the options that leave them out.

    Parameters
    ----------
    hashed
        Whether parallel ways were taken as one, because paths are not known.
    """
    lines = [f"to tell these apart: {fault.swap}" for fault in found.faults if fault.swap]
    vague = [fault for fault in found.faults if not fault.parts]
    if hashed and vague:
        lines.append("paths over parallel switches are not known; --paths (see syccl paths -o) says more")
    parts = leave_out(topology, found)
    if parts:
        lines.append("to do without: " + " ".join(f"--without {part}" for part in parts))
    return lines
