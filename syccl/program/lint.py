"""What a runtime would refuse, misread or leave out of a file: everything but whether its result is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from syccl.errors import InputError
from syccl.findings import Finding, capped, errors
from syccl.program.columns import columns
from syccl.program.ir import Program
from syccl.program.limits import limit_findings
from syccl.program.msccl_dialect import dialect_findings
from syccl.program.msccl_xml import PROTOCOLS, read_xml
from syccl.program.raw_xml import Element, children, elements, runtime_integer
from syccl.program.semantics import ROOTED
from syccl.program.structure import block_findings, header_findings, step_findings
from syccl.program.targets import Target

_CHILD: Final = {"algo": "gpu", "gpu": "tb", "tb": "step"}
_REQUIRED: Final = {
    "gpu": ("id", "i_chunks", "o_chunks", "s_chunks"),
    "tb": ("id", "send", "recv", "chan"),
    "step": ("s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"),
}
_WORDS: Final = {"name", "proto", "coll", "type", "srcbuf", "dstbuf"}
_OPTIONAL: Final = {"algo": {"name", "outofplace", "minBytes", "maxBytes", "nthreads"}}
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_WARP = 32
_LONGEST_NAME = 63
_MOST: Final = 5
"""Findings of one rule that are listed one by one for each runtime."""


@dataclass(frozen=True)
class Lint:
    """What was found in a file: each finding with the runtimes that it is about, and the program if it can be read."""

    targets: tuple[Target, ...]
    findings: tuple[tuple[Finding, tuple[str, ...]], ...]
    program: Program | None

    def verdict(self, target: Target) -> str:
        """Return whether a runtime loads the file and runs what it says."""
        wrong = any(finding.severity == "error" and target.name in names for finding, names in self.findings)
        return "no" if wrong or self.program is None else "yes"


def lint(text: str, targets: Sequence[Target], *, source: str) -> Lint:
    """Return what each runtime would refuse, misread or leave out of a file.

    Parameters
    ----------
    text
        The whole file.
    targets
        The runtimes to ask.
    source
        Its name, for messages.
    """
    told: dict[Finding, list[str]] = {}
    program: Program | None = None
    try:
        tree = elements(text, source=source)
        general = [finding for finding in dialect_findings(text) if finding.rule != "attributes"]
    except InputError as error:
        return Lint(tuple(targets), ((_unread(error, source), tuple(target.name for target in targets)),), None)
    refusal: tuple[Finding, ...] = ()
    try:
        program = read_xml(text, source=source)
    except InputError as error:
        refusal = (_unread(error, source),)
    for target in targets:
        raw = [*general, *_raw_findings(tree, target)]
        told_there = {finding.where for finding in errors(raw)}
        unread = [finding for finding in refusal if finding.where not in told_there]
        meaning = unread if program is None else _program_findings(program, target)
        for finding in capped([*raw, *meaning], _MOST):
            told.setdefault(finding, []).append(target.name)
    return Lint(tuple(targets), tuple((finding, tuple(names)) for finding, names in told.items()), program)


def _unread(error: InputError, source: str) -> Finding:
    place, _, message = str(error).removeprefix(f"{source}:").partition(": ")
    where = f"line {place}" if place.isdigit() else ""
    return Finding("error", "unreadable", where, message if where else str(error).removeprefix(f"{source}: "))


def _program_findings(program: Program, target: Target) -> Iterator[Finding]:
    """Yield what the numbers of a program break, in any runtime and in this one."""
    header = [finding for finding in header_findings(program) if finding.rule != "limit"]
    yield from header
    if errors(header):
        return
    table = columns(program)
    general = (*block_findings(program), *step_findings(program, table))
    yield from (finding for finding in general if finding.rule not in {"limit", "chunks"})
    yield from limit_findings(program, table, target)
    if program.collective in ROOTED:
        message = "the root is not part of a file: it is used for every root, and is wrong for all but its own"
        yield Finding("warning", "root", "program", message, "call it with one root only")


def _raw_findings(tree: list[Element], target: Target) -> Iterator[Finding]:
    if tree[0].name != "algo":
        message = f"the first element is <{tree[0].name}>; the runtime looks for <algo> there and crashes"
        yield Finding("error", "structure", f"line {tree[0].line}", message, "begin the file with <algo")
        return
    yield from _head_findings(tree[0], target)
    yield from _rank_ids(tree, target)
    above: list[str] = []
    for element in tree:
        del above[element.depth :]
        meant = element.depth == 0 or (len(above) == element.depth and _CHILD.get(above[-1]) == element.name)
        above += [element.name] if meant else []
        if meant:
            yield from _attribute_findings(element, target)


def _attribute_findings(element: Element, target: Target) -> Iterator[Finding]:
    """Yield attributes that are missing, that mean another number than they seem to, and that nobody reads."""
    where = f"line {element.line}"
    required = target.required if element.name == "algo" else _REQUIRED[element.name]
    for name in required:
        if name not in element.attributes:
            message = f"{element.name} has no attribute {name}, without which the file is refused"
            yield Finding("error", "attributes", where, message, f"add {name}")
    for name, value in element.attributes.items():
        known = name in required or name in _OPTIONAL.get(element.name, ())
        if known and name not in _WORDS and not _DECIMAL.match(value):
            read = runtime_integer(value)
            yield Finding("error", "number", where, f"{name}={value!r} is read as {read}", "write a decimal integer")
        if not known:
            yield Finding("note", "ignored", where, f"{element.name} has {name}={value!r}, which runtimes do not read")


def _head_findings(algo: Element, target: Target) -> Iterator[Finding]:
    where, said = f"line {algo.line}", algo.attributes
    collective = said.get("coll", "")
    spelled = target.spelling(collective.replace("_", ""))
    if "coll" in said and spelled is None:
        known = ", ".join(spelling for _, spelling in target.spellings)
        yield Finding("error", "collective", where, f"coll={collective!r} is unknown", f"it knows {known}")
    elif "coll" in said and spelled != collective:
        message = f"coll={collective!r} is not its spelling"
        yield Finding("error", "collective", where, message, f'write coll="{spelled}"')
    if said.get("proto", PROTOCOLS[0]) not in PROTOCOLS:
        message = f"proto={said['proto']!r} is unknown"
        yield Finding("error", "protocol", where, message, f"write one of {', '.join(PROTOCOLS)}")
    elif collective == "alltoallv":
        message = f"no call of {target.name} runs a file of alltoallv: those that ask for one give a count of 0"
        yield Finding("error", "collective", where, message, "--target msccl makes one for ncclCustomCollective")
    yield from _size_findings(algo, target)
    if target.reads_out_of_place:
        if "nthreads" in said:
            yield Finding("note", "ignored", where, f"nthreads={said['nthreads']!r} is not read")
        return
    yield from _first_runtime_findings(algo)


def _size_findings(algo: Element, target: Target) -> Iterator[Finding]:
    where, said = f"line {algo.line}", algo.attributes
    low, high = (runtime_integer(said.get(name, "0")) for name in ("minBytes", "maxBytes"))
    if "maxBytes" not in said and not target.includes_end:
        message = f"no maxBytes: it takes calls below {target.default_max_bytes} bytes"
        yield Finding("note", "sizes", where, message, "add maxBytes for larger ones")
    elif 0 < high < low or (high <= low and not target.includes_end):
        message = f"no call is taken: minBytes is {low}, maxBytes {high}"
        yield Finding("error", "sizes", where, message, "raise maxBytes")


def _first_runtime_findings(algo: Element) -> Iterator[Finding]:
    """Yield what only microsoft/msccl reads."""
    where, said = f"line {algo.line}", algo.attributes
    in_place = runtime_integer(said.get("inplace", "0")) != 0
    if said.get("coll") == "alltoall":
        if in_place:
            yield Finding("error", "flags", where, "msccl refuses an alltoall in place", 'write inplace="0"')
        if "2D" in said.get("name", ""):
            message = f"an alltoall named {said['name']!r}: 2D in the name makes msccl run its own algorithm instead"
            yield Finding("error", "name", where, message, "choose another name")
    if len(said.get("name", "")) > _LONGEST_NAME:
        yield Finding("note", "name", where, f"the name is cut to {_LONGEST_NAME} characters")
    if runtime_integer(said.get("nthreads", "0")) % _WARP:
        message = f"nthreads={said['nthreads']!r} is no multiple of {_WARP}: msccl refuses the file"
        yield Finding("error", "threads", where, message, f"write a multiple of {_WARP}")
    if in_place and runtime_integer(said.get("outofplace", "0")):
        message = "outofplace is not read: the file is for calls in place only"
        yield Finding("warning", "flags", where, message, 'give a second file with inplace="0" for the others')


def _rank_ids(tree: list[Element], target: Target) -> Iterator[Finding]:
    """Yield ranks that are missing, come twice, or are no rank of the communicator."""
    ranks = runtime_integer(tree[0].attributes.get("ngpus", "0"))
    seen: dict[int, int] = {}
    for gpu in (element for element in children(tree, 0) if element.name == "gpu"):
        rank = runtime_integer(gpu.attributes.get("id", ""))
        if rank in seen:
            message = f"gpu id {rank} came in line {seen[rank]} already: both are mixed"
            yield Finding("error", "ranks", f"line {gpu.line}", message, "give every id once")
        elif not 0 <= rank < ranks:
            message = f"gpu id {rank} is never loaded: ngpus is {ranks}"
            yield Finding("error", "ranks", f"line {gpu.line}", message, f"use ids 0..{ranks - 1}")
        seen.setdefault(rank, gpu.line)
    missing = [rank for rank in range(min(ranks, 2**16)) if rank not in seen]
    if missing:
        message = f"no gpu with id {missing[0]}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        yield Finding("error", "ranks", f"line {tree[0].line}", f"{message}: these ranks launch nothing", "add them")
