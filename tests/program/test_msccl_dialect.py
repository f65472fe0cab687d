from __future__ import annotations

import pytest

from syccl.findings import errors
from syccl.program.msccl_dialect import dialect_findings
from syccl.program.msccl_xml import write_xml
from tests.program.programs import allpairs_allreduce

TEXT = write_xml(allpairs_allreduce(3))


def test_written_files_have_no_findings() -> None:
    assert dialect_findings(TEXT) == ()


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", "\r\n"),
        TEXT.replace("\n", ""),
        TEXT.replace("/>", " />"),
        TEXT.replace('">', '" >'),
        TEXT.replace("<gpu", "<!-- one rank --><gpu"),
        "<!-- before -->\n" + TEXT,
        TEXT.replace('name="', 'name="a>b'),
        TEXT.replace(' type="', '   type="'),
    ],
    ids=[
        "crlf",
        "one line",
        "blank before slash",
        "blank before end",
        "comment",
        "first comment",
        "> in value",
        "blanks",
    ],
)
def test_what_runtimes_accept_is_no_finding(text: str) -> None:
    assert dialect_findings(text) == ()


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ('<?xml version="1.0"?>\n' + TEXT, "line 1", "XML declaration"),
        ("\ufeff" + TEXT, "line 1", "byte order mark"),
        (TEXT.replace("  <gpu", "\t<gpu"), "line 2", "TAB"),
        (TEXT.replace('<gpu id="0"', '<gpu id = "0"'), "line 2", "blanks around '='"),
        (TEXT.replace('<gpu id="0"', "<gpu id='0'"), "line 2", "single quotes"),
        (TEXT.replace('<gpu id="0"', '<gpu\nid="0"'), "line 2", "line break between attributes"),
        (TEXT.replace("</algo>", "</algo >"), f"line {TEXT.count(chr(10))}", "blank inside a closing tag"),
        (
            TEXT.replace("</gpu>", "text</gpu>", 1),
            f"line {TEXT[: TEXT.index('</gpu>')].count(chr(10)) + 1}",
            "text between",
        ),
        (TEXT.replace("  <gpu", "<!--a=b-->  <gpu", 1), "line 2", "comment whose first word"),
        (TEXT.replace(" cnt=", " " * 8 + "cnt="), "line 4", "drop the attributes after"),
        (
            TEXT.replace(" chan=", "".join(f' a{k}="0"' for k in range(16)) + " chan="),
            "line 3",
            "more than 16 attributes",
        ),
        (TEXT.replace('name="', 'name="' + "x" * 300), "line 1", "longer than 255 bytes"),
        (TEXT.replace(" chan=", f' {"x" * 300}="0" chan='), "line 3", "longer than 254"),
    ],
)
def test_what_no_runtime_can_read_is_an_error_at_its_line(text: str, where: str, words: str) -> None:
    found = errors(dialect_findings(text))
    assert [(finding.where, words in finding.message) for finding in found] == [(where, True)]


def test_step_numbers_must_follow_the_order_of_the_file() -> None:
    swapped = TEXT.replace('s="0"', 's="9"').replace('s="1"', 's="0"').replace('s="9"', 's="1"')
    found = dialect_findings(swapped)
    assert [finding.rule for finding in found] == ["step-number"]
    assert found[0].where == "line 4"


def test_what_single_runtimes_refuse_or_skip_is_a_warning() -> None:
    old = TEXT.replace(' outofplace="1" minBytes="0" maxBytes="0"', "").replace("</gpu>", "<copy/></gpu>")
    found = dialect_findings(old.replace('coll="allreduce"', 'coll="reduce_scatter"').replace("allreduce3", "a&amp;b"))
    assert {finding.severity for finding in found} == {"warning"}
    assert [finding.rule for finding in found] == ["attributes", "attributes", "dialect", "ignored"]
    assert "no outofplace, minBytes, maxBytes" in found[0].message


def test_a_fault_is_told_once_at_its_first_place() -> None:
    found = dialect_findings(TEXT.replace("<step s=", "<step s ="))
    assert [finding.where for finding in found] == ["line 4"]
