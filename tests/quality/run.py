"""Measures what the project promises and compares with its targets: ``python tests/quality/run.py``.

Prints one Markdown table for each part and exits with 1 where a target is missed. Takes tens of minutes, so it is no
part of the tests.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

TABLES = {
    "random": "random_graphs",
    "bench": "bench",
    "small": "small",
    "fabrics": "fabrics",
    "large": "large",
    "main-job": "main_job",
}


def main() -> int:
    args = _arguments()
    missed = 0
    _put("machine", _machine(), args.output)
    for name in args.only or TABLES:
        table = import_module(f"tests.quality.{TABLES[name]}").table(args.jobs)
        from tests.quality.tables import markdown

        _put(name, markdown(table), args.output)
        for target in table.missed:
            sys.stderr.write(f"missed: {target}\n")
        missed += len(table.missed)
    return 1 if missed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=TABLES, help="one table; may be given several times")
    parser.add_argument("--output", type=Path, help="page to write the tables into, between <!-- NAME --> markers")
    parser.add_argument("--jobs", type=int, default=1, help="processes for the tables that hold no seconds")
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
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
        before, rest = page.read_text(encoding="utf-8").split(begin)
        after = rest.split(end)[1]
        page.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
