from syccl.findings import Finding, errors


def test_errors_keeps_only_errors_in_order():
    found = (
        Finding("warning", "fifo", "", "safe up to 8MiB"),
        Finding("error", "race", "rank 0", "first"),
        Finding("note", "root", "", "root is 0"),
        Finding("error", "wrong", "rank 1", "second"),
    )
    assert [finding.message for finding in errors(found)] == ["first", "second"]


def test_finding_prints_on_one_line():
    assert str(Finding("error", "race", "rank 0 tb 1", "no order")) == "error[race]: rank 0 tb 1: no order"
    assert str(Finding("note", "root", "", "root is 0")) == "note[root]: root is 0"
