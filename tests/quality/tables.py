"""Tables of measurements against targets, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

FAILED = "**failed**"
ABSENT = "-"


@dataclass(frozen=True)
class Target:
    """A measured value and the largest that is good enough."""

    what: str
    value: float
    most: float

    @property
    def met(self) -> bool:
        """Whether it is good enough."""
        return self.value <= self.most

    @property
    def excess(self) -> float:
        """How many times the target it is; infinite where the target is 0 and missed."""
        if self.most > 0:
            return self.value / self.most
        return 0.0 if self.met else float("inf")

    def __str__(self) -> str:
        return f"{self.what}: {self.value:.4g}, target at most {self.most:g}"


@dataclass
class Table:
    """Rows of one kind of measurement, what they were to reach, and what is worth knowing about them.

    ``failures`` are measurements that ended in an error; each counts as a missed target.
    """

    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    title: str = ""

    @property
    def missed(self) -> list[Target]:
        """The targets that are not met, the worst first."""
        return sorted((target for target in self.targets if not target.met), key=lambda target: -target.excess)

    def check(self, what: str, value: float | None, most: float | None) -> str:
        """Return a value as a cell, bold where it misses its target, and keep the target."""
        if value is None:
            return ABSENT
        if most is None:
            return f"{value:.3f}"
        self.targets.append(Target(what, value, most))
        return against(value, most)


def markdown(tables: Iterable[Table]) -> str:
    """The tables, then the notes, failures and missed targets of all of them, as a Markdown list."""
    made = list(tables)
    lines = []
    for table in made:
        lines += [f"{table.title}:", ""] if table.title else []
        lines += [*_grid(table), ""] if table.rows else ["nothing measured yet", ""]
    missed = sorted((target for table in made for target in table.missed), key=lambda target: -target.excess)
    verdict = [f"failed: {failure}" for table in made for failure in table.failures]
    verdict += [f"missed: {target}" for target in missed]
    targets = sum(len(table.targets) for table in made)
    if targets and not verdict:
        verdict = [f"every target met ({targets})"]
    notes = [note for table in made for note in table.notes]
    return "\n".join([*lines, *(f"- {line}" for line in [*notes, *verdict])]) + "\n"


def _grid(table: Table) -> list[str]:
    return [_line(table.header), "|---|" + "---:|" * (len(table.header) - 1), *map(_line, table.rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def against(ratio: float, most: float) -> str:
    """A ratio as a cell, bold where it is above its target."""
    return f"{ratio:.3f}" if ratio <= most else f"**{ratio:.3f}**"


def number(value: float | None, form: str = ".3f") -> str:
    """A number as a cell."""
    return ABSENT if value is None else f"{value:{form}}"
