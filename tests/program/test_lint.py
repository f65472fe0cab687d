"""What runtimes refuse, misread or leave out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syccl.program.lint import Lint, lint
from syccl.program.msccl_xml import write_xml
from syccl.program.selection import addressed
from syccl.program.targets import EXECUTOR, MSCCL, RCCL, TARGETS, Target
from tests.program.programs import allpairs_allreduce, direct_allgather, ring_allreduce

NAMES = tuple(target.name for target in TARGETS)
GATHER = write_xml(direct_allgather(2))
SUM = write_xml(ring_allreduce(3))


def found(text: str, *targets: Target) -> Lint:
    return lint(text, targets or TARGETS, source="f.xml")


def usable(text: str) -> str:
    result = found(text)
    return " ".join(result.verdict(target) for target in TARGETS)


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_what_is_written_for_a_runtime_passes(target: Target) -> None:
    for program in (direct_allgather(2), allpairs_allreduce(3)):
        text = write_xml(addressed(program, target, last_bytes=1 << 20), target)
        assert [f for f, _ in found(text, target).findings if f.severity != "note"] == []


def test_a_file_of_receiving_sums_is_nothing_for_rccl() -> None:
    result = found(SUM)
    (finding, names) = next((f, names) for f, names in result.findings if f.rule == "type")
    assert names == ("rccl",)
    assert finding.message == "type rcs, in 3 steps; its kernels run only s, r, cpy, re, nop"
    assert finding.where == "rank 0 tb 0 step 3 (line 7)"
    assert finding.remedy == "lower it again: --target rccl"
    assert usable(SUM) == "yes no no"


@pytest.mark.parametrize(
    ("old", "new", "rule", "line", "said", "about"),
    [
        (' minBytes="0"', "", "attributes", 1, "no attribute minBytes", "msccl-executor-nccl rccl"),
        (' name="allgather2"', "", "attributes", 1, "no attribute name", "msccl"),
        ('coll="allgather"', 'coll="all_gather"', "collective", 1, "'all_gather' is not its spelling", ""),
        ('coll="allgather"', 'coll="custom"', "collective", 1, "'custom' is unknown", "msccl-executor-nccl rccl"),
        ('coll="allgather"', 'coll="reducescatter"', "collective", 1, "is not its spelling", "msccl"),
        ('proto="Simple"', 'proto="simple"', "protocol", 1, "'simple' is unknown", ""),
        ('maxBytes="0"', 'maxBytes="0x10"', "number", 1, "is read as 16", ""),
        ('maxBytes="0"', 'maxBytes="010"', "number", 1, "is read as 8", ""),
        ('maxBytes="0"', 'maxBytes="0"', "sizes", 1, "no call is taken: minBytes is 0, maxBytes 0", "msccl"),
        (' maxBytes="0"', "", "sizes", 1, "no maxBytes: it takes calls below 134217728", "msccl"),
        ('minBytes="0" maxBytes="0"', 'minBytes="9" maxBytes="8"', "sizes", 1, "no call is taken", ""),
        ('maxBytes="0"', 'maxBytes="0" redop="sum"', "ignored", 1, "redop='sum', which runtimes do not read", ""),
        ('maxBytes="0"', 'maxBytes="0" nthreads="50"', "threads", 1, "no multiple of 32", "msccl"),
        ('maxBytes="0"', 'maxBytes="0" nthreads="64"', "ignored", 1, "nthreads='64'", "msccl-executor-nccl rccl"),
        ('outofplace="1"', 'outofplace="1"', "flags", 1, "outofplace is not read", "msccl"),
        ('nchannels="1"', 'nchannels="40"', "channels", 0, "allowed are 1..32", "msccl-executor-nccl msccl"),
        ('id="1" i_chunks="1"', 'id="7" i_chunks="1"', "ranks", 11, "gpu id 7 is never loaded: ngpus is 2", ""),
        ('id="1" i_chunks="1"', 'id="0" i_chunks="1"', "ranks", 11, "gpu id 0 came in line 2 already", ""),
        ('id="1" i_chunks="1"', 'id="1" i_chunks="4"', "chunks", 11, "i_chunks is 4, but allgather of 2", "msccl"),
        ('cnt="1"', 'cnt="1x"', "number", 4, "cnt='1x' is read as 1", ""),
        ('cnt="1"', 'cnt="72"', "count", 4, "cnt 72; it takes 71", ""),
        ('hasdep="0"', 'hasdep="0" when="now"', "ignored", 4, "step has when='now'", ""),
        (' hasdep="0"', "", "attributes", 4, "step has no attribute hasdep", ""),
        ('type="s"', 'type="ra"', "unreadable", 7, "no runtime has code for it", ""),
        ("<algo", "<!--a=b--><algo", "dialect", 1, "a comment whose first word holds '='", ""),
        ("</algo>", "</algo", "unreadable", 20, "not well-formed XML", ""),
        ("<gpu", "<copy/><gpu", "ignored", 2, "element <copy>", ""),
    ],
)
def test_every_fault_has_its_rule_line_and_runtimes(
    old: str, new: str, rule: str, line: int, said: str, about: str
) -> None:
    assert old in GATHER
    matching = [
        (finding, names)
        for finding, names in found(GATHER.replace(old, new, 1)).findings
        if finding.rule == rule and said in finding.message
    ]
    assert matching, found(GATHER.replace(old, new, 1)).findings
    finding, names = matching[0]
    assert (f"line {line}" in finding.where) or not line
    assert " ".join(names) == (about or " ".join(NAMES))


def test_blocks_beyond_the_tables_and_beyond_the_multiprocessors() -> None:
    def rules(target: Target) -> set[tuple[str, str]]:
        text = write_xml(direct_allgather(70))
        return {(finding.severity, finding.rule) for finding, _ in found(text, target).findings}

    assert ("error", "blocks") in rules(RCCL)
    assert ("error", "peers") in rules(EXECUTOR)
    assert ("warning", "multiprocessors") in rules(replace(EXECUTOR, blocks=60))
    assert ("warning", "multiprocessors") not in rules(EXECUTOR)


def test_a_broadcast_is_used_for_every_root() -> None:
    text = GATHER.replace("allgather", "broadcast")
    assert ("warning", "root") in {(finding.severity, finding.rule) for finding, _ in found(text, MSCCL).findings}


def test_of_many_faults_the_first_are_listed_and_the_rest_counted() -> None:
    text = GATHER.replace('cnt="1"', 'cnt="01"')
    told = [str(finding) for finding, _ in found(text, EXECUTOR).findings if finding.rule == "number"]
    assert told[0] == "error[number]: line 4: cnt='01' is read as 1; write a decimal integer"
    assert told[-1] == f"error[number]: {text.count('01') - 5} more of this kind"
