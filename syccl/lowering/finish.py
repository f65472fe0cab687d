"""The last step: a lowered schedule becomes the program of all ranks, proved right, as one runtime reads it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from syccl.collective import Op
from syccl.errors import InternalError
from syccl.findings import Finding
from syccl.lowering.lower import program_of
from syccl.lowering.lowered import Lowered
from syccl.program import Program
from syccl.program.selection import addressed
from syccl.program.verify import verify_program
from syccl.simulate.cost import Protocol
from syccl.topology import Topology

_LONGEST_NAME = 63


def finished(lowered: Lowered, protocol: Protocol, *, name: str, size_bytes: int) -> Program:
    """Return the program of a lowered schedule for every size that its runtime can take it for.

    That of an alltoallv is for its own size alone.

    Parameters
    ----------
    size_bytes
        Of the call for which it was lowered.

    Raises
    ------
    InternalError
        When it is wrong.
    """
    program = program_of(lowered, protocol, name=name)
    require_clean(verify_program(program, size_bytes=size_bytes, target=lowered.target), "program")
    if lowered.schedule.demand.is_unequal:
        return addressed(program, lowered.target, first_bytes=size_bytes, last_bytes=size_bytes)
    # The first runtime sets aside scratch for the largest size that a file allows.
    last_bytes = None if lowered.target.includes_end else size_bytes
    return addressed(program, lowered.target, last_bytes=last_bytes)


def program_name(op: Op, topology: Topology) -> str:
    """Return a name that every runtime's parser reads, whatever the topology is called."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{op.name}.{topology.name}")
    return plain[:_LONGEST_NAME]


def require_clean(findings: Sequence[Finding], what: str) -> None:
    """Raise unless there is nothing to find; what is a warning in foreign files is an error in our own.

    That a file does not say its root is true of every runtime file.
    """
    wrong = [finding for finding in findings if finding.severity != "note" and finding.rule != "root"]
    if wrong:
        first = wrong[0]
        msg = f"the {what} made here is wrong ({len(wrong)} findings): {first.rule} at {first.where}: {first.message}"
        raise InternalError(msg)
