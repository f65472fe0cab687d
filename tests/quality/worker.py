"""Measures one row in this process: ``python -m tests.quality.worker '["synth", {"topology": ...}]'``.

Prints ``{"value": ...}``, or ``{"error": ...}`` with where it happened: a crash of what is measured is a result too.
"""

from __future__ import annotations

import json
import sys
import traceback
from importlib import import_module

MEASURES = {
    "alltoallv": "matrices",
    "baseline": "baseline",
    "calibrated": "calibration",
    "chain": "command",
    "closed_forms": "baseline",
    "diagnosed": "diagnosis",
    "command": "command",
    "crux_cases": "crux",
    "halving": "halving",
    "hour": "mixes",
    "lifted": "lifted",
    "mixes": "mixes",
    "mutation": "mutation",
    "planned": "paths",
    "random": "random_graph",
    "synth": "engine",
    "tuned": "tuned",
}
"""Function of the same name: module of ``tests.quality.measured``."""


def measured(request: str) -> dict[str, object]:
    """Call what a request names."""
    name, args = json.loads(request)
    try:
        function = getattr(import_module(f"tests.quality.measured.{MEASURES[name]}"), name)
        return {"value": function(**args)}
    except Exception as error:  # noqa: BLE001  whatever ends a row is written down
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}"
        return {"error": f"{type(error).__name__} at {where}: {error}"}


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(measured(sys.argv[1]))}\n")
