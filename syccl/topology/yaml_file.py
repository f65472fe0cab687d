"""YAML topologies: read from the format of ``docs/topology-format.md``, written in its flat form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from syccl.topology.model import WHOLE, Link, Node, Topology
from syccl.topology.naming import as_pattern
from syccl.topology.yaml_build import build_topology
from syccl.topology.yaml_tree import read_entries

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]*")
_NOT_TEXT = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def read_yaml(text: str, *, source: str) -> Topology:
    """Return the topology that a YAML text states.

    Parameters
    ----------
    text
        The file's text.
    source
        What to call the file in errors; its stem is the topology's name where the file gives none.

    Raises
    ------
    InputError
        When the text is not YAML, or does not state a topology; with file, line, field, the offending value and what
        is allowed.
    """
    file, places = read_entries(text, source=source)
    return build_topology(file, places, name=PurePath(source).stem)


def write_yaml(topology: Topology) -> str:
    """Return a topology in flat form, one node or cable a line; it reads back as the same nodes, links and profile."""
    lines = [f"name: {_text(topology.name)}"] if topology.name else []
    lines += [f"profile: {topology.profile}"] if topology.profile else []
    lines += ["nodes:", *(f"  - {_node(node)}" for node in topology.nodes)]
    names = [_text(as_pattern(node.name)) for node in topology.nodes]
    lines += ["links:" if topology.links else "links: []"]
    lines += [f"  - {entry}" for entry in _links(topology.links, names)]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Return a text as a YAML scalar that reads back as the same text."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if " " <= letter <= "~" else f"\\U{ord(letter):08x}"


def _node(node: Node) -> str:
    traits = node.traits
    server = f", server: {_text(node.server)}" if node.server else ""
    more = f", can: [{', '.join(traits.abilities)}]" if traits.abilities else ""
    more += f", plane: {_text(traits.plane)}" if traits.plane else ""
    more += f", device: {_text(traits.device)}" if traits.device else ""
    more += f', share: "{_exact(traits.share_permille, 1)}%"' if traits.share_permille != WHOLE else ""
    return f"{{kind: {node.kind.value}, names: {_text(as_pattern(node.name))}{server}{more}}}"


def _links(links: tuple[Link, ...], names: list[str]) -> Iterator[str]:
    """Yield one entry a link, or one for a link and the next where they are the two directions of a cable."""
    at = 0
    while at < len(links):
        link = links[at]
        back = link._replace(src=link.dst, dst=link.src)
        both = at + 1 < len(links) and links[at + 1] == back
        values = f"bandwidth: {_exact(link.rate, 9)}GB/s, latency: {_exact(link.latency_ps, 6)}us"
        yield f"{{{'between' if both else 'one_way'}: [{names[link.src]}, {names[link.dst]}], {values}}}"
        at += 2 if both else 1


def _exact(value: int, digits: int) -> str:
    """Return ``value / 10**digits`` as a decimal, exactly."""
    whole, rest = divmod(value, 10**digits)
    return f"{whole}.{rest:0{digits}d}".rstrip("0").rstrip(".")
