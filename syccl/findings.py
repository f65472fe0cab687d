"""What a check found: values, never exceptions, so that a caller sees all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

SEVERITIES = ("error", "warning", "note")
"""In falling order: what is wrong, what limits the use, what is worth knowing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    ``rule`` is a stable short name (``race``, ``deadlock``, ...), ``where`` the place in the words of the thing
    checked (rank, thread block, step, line), ``message`` one sentence with the offending values, ``remedy`` what to do.
    """

    severity: str
    rule: str
    where: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return the finding as one line."""
        place = f"{self.where}: " if self.where else ""
        return f"{self.severity}[{self.rule}]: {place}{self.message}{f'; {self.remedy}' if self.remedy else ''}"


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that make the thing checked wrong, in their order."""
    return tuple(finding for finding in findings if finding.severity == "error")


def capped(findings: Iterable[Finding], most: int) -> Iterator[Finding]:
    """Yield the first ``most`` findings of each rule and severity, and at the end how many more there are."""
    seen: Counter[tuple[str, str]] = Counter()
    for finding in findings:
        seen[finding.severity, finding.rule] += 1
        if seen[finding.severity, finding.rule] <= most:
            yield finding
    for (severity, rule), count in seen.items():
        if count > most:
            yield Finding(severity, rule, "", f"{count - most} more of this kind")
