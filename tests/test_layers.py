"""The import order of the package, drawn once."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "syccl"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = (
    ("errors", "units", "findings"),
    ("store", "clock", "documents"),
    ("optimize",),
    ("topology",),
    ("collective",),
    ("symmetry",),
    ("schedule",),
    ("proof",),
    ("program",),
    ("simulate",),
    ("bounds",),
    ("lowering",),
    ("baselines",),
    ("sketch",),
    ("solve",),
    ("stitch",),
    ("planning",),
    ("candidates",),
    ("contest",),
    ("prepare",),
    ("pipeline",),
    ("unequal",),
    ("tuning",),
    ("traffic",),
    ("report",),
    ("cli",),
    ("__main__",),
)
RANK = {unit: rank for rank, layer in enumerate(LAYERS) for unit in layer}

ONLY_IN = {"ortools": {"optimize"}, "click": {"cli"}, "rich": {"cli", "report"}}
LATE = {"ortools", "networkx", "joblib", "rich", "pydantic"}
INDEPENDENT = {"verify", "replay"}


def module_name(path: Path) -> str:
    parts = ["syccl", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def unit_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(nodes: list[ast.stmt] | ast.AST) -> list[str]:
    """Names of the modules that some code imports; ``from a import b`` counts as ``a`` and, in syccl, ``a.b``."""
    names = []
    roots = nodes if isinstance(nodes, list) else [nodes]
    for node in (inner for root in roots for inner in ast.walk(root)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
            names += [f"{node.module}.{alias.name}" for alias in node.names if node.module.startswith("syccl")]
    return names


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def graph() -> dict[str, set[str]]:
    """For every module, the modules of syccl that it imports, directly."""
    known = {module_name(path) for path in MODULES}
    return {module_name(path): {name for name in imported(tree(path)) if name in known} for path in MODULES}


def reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen, todo = {start}, [start]
    while todo:
        for other in edges[todo.pop()] - seen:
            seen.add(other)
            todo.append(other)
    return seen


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_imports_only_from_layers_above(path: Path) -> None:
    unit = unit_of(path)
    if unit == "__init__":
        assert not [name for name in imported(tree(path)) if name.startswith("syccl")]
        return
    assert unit in RANK, f"{path.name}: give {unit!r} a place in LAYERS"
    for name in imported(tree(path)):
        parts = name.split(".")
        if parts[0] == "syccl" and len(parts) > 1 and parts[1] in RANK:
            other = parts[1]
            same_row = RANK[other] == RANK[unit] == 0
            assert other == unit or same_row or RANK[other] < RANK[unit], f"{module_name(path)} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_third_parties_stay_in_their_packages(path: Path) -> None:
    for name in imported(tree(path)):
        third = name.split(".")[0]
        assert unit_of(path) in ONLY_IN.get(third, {unit_of(path)}), f"{module_name(path)} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_slow_third_parties_are_imported_inside_functions(path: Path) -> None:
    top = [node for node in tree(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not LATE & {name.split(".")[0] for name in imported(list(top))}


def test_verify_and_replay_see_nothing_of_the_engine() -> None:
    edges = graph()
    for module in edges:
        if module.split(".")[-1].split("_")[0] in INDEPENDENT and module.split(".")[1] != "cli":
            for other in sorted(reachable(module, edges)):
                unit = other.split(".")[1] if "." in other else "errors"
                assert RANK[unit] < RANK["bounds"], f"{module} depends on {other}"


def test_modules_do_not_import_each_other_in_circles() -> None:
    edges = {
        module: {other for other in others if not module.startswith(other + ".")} for module, others in graph().items()
    }
    while leaves := [module for module, others in edges.items() if not others & edges.keys()]:
        for module in leaves:
            del edges[module]
    assert not edges, "these import each other, directly or over others"


def test_printing_the_version_loads_no_slow_module() -> None:
    code = (
        "import sys; from syccl.cli.main import main; main(['--version']); "
        "print(*sorted({m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"numpy", "ortools", "rich", "networkx", "pydantic", "yaml", "lxml", "joblib"}
