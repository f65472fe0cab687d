"""Tables of measurements against targets, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """A measured value and the largest that is good enough."""

    what: str
    value: float
    most: float

    @property
    def met(self) -> bool:
        return self.value <= self.most

    def __str__(self) -> str:
        return f"{self.what}: {self.value:.4g}, target at most {self.most:g}"


@dataclass
class Table:
    """Rows of one kind of measurement, what they were to reach, and what is worth knowing about them."""

    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def missed(self) -> list[Target]:
        return [target for target in self.targets if not target.met]


def markdown(table: Table) -> str:
    """The table, then its notes and what it missed, as a Markdown list."""
    left = "|---|" + "---:|" * (len(table.header) - 1)
    lines = [_row(table.header), left, *map(_row, table.rows)]
    verdict = [f"- missed: {target}" for target in table.missed]
    if table.targets and not verdict:
        verdict = [f"- every target met ({len(table.targets)})"]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes), *verdict]) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def against(ratio: float, most: float) -> str:
    """A ratio as a cell, bold where it is above its target."""
    return f"{ratio:.3f}" if ratio <= most else f"**{ratio:.3f}**"
