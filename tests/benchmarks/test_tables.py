"""Cells, targets and the list of what falls short."""

from __future__ import annotations

import pytest

from tests.quality.missed import missed_list
from tests.quality.rows import Result, Row
from tests.quality.run import replaced
from tests.quality.tables import Table, Target, markdown
from tests.quality.targets import GIB, KIB, MIB, schedule_target


def test_a_ratio_above_its_target_is_bold_and_listed() -> None:
    table = Table(["case", "ratio"])
    table.rows = [["a", table.check("a: ratio", 1.2, 1.1)], ["b", table.check("b: ratio", 1.1, 1.1)]]
    table.rows.append(["c", table.check("c: ratio", None, 1.1)])
    table.rows.append(["d", table.check("d: ratio", 9.0, None)])
    assert [row[1] for row in table.rows] == ["**1.200**", "1.100", "-", "9.000"]
    text = markdown([table])
    assert text.splitlines()[0] == "| case | ratio |"
    assert text.splitlines()[-1] == "- missed: a: ratio: 1.2, target at most 1.1"


def test_missed_targets_are_listed_worst_first() -> None:
    table = Table(["x"], targets=[Target("small", 1.2, 1.1), Target("large", 3.0, 1.1), Target("any", 1.0, 0.0)])
    assert [target.what for target in table.missed] == ["any", "large", "small"]


def test_met_targets_are_counted() -> None:
    assert markdown([Table(["x"], [["1"]], [Target("a", 1.0, 1.0)])]).endswith("- every target met (1)\n")


def test_failures_are_no_success() -> None:
    text = markdown([Table(["x"], targets=[Target("a", 1.0, 1.0)], failures=["t allgather: KeyError"])])
    assert "failed: t allgather: KeyError" in text
    assert "every target met" not in text
    assert "nothing measured yet" in text


def test_the_list_holds_failures_then_the_worst_then_the_slowest() -> None:
    table = Table(["x"], targets=[Target("a", 1.2, 1.0), Target("b", 2.0, 1.0), Target("c", 1, 1)], failures=["f: bad"])
    results = {Row.of("synth", op=op): Result(1, "", 1.0, cpu_s, 10.0) for op, cpu_s in (("x", 1.0), ("y", 5.0))}
    text = missed_list({"part": [table]}, results)
    assert text.startswith("# 2 of 3 targets missed, 1 failures\n")
    found = [text.index(part) for part in ("f: bad", "part: b", "part: a", "op=y", "op=x")]
    assert found == sorted(found)


def test_a_page_keeps_what_is_outside_the_markers() -> None:
    page = "# T\n<!-- a -->\nold\n<!-- /a -->\nrest <!-- b -->\n"
    assert replaced(page, "a", "new\n") == "# T\n<!-- a -->\nnew\n<!-- /a -->\nrest <!-- b -->\n"


@pytest.mark.parametrize(
    ("topology", "op", "size_bytes", "most"),
    [
        ("a100x32", "alltoall", KIB, 1.03),
        ("h800x64", "allgather", 4 * GIB, 1.07),
        ("a100x32", "gather", MIB, 1.07),
        ("a100x32", "allreduce", 64 * KIB, 1.05),
        ("a100x32", "allreduce", 128 * KIB, 1.12),
        ("h800x64", "allreduce", 4 * MIB, 1.25),
        ("h800x64", "allreduce", 8 * MIB, 1.05),
        ("h800x64", "broadcast", 64 * KIB, 1.08),
        ("a100x32", "reduce", MIB, 1.30),
        ("h800x64", "reduce", MIB, 1.40),
        ("a100x32", "reduce", 2 * MIB, None),
        ("a100x32", "broadcast", GIB, 1.10),
        ("torus2d-4x4", "broadcast", GIB, 1.13),
        ("h800x512", "alltoall", 256 * MIB, 1.05),
        ("h800x512", "alltoall", MIB, None),
        ("a100x8", "allgather", GIB, None),
    ],
)
def test_targets_are_those_that_are_stated(topology: str, op: str, size_bytes: int, most: float | None) -> None:
    assert schedule_target(topology, op, size_bytes) == most
