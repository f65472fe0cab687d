"""What a check found, as text."""

from __future__ import annotations

from syccl.findings import Finding
from syccl.report.findings import UNCHECKED, findings_lines, findings_record

RACE = Finding("error", "race", "rank 0", "two blocks write o[3]")
LIMIT = Finding("warning", "deadlock", "", "deadlocks above 2 MiB")


def test_the_verdict_comes_last_and_counts() -> None:
    lines = findings_lines("a.xml", "program of 2 ranks", [RACE, RACE, LIMIT])
    assert lines[0] == "error[race]: rank 0: two blocks write o[3]"
    assert lines[-1] == "a.xml: program of 2 ranks: WRONG (2 errors, 1 warning)"


def test_warnings_leave_it_correct() -> None:
    assert findings_lines("a.xml", "program", [LIMIT])[-1] == "a.xml: program: correct (1 warning)"


def test_no_finding_is_one_line() -> None:
    assert findings_lines("a.xml", "program", []) == ["a.xml: program: correct"]


def test_the_record_says_whether_it_is_correct() -> None:
    assert findings_record("a.xml", "program", [LIMIT])["correct"] is True
    assert findings_record("a.xml", "program", [RACE]) == {
        "file": "a.xml",
        "what": "program",
        "correct": False,
        "result_checked": True,
        "findings": [
            {"severity": "error", "rule": "race", "where": "rank 0", "message": "two blocks write o[3]", "remedy": ""},
        ],
    }


def test_an_unchecked_result_is_not_called_correct() -> None:
    assert findings_lines("a.xml", "program", [UNCHECKED])[-1] == (
        "a.xml: program: no fault found, result not checked (1 warning)"
    )
    assert findings_record("a.xml", "program", [UNCHECKED])["result_checked"] is False
