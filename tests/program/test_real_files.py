"""Verdicts on runtime files that nobody here wrote, against the verdicts of people and simulators."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from syccl.errors import InputError
from syccl.findings import Finding, errors
from syccl.program.lint import lint
from syccl.program.msccl_dialect import dialect_findings
from syccl.program.msccl_xml import read_xml
from syccl.program.replay import replay_matches
from syccl.program.targets import TARGETS, target_named
from syccl.program.verify import verify_program

SCHEDULES = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "schedules"
pytestmark = pytest.mark.skipif(not SCHEDULES.is_dir(), reason=f"needs the folder {SCHEDULES}")

FAULTS = {
    "bad01": "race on rank 1 s[1]: tb 1 step 1 (r) writes it, tb 3 ",
    "bad03": "race on rank 0 s[0]: tb 0 step 1 (r) writes it, tb 3 ",
    "bad05": "rank 0 tb 0 step 0 (s) waits for a dependence from rank 0 tb 1 step 0 (s)",
    "bad07": "waits for tb 1 to publish step 1 or a later one",
    "bad09": "a Simple connection holds 2 messages",
    "bad11": "rank 0 tb 0 step 2 (line 6): unmatched receive on 1->0",
    "bad13": "count mismatch on 0->1 channel 0: cnt 2 sent, 1+1 received",
    "bad15": "unmatched connection 0->1 channel 1",
    "bad17": "rank 2 tb 0 step 1 (line 39): dst o[4] is out of range",
    "bad19": "rank 2 tb 0 step 0 (line 38): src i[-1] is out of range",
    "bad21": "step has cnt='one', not a decimal integer",
    "bad23": "cnt 72; allowed: 0..71",
    "bad25": "rank 1: duplicate thread block id 1",
    "bad27": "gpu id 2 appears twice",
    "bad29": "rank 0 tb 0 (line 3): send peer 4 is out of range",
    "bad31": "channel 5 is never connected: nchannels is 1",
    "bad33": "s does not count the steps",
    "bad35": "rank 2 tb 3 step 5 (line 81): adds input chunk 2 of rank 1",
    "bad37": "o[2] holds input chunk 1 of rank 3, not input chunk 1 of rank 2",
    "bad39": "rank 0: wrong result: o[0] holds nothing",
    "bad41": "nchunksperloop 6 is inconsistent",
    "bad43": "not well-formed XML: mismatched tag",
    "bad45": "DOCTYPE) is refused",
    "bad47": "an XML declaration",
    "bad49": "a TAB",
    "bad51": "blanks around '='",
    "bad53": "not well-formed XML: junk after document element",
    "bad55": "nchunksperloop is 0",
    "bad57": "more than 16 reductions are fused",
}
RULES = {
    "BAD_BOUNDS": {"bounds"},
    "BAD_STRUCT": {"structure", "connection", "nop", "unmatched", "bounds"},
    "BAD_LIMIT": {"limit"},
    "BAD_DEADLOCK": {"deadlock", "unmatched", "connection"},
    "BAD_RACE": {"race", "wrong", "uninitialised"},
    "BAD_WRONG": {"wrong", "reduction", "uninitialised", "race"},
}


def real() -> dict[str, dict[str, str]]:
    if not SCHEDULES.is_dir():
        return {}
    with (SCHEDULES / "real" / "EXPECTED.csv").open(newline="", encoding="utf-8") as table:
        return {row["file"]: row for row in csv.DictReader(table)}


def files(folder: str) -> list[str]:
    return sorted(path.name for path in (SCHEDULES / folder).glob("*.xml"))


def check(path: Path, size_bytes: int | None = None) -> tuple[Finding, ...]:
    text = path.read_bytes().decode()
    return (*dialect_findings(text), *verify_program(read_xml(text, source=path.name), size_bytes=size_bytes))


@pytest.mark.parametrize("name", [name for name, row in real().items() if row["verdict"] == "OK"])
def test_right_files_have_no_errors(name: str) -> None:
    found = check(SCHEDULES / "real" / name)
    assert errors(found) == ()
    assert "size" not in {finding.rule for finding in found}


@pytest.mark.parametrize("name", [name for name, row in real().items() if row["verdict"] == "OK_SIZE"])
def test_files_for_small_calls_say_up_to_which_size(name: str) -> None:
    safe = int(real()[name]["why"].split("about ")[1].split(" ")[0])
    path = SCHEDULES / "real" / name
    found = check(path)
    assert errors(found) == ()
    (warning,) = [finding for finding in found if finding.rule == "size"]
    assert f"set maxBytes to {safe} " in warning.message
    assert errors(check(path, safe)) == ()
    assert {finding.rule for finding in errors(check(path, 2 * safe))} == {"deadlock"}


@pytest.mark.parametrize("name", [name for name, row in real().items() if row["verdict"].startswith("BAD")])
def test_bad_files_are_refused_for_their_reason(name: str) -> None:
    path = SCHEDULES / "real" / name
    if "manul_2_stage" in name:
        with pytest.raises(InputError, match=r"chan='2\.25'"):
            check(path)
        return
    rules = {finding.rule for finding in errors(check(path))}
    assert rules
    assert rules <= RULES[real()[name]["verdict"]]


@pytest.mark.parametrize("name", files("faulty"))
def test_every_fault_is_told(name: str) -> None:
    try:
        told = [str(finding) for finding in errors(check(SCHEDULES / "faulty" / name))]
    except InputError as error:
        told = [str(error)]
    assert any(FAULTS[name.partition("_")[0]] in line for line in told), told


@pytest.mark.parametrize("name", files("odd-but-right"))
def test_odd_but_right_files_pass(name: str) -> None:
    assert check(SCHEDULES / "odd-but-right" / name) == ()


@pytest.mark.parametrize("name", [name for name, row in real().items() if row["verdict"].startswith("OK")])
def test_right_files_give_the_right_numbers(name: str) -> None:
    path = SCHEDULES / "real" / name
    assert replay_matches(read_xml(path.read_bytes().decode(), source=name), seed=len(name))


@pytest.mark.parametrize("name", [name for name, row in real().items() if row["verdict"].startswith("OK")])
def test_lint_says_of_right_files_what_the_runtimes_do(name: str) -> None:
    text = (SCHEDULES / "real" / name).read_bytes().decode()
    found = lint(text, TARGETS, source=name)
    expected = {"msccl": "msccl", "executor": "msccl-executor-nccl", "rccl": "rccl"}
    for column, target in expected.items():
        accepted = "yes" if real()[name][column] == "acc" else "no"
        wrong = [str(finding) for finding, names in found.findings if target in names and finding.severity == "error"]
        assert found.verdict(target_named(target)) == accepted, (target, wrong)
