"""Names of parts: ``gpu:NAME``, ``nic:NAME``, ``switch:NAME``, ``link:A/B``, ``arc:A/B``, ``link:A/B#2``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from syccl.errors import InputError
from syccl.topology.model import Kind, Topology
from syccl.topology.naming import did_you_mean
from syccl.units import clipped

GRAMMAR = (
    "gpu:NAME, nic:NAME, switch:NAME, link:A/B (both directions), arc:A/B (one), link:A/B#2 (one of parallel links)"
)
_KINDS = {kind.value: kind for kind in Kind}
_WHICH = re.compile(r"(.+)#([1-9][0-9]{0,5})\Z")


@dataclass(frozen=True)
class Element:
    """A part of one topology: a node, or the directed links of a cable or of one direction."""

    text: str
    node: int | None
    links: tuple[int, ...]
    """Link ids that the part consists of; of a node, all that touch it."""


def element_of(topology: Topology, text: str) -> Element:
    """Return the part of a topology that a text names.

    Raises
    ------
    InputError
        When the text is not of the grammar, or names nothing in this topology; with names that are near.
    """
    sort, colon, name = text.partition(":")
    if not colon or not name or sort not in {*_KINDS, "link", "arc"}:
        msg = f"{clipped(text)} does not name a part of a topology; write {GRAMMAR}"
        raise InputError(msg)
    if sort in _KINDS:
        return _node(topology, text, _KINDS[sort], name)
    return _links(topology, text, name, both=sort == "link")


def _node(topology: Topology, text: str, kind: Kind, name: str) -> Element:
    found = next((i for i, node in enumerate(topology.nodes) if node.name == name), None)
    if found is None:
        near = did_you_mean(name, [node.name for node in topology.nodes if node.kind is kind])
        _fail(topology, text, f"there is no {kind.value} of that name{near}")
    if topology.nodes[found].kind is not kind:
        _fail(
            topology,
            text,
            f"{name} is a {topology.nodes[found].kind.value}; write {topology.nodes[found].kind.value}:{name}",
        )
    return Element(text, found, tuple(sorted({*topology.out_links[found], *topology.in_links[found]})))


def _links(topology: Topology, text: str, name: str, *, both: bool) -> Element:
    which = _WHICH.match(name)
    ends = _ends(topology, name) or (_ends(topology, which[1]) if which else None)
    chosen = int(which[2]) if which and not _ends(topology, name) else None
    if ends is None:
        known = [node.name for node in topology.nodes]
        parts = (which[1] if which else name).split("/")
        strange = next((part for part in parts if part not in known), parts[0])
        _fail(
            topology,
            text,
            f"write two names of nodes with / between; {strange!r} is none{did_you_mean(strange, known)}",
        )
    ways = [_between(topology, *ends), _between(topology, *reversed(ends))] if both else [_between(topology, *ends)]
    if not any(ways):
        _fail(topology, text, f"no link goes {'between' if both else 'from'} {ends_words(topology, ends, both=both)}")
    if chosen is not None:
        if chosen > max(map(len, ways)):
            _fail(topology, text, f"there are {max(map(len, ways))} parallel links; choose #1..#{max(map(len, ways))}")
        ways = [way[chosen - 1 : chosen] for way in ways]
    return Element(text, None, tuple(sorted(link for way in ways for link in way)))


def ends_words(topology: Topology, ends: tuple[int, int], *, both: bool) -> str:
    """Return two nodes in words."""
    one, other = (topology.nodes[end].name for end in ends)
    return f"{one} {'and' if both else 'to'} {other}"


def _ends(topology: Topology, name: str) -> tuple[int, int] | None:
    """Return the two nodes around one of the slashes, which may be part of names too."""
    ids = {node.name: i for i, node in enumerate(topology.nodes)}
    for match in re.finditer("/", name):
        one, other = name[: match.start()], name[match.end() :]
        if one in ids and other in ids and one != other:
            return ids[one], ids[other]
    return None


def _between(topology: Topology, src: int, dst: int) -> list[int]:
    return [link for link in topology.out_links[src] if topology.links[link].dst == dst]


def _fail(topology: Topology, text: str, problem: str) -> NoReturn:
    msg = f"{clipped(text)} in {topology.name}: {problem}"
    raise InputError(msg)
