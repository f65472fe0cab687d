"""MSCCL runtime XML: the safe form is written for each runtime, every dialect of it is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, NoReturn
from xml.parsers import expat

from syccl.errors import InputError
from syccl.program.ir import Buffer, Program, RankProgram, Slot, Step, StepType, ThreadBlock
from syccl.program.msccl_dialect import dialect_findings as dialect_findings
from syccl.program.targets import EXECUTOR, Target

COLLECTIVES: Final = (
    *("allreduce", "allgather", "reducescatter", "alltoall"),
    *("broadcast", "reduce", "gather", "scatter", "custom", "alltoallv"),
)
"""The values of ``coll`` that are understood; ``reduce_scatter`` is read as ``reducescatter``."""

PROTOCOLS: Final = ("Simple", "LL", "LL128")
MAX_TEXT: Final = 512 * 2**20
"""Longest text read, in characters."""
MAX_DEPTH: Final = 64
"""Deepest nesting read; a program needs four levels."""

_LEVELS = ("algo", "gpu", "tb", "step")
_TYPES = {step_type.value: step_type for step_type in StepType}
_BUFFERS = {buffer.value: buffer for buffer in Buffer}
_FLAGS = {"0": False, "1": True}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,8})\Z")
_BYTES = re.compile(r"(?:0|[1-9][0-9]{0,17}|[1-8][0-9]{18})\Z")
_SAFE_NAME = re.compile(r"[ !#-%'-;=?-~]{0,63}\Z")


def write_xml(program: Program, target: Target = EXECUTOR) -> str:
    """Return the text of a file for a runtime, line by line as ``xml_lines``; errors as there."""
    return "".join(xml_lines(program, target))


def xml_lines(program: Program, target: Target = EXECUTOR) -> Iterator[str]:
    """Yield the lines of a file for a runtime, each with its line feed.

    One element per line, an indent of two blanks a level, double quotes, decimal integers, every attribute that the
    runtime wants in the order of msccl-tools: the form that its hand-written parser reads.

    Raises
    ------
    InputError
        When the name holds what the runtime's parser cannot read back, or it does not know the collective.
    """
    yield _head(program, target)
    for rank in program.ranks:
        yield (
            f'  <gpu id="{rank.rank}" i_chunks="{rank.input_chunks}" o_chunks="{rank.output_chunks}" '
            f's_chunks="{rank.scratch_chunks}">\n'
        )
        for block in rank.blocks:
            yield f'    <tb id="{block.id}" send="{block.send}" recv="{block.recv}" chan="{block.channel}">\n'
            yield from (_step_line(position, step) for position, step in enumerate(block.steps))
            yield "    </tb>\n"
        yield "  </gpu>\n"
    yield "</algo>\n"


def _head(program: Program, target: Target) -> str:
    if not _SAFE_NAME.match(program.name):
        msg = f'program name {program.name!r} cannot be written; use at most 63 ASCII characters without " & < >'
        raise InputError(msg)
    collective = target.spelling(program.collective)
    if collective is None:
        known = ", ".join(name for name, _ in target.spellings)
        msg = f"{target.name} knows no {program.collective}; it has {known}"
        raise InputError(msg)
    out_of_place = f' outofplace="{int(program.out_of_place)}"' if target.reads_out_of_place else ""
    return (
        f'<algo name="{program.name}" proto="{program.protocol}" nchannels="{program.channels}" '
        f'nchunksperloop="{program.chunks}" ngpus="{program.size}" coll="{collective}" '
        f'inplace="{int(program.in_place)}"{out_of_place} '
        f'minBytes="{program.min_bytes}" maxBytes="{program.max_bytes}">\n'
    )


def _step_line(position: int, step: Step) -> str:
    depid, deps = step.depends or (-1, -1)
    return (
        f'      <step s="{position}" type="{step.type.value}" srcbuf="{step.src.buffer.value}" '
        f'srcoff="{step.src.offset}" dstbuf="{step.dst.buffer.value}" dstoff="{step.dst.offset}" cnt="{step.cnt}" '
        f'depid="{depid}" deps="{deps}" hasdep="{int(step.has_dependents)}"/>\n'
    )


def read_xml(text: str, *, source: str) -> Program:
    """Return the program that a runtime file states.

    Attribute order, white space, comments, the declaration, unknown attributes and unknown elements do not
    matter. Ranks and thread blocks come back in order of their ids; ``outofplace``, ``minBytes`` and ``maxBytes``
    may be missing, as in files for the first runtime: then the file serves either in-place or out-of-place calls,
    of any size. The ``s`` numbers are dropped, as by the runtimes, which run steps in the order of the file.

    Parameters
    ----------
    text
        The whole file.
    source
        Its name, for messages.

    Raises
    ------
    InputError
        With file and line: not well-formed, a document type, nested or long beyond reason, a missing attribute, a
        value that is no decimal integer, an unknown step type, buffer, collective or protocol, ranks that are not
        0..ngpus-1.
    """
    if len(text) > MAX_TEXT:
        msg = f"{source}: {len(text)} characters; at most {MAX_TEXT} are read"
        raise InputError(msg)
    reader = _Reader(source)
    try:
        reader.parser.Parse(text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        msg = f"{source}:{error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}"
        raise InputError(msg) from error
    return _program(reader)


class _Integers(dict[str, int]):
    """Decimal integers by their text, remembered."""

    def __missing__(self, text: str) -> int:
        if not _INTEGER.match(text):
            raise KeyError(text)
        self[text] = number = int(text)
        return number


class _Slots(dict[tuple[str, str], Slot]):
    """Slots by the text of buffer and offset, remembered."""

    def __missing__(self, key: tuple[str, str]) -> Slot:
        if not _INTEGER.match(key[1]):
            raise KeyError(key[1])
        self[key] = slot = Slot(_BUFFERS[key[0]], int(key[1]))
        return slot


class _Element(NamedTuple):
    """A start tag: what it says and where."""

    name: str
    attributes: dict[str, str]
    source: str
    line: int

    def fail(self, message: str) -> NoReturn:
        msg = f"{self.source}:{self.line}: {message}"
        raise InputError(msg)

    def integers(self, *names: str) -> tuple[int, ...]:
        for name in names:
            if name not in self.attributes:
                self.fail(f"{self.name} has no attribute {name}; give a decimal integer")
            if not _INTEGER.match(self.attributes[name]):
                self.fail(
                    f"{self.name} has {name}={self.attributes[name]!r}, not a decimal integer (of at most 9 digits); "
                    "write for example 0"
                )
        return tuple(int(self.attributes[name]) for name in names)

    def bytes(self, name: str) -> int:
        text = self.attributes.get(name, "0")
        if not _BYTES.match(text):
            self.fail(f"{self.name} has {name}={text!r}, not a number of bytes; write for example 0")
        return int(text)

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        if name not in self.attributes:
            self.fail(f"{self.name} has no attribute {name}; give one of {', '.join(allowed)}")
        if self.attributes[name] not in allowed:
            self.fail(f"{self.name} has {name}={self.attributes[name]!r}; allowed: {', '.join(allowed)}")
        return self.attributes[name]


class _Reader:
    """Takes the parser's events; ``live`` counts the open elements that mean something, ``depth`` all of them."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.parser = expat.ParserCreate("utf-8")
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.depth = 0
        self.live = 0
        self.integers = _Integers()
        self.slots = _Slots()
        self.algo = self.block = _Element("algo", {}, source, 0)
        self.ranks: list[tuple[_Element, list[ThreadBlock]]] = []
        self.steps: list[Step] = []

    def _element(self, name: str, attributes: dict[str, str]) -> _Element:
        return _Element(name, attributes, self.source, self.parser.CurrentLineNumber)

    def _doctype(self, *_: object) -> None:
        self._element("", {}).fail("a document type (DOCTYPE) is refused; remove it, runtimes cannot read it either")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        depth = self.depth
        self.depth = depth + 1
        if depth == 0 and name != "algo":
            self._element(name, attributes).fail(f"the outermost element is <{name}>; a runtime file starts with <algo")
        if depth >= MAX_DEPTH:
            self._element(name, attributes).fail(f"<{name}> is nested {depth} deep; at most {MAX_DEPTH} are read")
        if depth != self.live or depth >= len(_LEVELS) or name != _LEVELS[depth]:
            return
        self.live = depth + 1
        if depth == 3:
            self._step(attributes)
        elif depth == 2:
            self.block, self.steps = self._element(name, attributes), []
        elif depth == 1:
            self.ranks.append((self._element(name, attributes), []))
        else:
            self.algo = self._element(name, attributes)

    def _end(self, _name: str) -> None:
        self.depth -= 1
        if self.live > self.depth:
            self.live = self.depth
            if self.depth == 2:
                id_, send, recv, channel = self.block.integers("id", "send", "recv", "chan")
                block = ThreadBlock(id_, send, recv, channel, tuple(self.steps), self.block.line)
                self.ranks[-1][1].append(block)

    def _step(self, attributes: dict[str, str]) -> None:
        integers = self.integers
        try:
            depid = integers[attributes["depid"]]
            deps = integers[attributes["deps"]]
            step = Step(
                _TYPES[attributes["type"]],
                self.slots[attributes["srcbuf"], attributes["srcoff"]],
                self.slots[attributes["dstbuf"], attributes["dstoff"]],
                integers[attributes["cnt"]],
                (depid, deps) if depid >= 0 else None,
                _FLAGS[attributes["hasdep"]],
                self.parser.CurrentLineNumber,
            )
        except KeyError:
            _refuse_step(self._element("step", attributes))
        self.steps.append(step)


