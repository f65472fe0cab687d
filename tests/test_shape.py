"""Caps on the size of files, functions and signatures."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "syccl"
MODULES = sorted(PACKAGE.rglob("*.py"))

FILE_LINES = 400
BODY_LINES = 60
POSITIONAL = 4


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node


def body_lines(function: ast.FunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_functions_are_short(path: Path) -> None:
    long = {function.name: body_lines(function) for function in functions(path) if body_lines(function) > BODY_LINES}
    assert not long


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_functions_take_few_positional_parameters(path: Path) -> None:
    for function in functions(path):
        names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
        count = len([name for name in names if name not in {"self", "cls"}])
        assert count <= POSITIONAL, f"{function.name} takes {count} positional parameters"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_say_what_they_are_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
