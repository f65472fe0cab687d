"""Results on disk, a line each, so that an interrupted run goes on where it stopped.

A result counts only for the code that it was measured with: the package, the bundled topologies and what measures.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.quality.rows import Result, Row

ROOT = Path(__file__).parent.parent.parent
MEASURED = ("syccl/**/*.py", "topologies/*.yaml", "tests/quality/measure*.py", "tests/quality/measured/**/*.py")


def code_version(root: Path = ROOT) -> str:
    """Hash of everything that a result depends on; how tables are written does not."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in MEASURED for path in root.glob(pattern)}):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


class State:
    """Results by row, in memory and in ``results.jsonl`` of a folder."""

    def __init__(self, folder: Path, version: str, *, fresh: bool = False) -> None:
        """Read what was measured with this version; ``fresh`` forgets everything first."""
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "results.jsonl"
        self._version = version
        if fresh:
            self._path.unlink(missing_ok=True)
        lines = list(_lines(self._path))
        self._results = {Row(line["row"]): Result(**line["result"]) for line in lines if line.get("version") == version}

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
        line = json.dumps({"version": self._version, "row": row.key, "result": result.record})
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
