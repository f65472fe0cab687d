from syccl.findings import Finding, capped, errors


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


def test_the_first_of_a_rule_are_kept_and_the_rest_counted():
    found = [Finding("error", "race", f"rank {i}", "no order") for i in range(5)]
    kept = list(capped([*found, Finding("note", "root", "", "root is 0")], 2))
    assert kept == [
        *found[:2],
        Finding("note", "root", "", "root is 0"),
        Finding("error", "race", "", "3 more of this kind"),
    ]


def test_a_remedy_follows_the_message():
    assert str(Finding("error", "count", "", "cnt 72", "write two steps")) == "error[count]: cnt 72; write two steps"
