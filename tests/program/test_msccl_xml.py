from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import InputError
from syccl.program.ir import Buffer, Program, RankProgram, Slot, Step, StepType, ThreadBlock
from syccl.program.msccl_dialect import dialect_findings
from syccl.program.msccl_xml import COLLECTIVES, PROTOCOLS, read_xml, write_xml
from syccl.program.targets import EXECUTOR
from tests.program.programs import allpairs_allreduce, direct_allgather

TWO_RANKS = """\
<algo name="allgather2" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="1" \
outofplace="1" minBytes="0" maxBytes="0">
  <gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
"""


def without_lines(program: Program) -> dict[str, object]:
    ranks = tuple(
        replace(
            rank,
            line=0,
            blocks=tuple(
                replace(block, line=0, steps=tuple(step._replace(line=0) for step in block.steps))
                for block in rank.blocks
            ),
        )
        for rank in program.ranks
    )
    values = {field.name: getattr(program, field.name) for field in fields(program)}
    return values | {"ranks": ranks}


numbers = st.integers(-9, 999_999_999)
small = st.integers(-2, 80)
slots = st.builds(Slot, st.sampled_from(Buffer), small)
steps = st.builds(
    Step,
    st.sampled_from(StepType),
    slots,
    slots,
    small,
    st.none() | st.tuples(st.integers(0, 200), small),
    st.booleans(),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Any program that can be written down, sense or not, ids in order."""
    ranks = []
    for rank in range(draw(st.integers(1, 3))):
        blocks = tuple(
            ThreadBlock(id_, draw(small), draw(small), draw(small), tuple(draw(st.lists(steps, max_size=4))))
            for id_ in range(draw(st.integers(0, 3)))
        )
        ranks.append(RankProgram(rank, draw(numbers), draw(numbers), draw(numbers), blocks))
    return Program(
        draw(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"&<>'), max_size=20)),
        draw(st.sampled_from([name for name in COLLECTIVES if EXECUTOR.spelling(name)])),
        draw(st.sampled_from(PROTOCOLS)),
        draw(numbers),
        draw(numbers),
        tuple(ranks),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.integers(0, 2**62)),
        draw(st.integers(0, 2**62)),
    )


@given(programs())
def test_reading_what_was_written_gives_the_same_program(program: Program) -> None:
    assert without_lines(read_xml(write_xml(program), source="made")) == without_lines(program)


@given(programs())
def test_written_files_are_in_the_form_that_runtimes_read(program: Program) -> None:
    assert dialect_findings(write_xml(program)) == ()


def test_the_written_form_is_exact() -> None:
    assert write_xml(direct_allgather(2)) == TWO_RANKS


def test_lines_of_ranks_blocks_and_steps_are_kept() -> None:
    program = read_xml(TWO_RANKS, source="two.xml")
    rank = program.ranks[1]
    assert (rank.line, rank.blocks[1].line, rank.blocks[1].steps[1].line) == (11, 15, 17)


def test_dependences_are_written_as_depid_and_deps() -> None:
    text = write_xml(allpairs_allreduce(3))
    assert 'type="nop" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="0" depid="0" deps="1" hasdep="0"/>' in text
    assert 'depid="2" deps="3" hasdep="0"/>' in text


@pytest.mark.parametrize(
    "text",
    [
        TWO_RANKS.replace("\n", "\r\n"),
        TWO_RANKS.replace("\n", ""),
        TWO_RANKS.replace("  ", "\t"),
        TWO_RANKS.replace('="', ' = "'),
        '<?xml version="1.0" encoding="latin-1"?>\n<!-- made by hand -->\n' + TWO_RANKS,
        "\ufeff" + TWO_RANKS,
        TWO_RANKS.replace("</gpu>", "<copy i_off='0' o_off='0'><step/></copy></gpu>"),
        TWO_RANKS.replace('type="s" srcbuf="i"', 'srcbuf="i" more="1" type="s"'),
        TWO_RANKS.replace('"', "'"),
    ],
    ids=["crlf", "one line", "tabs", "blanks", "declaration", "bom", "unknown element", "order", "single quotes"],
)
def test_the_form_does_not_change_what_is_read(text: str) -> None:
    assert without_lines(read_xml(text, source="two.xml")) == without_lines(direct_allgather(2))


def test_ranks_and_blocks_come_back_in_order_of_their_ids() -> None:
    swapped = TWO_RANKS.replace('tb id="0"', 'tb id="9"').replace('tb id="1"', 'tb id="0"').replace('id="9"', 'id="1"')
    assert [block.id for block in read_xml(swapped, source="x").ranks[0].blocks] == [0, 1]
    swapped = TWO_RANKS.replace('gpu id="0"', 'gpu id="9"').replace('gpu id="1"', 'gpu id="0"').replace('"9"', '"1"')
    assert [rank.line for rank in read_xml(swapped, source="x").ranks] == [11, 2]


def test_the_first_dialect_has_no_outofplace_and_no_sizes() -> None:
    old = TWO_RANKS.replace(' outofplace="1" minBytes="0" maxBytes="0"', "")
    program = read_xml(old, source="old.xml")
    assert (program.in_place, program.out_of_place, program.min_bytes, program.max_bytes) == (True, False, 0, 0)
    program = read_xml(old.replace('inplace="1"', 'inplace="0"'), source="old.xml")
    assert (program.in_place, program.out_of_place) == (False, True)


def test_reduce_scatter_is_read_and_reducescatter_written() -> None:
    program = read_xml(TWO_RANKS.replace("allgather", "reduce_scatter"), source="x")
    assert program.collective == "reducescatter"
    assert 'coll="reducescatter"' in write_xml(program)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('cnt="1"', 'cnt="one"', r"f\.xml:4: step has cnt='one', not a decimal integer"),
        ('cnt="1"', 'cnt="010"', r"f\.xml:4: step has cnt='010', not a decimal integer"),
        ('cnt="1"', 'cnt="0x1"', r"f\.xml:4: step has cnt='0x1', not a decimal integer"),
        ('cnt="1"', 'cnt=""', r"f\.xml:4: step has cnt='', not a decimal integer"),
        ('cnt="1"', 'cnt="12345678901"', r"f\.xml:4: .*at most 9 digits"),
        (' srcoff="0"', "", r"f\.xml:4: step has no attribute srcoff"),
        ('srcoff="0"', 'srcoff="x"', r"f\.xml:4: step has srcoff='x'"),
        ('type="cpy"', 'type="move"', r"f\.xml:4: step has type='move'; allowed: s, r, "),
        ('type="cpy"', 'type="ra"', r"f\.xml:4: step type 'ra'.*use rrc or re"),
        (' type="cpy"', "", r"f\.xml:4: step has no attribute type"),
        ('srcbuf="i"', 'srcbuf="x"', r"f\.xml:4: step has srcbuf='x'; allowed: i, o, s"),
        ('hasdep="0"', 'hasdep="2"', r"f\.xml:4: step has hasdep='2'; allowed: 0, 1"),
        ('chan="0"', 'chan="2.25"', r"f\.xml:3: tb has chan='2\.25'"),
        (' send="-1"', "", r"f\.xml:3: tb has no attribute send"),
        (' s_chunks="0"', "", r"f\.xml:2: gpu has no attribute s_chunks"),
        ('coll="allgather"', 'coll="sendrecv"', r"f\.xml:1: algo has coll='sendrecv'; allowed: allreduce, "),
        ('proto="Simple"', 'proto="simple"', r"f\.xml:1: algo has proto='simple'; allowed: Simple, LL, LL128"),
        ('maxBytes="0"', 'maxBytes="-1"', r"f\.xml:1: algo has maxBytes='-1', not a number of bytes"),
        (' inplace="1"', "", r"f\.xml:1: algo has no attribute inplace"),
        ('ngpus="2"', 'ngpus="3"', r"f\.xml:1: ngpus=3, but there is no gpu with id 2"),
        ('ngpus="2"', 'ngpus="1"', r"f\.xml:11: gpu id 1 with ngpus=1; allowed: 0\.\.0"),
        ('ngpus="2"', 'ngpus="0"', r"f\.xml:\d+: .*ngpus=0"),
        ('gpu id="1"', 'gpu id="0"', r"f\.xml:11: gpu id 0 appears twice, first in line 2"),
        ("    </tb>\n", "", r"f\.xml:\d+: not well-formed XML: mismatched tag"),
        ("</algo>", "</algo>\nRank 0 is incorrect", r"f\.xml:\d+: not well-formed XML: junk after document element"),
        ("<algo", "<root><algo", r"f\.xml:1: the outermost element is <root>"),
        ("<algo", '<!DOCTYPE x [<!ENTITY a "b">]><algo', r"f\.xml:1: a document type \(DOCTYPE\) is refused"),
        ("<gpu", "<x>" * 70 + "<gpu", r"f\.xml:2: <x> is nested \d+ deep; at most 64"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(old: str, new: str, message: str) -> None:

    with pytest.raises(InputError, match=message):
        read_xml(TWO_RANKS.replace(old, new, 1), source="f.xml")


@pytest.mark.parametrize("name", ['a"b', "a&b", "a<b", "ä", "line\nbreak", "x" * 64])
def test_names_that_runtimes_cannot_read_are_not_written(name: str) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_xml(replace(direct_allgather(2), name=name))
