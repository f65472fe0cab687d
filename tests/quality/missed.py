"""What falls short, in one list, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.quality.rows import Result, Row
from tests.quality.tables import Table

SHOWN = 15


def missed_list(tables: Mapping[str, Iterable[Table]], results: Mapping[Row, Result]) -> str:
    """Return failures, missed targets and the slowest rows as Markdown.

    Parameters
    ----------
    tables
        Tables of each part, by its name.
    results
        All rows that were measured.
    """
    made = [(name, table) for name, group in tables.items() for table in group]
    failures = [f"- {name}: {failure}" for name, table in made for failure in table.failures]
    missed = sorted(((target, name) for name, table in made for target in table.missed), key=lambda it: -it[0].excess)
    worst = [f"- {target.excess:.3f} x: {name}: {target}" for target, name in missed]
    slow = sorted(results.items(), key=lambda item: -item[1].cpu_s)[:SHOWN]
    slowest = [f"- {result.cpu_s:.1f} CPU s, {result.peak_mib:.0f} MiB: {row}" for row, result in slow]
    targets = sum(len(table.targets) for _, table in made)
    title = f"{len(missed)} of {targets} targets missed, {len(failures)} failures"
    sections = {"Failed": failures, "Missed, times the target": worst, "Slowest rows": slowest}
    lines = [f"# {title}"]
    for heading, entries in sections.items():
        lines += ["", f"## {heading}", "", *(entries or ["none"])]
    return "\n".join(lines) + "\n"
