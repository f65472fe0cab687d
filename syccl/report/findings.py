"""What a check found, as lines and as a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from syccl.findings import SEVERITIES, Finding, errors

UNCHECKED = Finding(
    "warning",
    "unchecked",
    "program",
    "the file states no result, so the result was not checked; structure, races and deadlock were. For alltoallv, give "
    "--matrix",
)
"""What a check of a program without a known result ends with."""


def findings_lines(name: str, what: str, findings: Sequence[Finding]) -> list[str]:
    """Return one line for each finding and a last line with the verdict.

    Parameters
    ----------
    name
        The file that was checked.
    what
        What the file holds, in words.
    findings
        What the check found, in its own order.
    """
    counts = Counter(finding.severity for finding in findings)
    right = "no fault found, result not checked" if UNCHECKED in findings else "correct"
    verdict = "WRONG" if counts["error"] else right
    numbers = [
        f"{counts[severity]} {severity}{'s' * (counts[severity] != 1)}" for severity in SEVERITIES if counts[severity]
    ]
    tail = f" ({', '.join(numbers)})" if numbers else ""
    return [*map(str, findings), f"{name}: {what}: {verdict}{tail}"]


def findings_record(name: str, what: str, findings: Sequence[Finding]) -> dict[str, object]:
    """Return the findings under stable names, for ``--json``; ``result_checked`` is false for custom programs."""
    return {
        "file": name,
        "what": what,
        "correct": not errors(findings),
        "result_checked": UNCHECKED not in findings,
        "findings": [asdict(found) for found in findings],
    }
