"""A runtime file as elements with lines: what is written, before anybody says what it means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.parsers import expat

from syccl.errors import InputError

_NUMBER = re.compile(r"\s*([+-]?)(0[xX](?=[0-9a-fA-F])|0|)([0-9a-fA-F]*)")
_LONG = 2**63


class Element(NamedTuple):
    """A start tag."""

    name: str
    line: int
    attributes: dict[str, str]
    depth: int


def elements(text: str, *, source: str) -> list[Element]:
    """Return the start tags of a file in its order.

    Raises
    ------
    InputError
        When it is not well-formed, or has a document type.
    """
    parser = expat.ParserCreate("utf-8")
    found: list[Element] = []
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        found.append(Element(name, parser.CurrentLineNumber, attributes, depth))
        depth += 1

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def doctype(*_: object) -> None:
        msg = f"{source}:{parser.CurrentLineNumber}: a document type (DOCTYPE), which no runtime reads"
        raise InputError(msg)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        msg = f"{source}:{error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}"
        raise InputError(msg) from error
    return found


def runtime_integer(text: str) -> int:
    """Return the number that a runtime reads, C's ``strtol(text, NULL, 0)``: 0x is hexadecimal, a leading 0 octal.

    What follows the digits is left aside, and no digits are 0.
    """
    match = _NUMBER.match(text)
    sign, prefix, digits = match.groups() if match else ("", "", "")
    base = 16 if len(prefix) == 2 else 8 if prefix else 10
    allowed = "0123456789abcdef"[:base]
    value = 0
    for digit in digits.lower():
        if digit not in allowed:
            break
        value = min(value * base + allowed.index(digit), _LONG)
    return max(-value, -_LONG) if sign == "-" else min(value, _LONG - 1)


def children(found: list[Element], parent: int) -> Iterator[Element]:
    """Yield the elements just inside the one of that index."""
    depth = found[parent].depth
    for element in found[parent + 1 :]:
        if element.depth <= depth:
            return
        if element.depth == depth + 1:
            yield element