def _refuse_step(step: _Element) -> NoReturn:
    step.integers("srcoff", "dstoff", "cnt", "depid", "deps")
    if step.attributes.get("type") == "ra":
        step.fail("step type 'ra': no runtime has code for it, the thread block would hang; use rrc or re")
    for name, allowed in (("type", _TYPES), ("srcbuf", _BUFFERS), ("dstbuf", _BUFFERS), ("hasdep", _FLAGS)):
        step.choice(name, tuple(allowed))
    step.fail(f"step cannot be read: {step.attributes}")


def _program(reader: _Reader) -> Program:
    algo = reader.algo
    channels, chunks, in_place = algo.integers("nchannels", "nchunksperloop", "inplace")
    return Program(
        name=algo.attributes.get("name", ""),
        collective=algo.choice("coll", (*COLLECTIVES, "reduce_scatter")).replace("_", ""),
        protocol=algo.choice("proto", PROTOCOLS),
        channels=channels,
        chunks=chunks,
        ranks=_ranks(algo, reader.ranks),
        in_place=in_place != 0,
        out_of_place=in_place == 0 if "outofplace" not in algo.attributes else algo.integers("outofplace")[0] != 0,
        min_bytes=algo.bytes("minBytes"),
        max_bytes=algo.bytes("maxBytes"),
    )


def _ranks(algo: _Element, read: list[tuple[_Element, list[ThreadBlock]]]) -> tuple[RankProgram, ...]:
    (ngpus,) = algo.integers("ngpus")
    ranks: dict[int, RankProgram] = {}
    for gpu, blocks in read:
        rank, inputs, outputs, scratch = gpu.integers("id", "i_chunks", "o_chunks", "s_chunks")
        if rank in ranks:
            gpu.fail(f"gpu id {rank} appears twice, first in line {ranks[rank].line}; give every id once")
        if not 0 <= rank < ngpus:
            gpu.fail(f"gpu id {rank} with ngpus={ngpus}; allowed: 0..{ngpus - 1}")
        ordered = tuple(sorted(blocks, key=lambda block: block.id))
        ranks[rank] = RankProgram(rank, inputs, outputs, scratch, ordered, gpu.line)
    if len(ranks) != ngpus or ngpus < 1:
        missing = next((rank for rank in range(ngpus) if rank not in ranks), 0)
        algo.fail(f"ngpus={ngpus}, but there is no gpu with id {missing}; give every id 0..ngpus-1 once")
    return tuple(ranks[rank] for rank in range(ngpus))
