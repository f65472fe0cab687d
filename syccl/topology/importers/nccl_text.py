"""The XML in which NCCL and RCCL state a server: read into plain values, with lines for messages.

Liberal where their own parser is strict (prolog, tabs, comments, any number of elements), and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from syccl.errors import InputError
from syccl.units import clipped

if TYPE_CHECKING:
    from lxml.etree import _Element

_DEEPEST = 64
_INNER = {
    "system": {"cpu"},
    "cpu": {"pci", "nic"},
    "pci": {"pci", "gpu", "nic", "pcilink"},
    "gpu": {"nvlink", "xgmi", "c2c"},
    "nic": {"net"},
}
"""Elements that may stand inside each; others hold no structure."""


class Item:
    """One element: its attributes as typed values, its children, its line."""

    def __init__(self, element: _Element, source: str) -> None:
        self.tag = str(element.tag)
        self.line = int(element.sourceline or 0)
        self.source = source
        self._values = dict(element.attrib)
        allowed = _INNER.get(self.tag, set())
        self.children: list[Item] = []
        self.strangers: list[str] = []
        for child in element:
            if not isinstance(child.tag, str):
                continue
            if child.tag in allowed:
                self.children.append(Item(child, source))
            else:
                self.strangers.append(child.tag)

    def of(self, *tags: str) -> Iterator[Item]:
        """Yield the children with one of some tags."""
        return (child for child in self.children if child.tag in tags)

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute, blanks around it removed."""
        return str(self._values.get(name, default)).strip()

    def number(self, name: str, default: int) -> int:
        """Return a whole-number attribute.

        Raises
        ------
        InputError
            When the attribute is there and no whole number.
        """
        text = self.text(name)
        if not text:
            return default
        try:
            return int(text, 0)
        except ValueError:
            self.fail(f"{name}={clipped(text)} is not a whole number")

    def decimal(self, name: str) -> float:
        """Return a decimal attribute, 0 where it is missing.

        Raises
        ------
        InputError
            When the attribute is there and no number from 0 to a million.
        """
        text = self.text(name, "0")
        if not re.fullmatch(r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?", text) or float(text) > 1e6:
            self.fail(f"{name}={clipped(text)} is not a number from 0 to 1000000")
        return float(text)

    def fail(self, problem: str) -> NoReturn:
        """Raise with the place of this element."""
        msg = f"{self.source}:{self.line}: <{self.tag}>: {problem}"
        raise InputError(msg)


def looks_like_nccl(text: str) -> bool:
    """Return whether a text is a topology of NCCL or RCCL."""
    return bool(re.match(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<system\b", text, re.DOTALL))


def read_system(text: str, *, source: str) -> list[Item]:
    """Return the ``<system>`` elements of a text: one, or several hosts' dumps one after the other.

    Raises
    ------
    InputError
        When the text is not XML, nests too deep, has no ``<cpu>``, or is of another schema.
    """
    from lxml import etree

    plain = re.sub(r"<\?xml[^>]*\?>", lambda match: " " * len(match.group()), text)
    if "<!DOCTYPE" in plain or "<!ENTITY" in plain:
        msg = f"{source}: document types and entities are not taken; remove them"
        raise InputError(msg)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, huge_tree=False)
    try:
        root = etree.fromstring(f"<all>{plain}</all>".encode(), parser)
    except etree.XMLSyntaxError as error:
        msg = f"{source}:{error.lineno or 0}: not XML: {error.msg}"
        raise InputError(msg) from None
    if _depth(root) > _DEEPEST:
        msg = f"{source}: elements nest deeper than {_DEEPEST}"
        raise InputError(msg)
    systems = [Item(element, source) for element in root if element.tag == "system"]
    others = [str(element.tag) for element in root if isinstance(element.tag, str) and element.tag != "system"]
    if others or not systems:
        msg = f"{source}: <{others[0] if others else 'nothing'}> where <system> is expected; a topology of NCCL has it"
        raise InputError(msg)
    for system in systems:
        _require_schema(system)
    return systems


def _depth(element: _Element) -> int:
    deepest, queue = 1, [(element, 1)]
    while queue:
        node, depth = queue.pop()
        deepest = max(deepest, depth)
        if depth <= _DEEPEST:
            queue += [(child, depth + 1) for child in node]
    return deepest


def _require_schema(system: Item) -> None:
    """Refuse files that only look like NCCL's, in which nothing stands where NCCL looks for it."""
    if not any(system.of("cpu")):
        inside = f"; <{system.strangers[0]}> is not known there" if system.strangers else ""
        system.fail(f"has no <cpu>, inside which NCCL looks for PCI devices{inside}")
    for item in _all(system):
        wrong = [tag for tag in item.strangers if tag in {"cpu", "pci", "gpu", "nic", "net"}]
        if wrong:
            item.fail(f"has <{wrong[0]}> inside, where NCCL does not look for it; this is another schema")


def _all(item: Item) -> Iterator[Item]:
    yield item
    for child in item.children:
        yield from _all(child)
