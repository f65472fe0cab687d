"""Edge lists in JSON: the plainest way to state a graph.

::

    {"name": "pair", "gpus": ["a", "b"], "switches": [], "links": [["a", "b", 25, 0.7], ["b", "a", 25, 0.7]]}

Each link is one direction: source, destination, bandwidth in GB/s (1e9 bytes per second), latency in
microseconds. GPUs come first in node order, so rank ``i`` is the ``i``-th entry of ``gpus``.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import NoReturn

from syccl.documents import parse_json
from syccl.errors import InputError
from syccl.topology.model import Kind, Link, Node, Topology
from syccl.topology.naming import did_you_mean, is_name, shown
from syccl.units import clipped

_FIELDS = ("name", "gpus", "switches", "links")
_BYTES_PER_GB = 1e9
_PS_PER_US = 1e6
_LARGEST = 1e9
"""Largest bandwidth (GB/s) and latency (us) taken; more is a slip of the unit."""


def read_edge_list(text: str, *, source: str) -> Topology:
    """Return the topology that an edge list in JSON states.

    Parameters
    ----------
    text
        The file's text: an object with ``gpus`` and ``links``, optionally ``switches`` and ``name``.
    source
        What to call the file in errors; its stem is the topology's name where the file states none.

    Raises
    ------
    InputError
        When the text is not JSON, a field is missing, unknown or of the wrong form, a link names an undeclared
        node, or a number is out of range.
    """
    data = _parse(text, source)
    for field in data:
        if field not in _FIELDS:
            _fail(source, field, f"unknown field; an edge list has {', '.join(_FIELDS)}{did_you_mean(field, _FIELDS)}")
    name = data.get("name", PurePath(source).stem)
    if not is_name(name):
        _fail(source, "name", f"{clipped(name)} is not a string of printable characters")
    gpus = [Node(gpu, Kind.GPU) for gpu in _names(data, "gpus", source)]
    switches = [Node(switch, Kind.SWITCH) for switch in _names(data, "switches", source)]
    nodes = (*gpus, *switches)
    ids = {node.name: i for i, node in enumerate(nodes)}
    links = tuple(_link(entry, ids, f"links[{i}]", source) for i, entry in enumerate(_list(data, "links", source)))
    try:
        return Topology(name, nodes, links)
    except InputError as error:
        msg = f"{source}: {error}"
        raise InputError(msg) from None


def _parse(text: str, source: str) -> dict[str, object]:
    data = parse_json(text, source)
    if not isinstance(data, dict):
        msg = f"{source}: an edge list is a JSON object with gpus and links, not a {type(data).__name__}"
        raise InputError(msg)
    return data


def _fail(source: str, field: str, problem: str) -> NoReturn:
    msg = f"{source}: {shown(field)}: {problem}"
    raise InputError(msg)


def _list(data: dict[str, object], field: str, source: str) -> list[object]:
    value = data.get(field, [] if field == "switches" else None)
    if not isinstance(value, list):
        _fail(source, field, "must be a list" if field in data else "is missing; an edge list has gpus and links")
    return value


def _names(data: dict[str, object], field: str, source: str) -> list[str]:
    names = []
    for i, name in enumerate(_list(data, field, source)):
        if not is_name(name):
            _fail(source, f"{field}[{i}]", f"{clipped(name)} is not a node name; write a printable string")
        names.append(name)
    return names


def _link(entry: object, ids: dict[str, int], field: str, source: str) -> Link:
    if not isinstance(entry, list) or len(entry) != 4:
        _fail(source, field, f"{clipped(entry)} is not a link; write [source, destination, GB/s, us]")
    for name in entry[:2]:
        if not isinstance(name, str) or name not in ids:
            _fail(source, field, f"node {clipped(name)} is not declared{did_you_mean(str(name), ids)}")
    if entry[0] == entry[1]:
        _fail(source, field, f"joins {entry[0]!r} to itself; a link joins two different nodes")
    rate = round(_number(entry[2], field, source) * _BYTES_PER_GB)
    if rate < 1:
        _fail(source, field, f"bandwidth {entry[2]!r} {'is below 1 B/s' if entry[2] else 'must be positive, in GB/s'}")
    latency_ps = _number(entry[3], field, source) * _PS_PER_US
    if 0 < latency_ps < 1:
        _fail(source, field, f"latency {entry[3]!r} us is below 1 ps and not 0")
    return Link(ids[entry[0]], ids[entry[1]], rate, round(latency_ps))


def _number(value: object, field: str, source: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        _fail(source, field, f"{clipped(value)} is not a number from 0 to {_LARGEST:g}; write GB/s, then us")
    return value
