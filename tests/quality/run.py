"""Measures what the project promises and compares with its targets: ``python tests/quality/run.py``.

Prints Markdown tables for each part and exits with 1 where a target is missed, with 2 where rows are left to measure.
Every row is measured cold, in a fresh process and without a cache, and is on disk as soon as it is done: a run that was
interrupted goes on where it stopped. All of it takes hours, so it is no part of the tests; ``--quick`` takes minutes.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests.quality.measuring import Limits, measure_all  # noqa: E402
from tests.quality.missed import missed_list  # noqa: E402
from tests.quality.part import Measured, Part  # noqa: E402
from tests.quality.parts import PARTS  # noqa: E402
from tests.quality.state import State, versions  # noqa: E402
from tests.quality.tables import Table, markdown  # noqa: E402

STATE = ROOT / "build" / "benchmarks"
QUICK_LIMIT_S = 30.0


def main() -> int:
    """Measure what is left, then write all tables."""
    args = _arguments()
    state = State(args.state, versions(), fresh=args.fresh)
    parts = [PARTS[name] for name in args.only or PARTS]
    wanted = [row for part in parts for case in part.cases(args.quick) for row in part.rows(case)]
    left = [row for row in dict.fromkeys(wanted) if row not in state]
    sys.stderr.write(f"{len(set(wanted))} rows, {len(left)} to measure\n")
    measure_all(left, state, Limits(args.jobs, args.row_limit, args.stop_after))
    page = None if args.quick else args.output
    _put("machine", _machine(), page)
    tables = {part.name: _show(part, state, quick=args.quick, page=page) for part in parts}
    if args.missed is not None:
        measured = {row: state[row] for row in wanted if row in state}
        args.missed.write_text(missed_list(tables, measured), encoding="utf-8")
    if any(row not in state for row in wanted):
        return 2
    return 1 if any(table.missed or table.failures for group in tables.values() for table in group) else 0


def _show(part: Part, state: State, *, quick: bool, page: Path | None) -> list[Table]:
    """Write the tables of a part and return them."""
    tables, left = tables_of(part, state, quick=quick)
    note = f"\n{left} cases are not measured yet.\n" if left else ""
    _put(part.name, markdown(tables) + note, page)
    return tables


def tables_of(part: Part, state: State, *, quick: bool) -> tuple[list[Table], int]:
    """Return the tables of what is measured, and how many cases are left."""
    cases = [(case, list(part.rows(case))) for case in part.cases(quick)]
    done = [(case, rows) for case, rows in cases if all(row in state for row in rows)]
    measured = [Measured(case, tuple(state[row] for row in rows)) for case, rows in done]
    return list(part.tables(measured)), len(cases) - len(done)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=PARTS, help="one part; may be given several times")
    parser.add_argument("--quick", action="store_true", help="few cases of every part, under five minutes; no page")
    parser.add_argument("--output", type=Path, help="page to write the tables into, between <!-- NAME --> markers")
    parser.add_argument("--missed", type=Path, metavar="FILE", help="list to write of all that falls short")
    parser.add_argument("--state", type=Path, default=STATE, metavar="DIR", help="where results are kept")
    parser.add_argument("--fresh", action="store_true", help="forget the results that are kept and start over")
    parser.add_argument("--jobs", type=int, default=1, help="rows at the same time; wall seconds then mean little")
    parser.add_argument(
        "--row-limit", type=float, default=120.0, metavar="SECONDS", help="CPU seconds after which a row fails"
    )
    parser.add_argument("--stop-after", type=float, metavar="SECONDS", help="begin no row after that time")
    return parser.parse_args()


def _machine() -> str:
    from syccl import __version__

    return (
        f"Measured on {os.cpu_count()} CPUs ({platform.machine()}) with Python {platform.python_version()}, "
        f"OR-Tools {version('ortools')}, numpy {version('numpy')}, syccl {__version__}.\n"
    )


def _put(name: str, text: str, page: Path | None) -> None:
    sys.stdout.write(f"\n## {name}\n\n{text}")
    sys.stdout.flush()
    if page is not None:
        page.write_text(replaced(page.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def replaced(page: str, name: str, text: str) -> str:
    """Return a page with the text between the markers of a name replaced."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, rest = page.split(begin)
    return f"{before}{begin}{text}{end}{rest.split(end)[1]}"


if __name__ == "__main__":
    sys.exit(main())
