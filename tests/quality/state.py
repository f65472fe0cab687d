"""Results on disk, a line each, so that an interrupted run goes on where it stopped.

A result counts only for the code that it was measured with: what its measurement imports, the bundled topologies and
what measures.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.quality.rows import Result, Row
from tests.quality.worker import MEASURES

ROOT = Path(__file__).parent.parent.parent
ALWAYS = ("topologies/*.yaml", "tests/quality/measure*.py")
EVERYTHING = ("syccl/**/*.py", "tests/quality/measured/**/*.py")
"""Files that a measurement depends on that runs a command."""
_COMMANDS = "tests.quality.measured.process"


def versions(root: Path = ROOT) -> Callable[[Row], str]:
    """Return what tells the version of the code that a row depends on."""
    return cache(lambda row: code_version(f"tests.quality.measured.{MEASURES[row.measure]}", root))


@cache
def code_version(module: str, root: Path) -> str:
    """Hash of everything that a measurement depends on; how tables are written does not count."""
    digest = hashlib.sha256()
    for path in code_behind(module, root):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def code_behind(module: str, root: Path) -> list[Path]:
    """Return the files that a module of measurements depends on: what it imports, or all when it runs commands."""
    own = _file(module, root)
    names = _imported(own) if own is not None else []
    patterns = (*ALWAYS, *EVERYTHING) if {f"{_COMMANDS}.run", f"{_COMMANDS}.Run"} & set(names) else ALWAYS
    found = {path for pattern in patterns for path in root.glob(pattern)}
    waiting, seen = [module], set[str]()
    while waiting:
        name = waiting.pop()
        path = _file(name, root)
        if path is not None and name not in seen:
            seen.add(name)
            found.add(path)
            waiting += [*_imported(path), name.rpartition(".")[0]]
    return sorted(found)


def _file(module: str, root: Path) -> Path | None:
    """Return the file of a module of the project, if that is what a name names."""
    stem = root.joinpath(*module.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if module and path.is_file()), None)


def _imported(path: Path) -> list[str]:
    """Return the names that a file imports anywhere, those of modules as well as of what is in them."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


class State:
    """Results by row, in memory and in ``results.jsonl`` of a folder."""

    def __init__(self, folder: Path, version: Callable[[Row], str], *, fresh: bool = False) -> None:
        """Read what was measured with the present version of its row; ``fresh`` forgets everything first."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "results.jsonl"
        self._version = version
        if fresh:
            self._path.unlink(missing_ok=True)
        lines = ((Row(line["row"]), line) for line in _lines(self._path))
        self._results = {row: Result(**line["result"]) for row, line in lines if line.get("version") == version(row)}

    def __contains__(self, row: Row) -> bool:
        """Whether a row was measured."""
        return row in self._results

    def __getitem__(self, row: Row) -> Result:
        """What a row gave."""
        return self._results[row]

    def __iter__(self) -> Iterator[Row]:
        """All rows that were measured."""
        return iter(self._results)

    def put(self, row: Row, result: Result) -> None:
        """Add a result; it is on disk when this returns."""
        line = json.dumps({"version": self._version(row), "row": row.key, "result": result.record})
        # A line that an interruption cut short is left behind alone on its line.
        cut = self._path.exists() and not self._path.read_bytes().endswith(b"\n")
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n" if cut and self._path.stat().st_size else f"{line}\n")
        self._results[row] = result


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file that are whole."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            made = json.loads(line)
        except ValueError:
            continue
        if isinstance(made, dict) and {"row", "result"} <= made.keys():
            yield made
