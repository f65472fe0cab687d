"""Schedules as JSON: one file holds all that is needed to verify, simulate and lower it.

::

    {
     "schema": "syccl-schedule/1",
     "id": "<SHA-256 of topology hash, demand and made_by>",
     "made_by": {"seed": 0, "size_bytes": 67108864, "version": "0.1.0"},
     "maker": "syccl",
     "demand": {"op": "allgather", "ranks": 2, "chunks": 2, "root": 0},
     "topology": {
      "hash": "<SHA-256 of nodes and links>", "name": "pair",
      "nodes": [[name, "gpu" | "nic" | "switch", server], ...],
      "links": [[source node, destination node, bytes per second, picoseconds], ...]},
     "symmetry": null | {"order": 2, "generators": [{"nodes": [image of every node], "chunks": [...]}, ...]},
     "routes": [[link, ...], ...],
     "transfers": {"chunk": [...], "src": [...], "dst": [...], "route": [...], "reduce": [0 | 1, ...],
      "stage": [...], "order": [...]}}

The demand of alltoallv also has ``"parts": {"source": [...], "target": [...], "size_bytes": [...]}``, a chunk an entry.
Of a symmetry only the generators are stored. The same schedule gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from syccl.collective import ALLTOALLV, Demand, Part, op_named
from syccl.collective.matrix import LARGEST_ENTRY
from syccl.errors import InputError, InternalError
from syccl.schedule.ir import Schedule, Symmetry, Transfers
from syccl.schedule.json_fields import INT32_MAX, Field, parse_document
from syccl.schedule.json_text import lines_text, numbers_text, object_text
from syccl.schedule.json_topology import read_topology, topology_text
from syccl.symmetry.group import Group
from syccl.topology import Topology
from syccl.topology.identity import topology_hash

SCHEMA = "syccl-schedule/1"
LARGEST_TABLE = 2**30
"""Most entries in the table of all elements of a symmetry; more is taken for a damaged file."""

Made = Mapping[str, str | int]


class _Generator(NamedTuple):
    """Where a generator sends every node and every chunk."""

    nodes: NDArray[np.int32]
    chunks: NDArray[np.int32]


def write_json(schedule: Schedule, *, made_by: Made) -> str:
    """Return the text of a schedule file.

    Parameters
    ----------
    schedule
        Explicit or compressed; the form is kept.
    made_by
        What else decided the result: size in bytes, version, seed. No time stamp or duration, so that equal inputs
        give equal bytes.

    Raises
    ------
    InternalError
        When a generator of the symmetry is not among its elements.
    """
    demand, rows = schedule.demand, schedule.transfers
    columns = {name: numbers_text(getattr(rows, name).astype(int)) for name in Transfers.__dataclass_fields__}
    return (
        object_text(
            {
                "schema": json.dumps(SCHEMA),
                "id": json.dumps(_strong_id(topology_hash(schedule.topology), demand, made_by)),
                "made_by": json.dumps(dict(made_by), sort_keys=True),
                "maker": json.dumps(schedule.maker),
                "demand": json.dumps(_demand_record(demand)),
                "topology": topology_text(schedule.topology),
                "symmetry": "null" if schedule.symmetry is None else _symmetry_text(schedule.symmetry),
                "routes": lines_text(json.dumps(route) for route in schedule.routes),
                "transfers": object_text(columns),
            }
        )
        + "\n"
    )


def read_json(text: str, *, source: str, topology: Topology | None = None) -> Schedule:
    """Return the schedule that a file states; whether it is correct is for ``verify_schedule`` to say.

    Parameters
    ----------
    text
        The file's text.
    source
        What to call the file in errors.
    topology
        The cluster, where the caller has it at hand: must be the one in the file, and is used in its place.

    Raises
    ------
    InputError
        When the text is not JSON, a field is missing, unknown or out of range, or an identity does not fit its data.
    """
    names = ("schema", "id", "made_by", "maker", "demand", "topology", "symmetry", "routes", "transfers")
    document = parse_document(text, source)
    if isinstance(document.value, dict) and document.value.get("schema") != SCHEMA:
        document.fail(f"schema is {document.value.get('schema')!r}; this version reads {SCHEMA!r}")
    _, strong_id, made_by, maker, demand_field, cluster, symmetry, routes, transfers = document.members(names)
    stated, graph_id = read_topology(cluster)
    if topology is not None and (topology.nodes, topology.links) != (stated.nodes, stated.links):
        cluster.fail(f"the schedule is for {stated.name!r}, which differs from the given {topology.name!r}")
    used = stated if topology is None else topology
    demand = _read_demand(demand_field, used)
    if strong_id.text() != _strong_id(graph_id, demand, _read_made_by(made_by)):
        strong_id.fail("does not fit topology, demand and made_by; the file was changed by hand")
    paths = tuple(tuple(item.integers(0, len(used.links) - 1).tolist()) for item in routes.items())
    rows = _read_transfers(transfers, demand, len(paths))
    return Schedule(used, demand, paths, rows, _read_symmetry(symmetry, used, demand), maker.text())


def _strong_id(graph_id: str, demand: Demand, made_by: Made) -> str:
    record = {"schema": SCHEMA, "topology": graph_id, "demand": _demand_record(demand), "made_by": dict(made_by)}
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode("ascii")).hexdigest()


def _demand_record(demand: Demand) -> dict[str, object]:
    record: dict[str, object] = {
        "op": demand.op.name,
        "ranks": demand.ranks,
        "chunks": demand.chunks,
        "root": demand.root,
    }
    if demand.is_unequal:
        columns = zip(*demand.parts, strict=True) if demand.parts else ((), (), ())
        record["parts"] = dict(zip(Part._fields, map(list, columns), strict=True))
    return record


def _symmetry_text(symmetry: Symmetry) -> str:
    generators = []
    for nodes in symmetry.group.generators:
        same = (symmetry.group.elements == nodes).all(axis=1)
        if not same.any():
            msg = f"a generator of the symmetry of {symmetry.group.topology.name!r} is not among its elements"
            raise InternalError(msg)
        generators.append(
            object_text({"nodes": numbers_text(nodes), "chunks": numbers_text(symmetry.chunks[same.argmax()])})
        )
    return object_text({"order": str(symmetry.group.order), "generators": lines_text(generators)})


def _read_made_by(field: Field) -> dict[str, str | int]:
    if not isinstance(field.value, dict):
        field.fail("must be an object of strings and whole numbers")
    made: dict[str, str | int] = {}
    for name, value in field.value.items():
        if not isinstance(value, str | int) or isinstance(value, bool):
            field.fail(f"{name} is {value!r}; allowed are strings and whole numbers")
        made[name] = value
    return made


def _read_demand(field: Field, topology: Topology) -> Demand:
    names = ("op", "ranks", "chunks", "root")
    unequal = isinstance(field.value, dict) and field.value.get("op") == ALLTOALLV.name
    op, ranks, chunks, root, *others = field.members((*names, "parts") if unequal else names)
    if ranks.integer(1) != topology.ranks:
        ranks.fail(f"is {ranks.value}, but the topology has {topology.ranks} GPUs")
    try:
        parts = _read_parts(others[0], topology) if unequal else ()
        count = chunks.integer(0 if unequal else 1, INT32_MAX)
        demand = Demand(op_named(op.text()), topology.ranks, count, root.integer(0), parts)
    except InputError as error:
        field.fail(str(error))
    if demand.chunk_ids > INT32_MAX:
        chunks.fail(f"{demand.chunks} is too many; all ranks together have at most {INT32_MAX} chunks")
    return demand


def _read_parts(field: Field, topology: Topology) -> tuple[Part, ...]:
    sources, targets, sizes = field.members(Part._fields)
    first = sources.integers(0, topology.ranks - 1)
    second = targets.integers(0, topology.ranks - 1, count=len(first))
    third = [item.integer(1, LARGEST_ENTRY) for item in sizes.items(len(first))]
    return tuple(Part(*values) for values in zip(first.tolist(), second.tolist(), third, strict=True))


def _read_transfers(field: Field, demand: Demand, routes: int) -> Transfers:
    chunk, src, dst, route, reduce, stage, order = field.members(tuple(Transfers.__dataclass_fields__))
    first = chunk.integers(0, demand.chunk_ids - 1)
    rows, last = len(first), demand.ranks - 1
    return Transfers(
        chunk=first,
        src=src.integers(0, last, count=rows),
        dst=dst.integers(0, last, count=rows),
        route=route.integers(0, routes - 1, count=rows),
        reduce=reduce.integers(0, 1, count=rows).astype(bool),
        stage=stage.integers(-INT32_MAX, INT32_MAX, count=rows),
        order=order.integers(-INT32_MAX, INT32_MAX, count=rows),
    )


def _read_symmetry(field: Field, topology: Topology, demand: Demand) -> Symmetry | None:
    if field.value is None:
        return None
    order_field, generators = field.members(("order", "generators"))
    width = len(topology.nodes) + demand.chunk_ids
    order = order_field.integer(1, max(1, LARGEST_TABLE // width))
    known = [_read_generator(item, len(topology.nodes), demand.chunk_ids) for item in generators.items()]
    elements, chunks = _closure(known, _Generator(_identity(len(topology.nodes)), _identity(demand.chunk_ids)), order)
    if len(elements) != order:
        made = f"more than {order}" if len(elements) > order else str(len(elements))
        order_field.fail(f"is {order}, but the generators make {made} elements")
    group = Group(topology, tuple(generator.nodes for generator in known), np.array(elements, dtype=np.int32))
    return Symmetry(group, np.array(chunks, dtype=np.int32))


def _identity(size: int) -> NDArray[np.int32]:
    return np.arange(size, dtype=np.int32)


def _read_generator(field: Field, nodes: int, chunks: int) -> _Generator:
    images = []
    for member, size in zip(field.members(("nodes", "chunks")), (nodes, chunks), strict=True):
        values = member.integers(0, size - 1, count=size)
        if len(np.unique(values)) < size:
            member.fail(f"is no permutation of 0..{size - 1}: a number stands twice")
        images.append(values)
    return _Generator(*images)


def _closure(
    generators: list[_Generator], identity: _Generator, order: int
) -> tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]]:
    """Return all products of generators on nodes and on chunks; stops when there are more than ``order``."""
    elements, chunks = [identity.nodes], [identity.chunks]
    seen = {identity.nodes.tobytes()}
    done = 0
    while done < len(elements) <= order:
        for generator in generators:
            product = generator.nodes[elements[done]]
            key = product.tobytes()
            if key not in seen:
                seen.add(key)
                elements.append(product)
                chunks.append(generator.chunks[chunks[done]])
        done += 1
    return elements, chunks
