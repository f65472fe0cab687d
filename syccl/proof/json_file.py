"""Proofs of lower bounds as JSON: one file holds all that is needed to check the claim.

::

    {
     "schema": "syccl-bound/1",
     "claim": "no schedule takes 7254000 ps or less",
     "op": "allreduce", "size_bytes": 262144, "root": 0,
     "topology": {as in schedules},
     "grid": [0, 700000, ..., 7254000],
     "symmetry": [[image of every node], ...],
     "links": [{"links": [...], "price": [one an interval]}, ...],
     "families": [{"symmetry": [...], "flows": [{"source": 0, "sink": 8,
       "prices": [{"ways": [...], "price": [one an interval]}, ...]}, ...]}, ...],
     "completion": null | {"part": [one a rank], "times": [...],
       "shared": [{"ways": [...], "price": [...]}, ...],
       "before": [{"class": 0, "rank": 0, "prices": [as of flows]}, ...], "after": [as before]}}

Links are numbered as in the topology. Ways are all paths from GPU to GPU that pass no GPU and no node twice, numbered
by the rank that they start from, then by their links' numbers. For an alltoallv, ``"matrix"`` has a row of bytes for
each sender. What is not listed costs nothing. docs/bounds.md says
what makes this a proof.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import numpy as np

from syccl.collective import ALLTOALLV, op_named
from syccl.collective.matrix import LARGEST_ENTRY
from syccl.errors import InputError
from syccl.proof.model import Certificate, Completion, Family, Flow, Longs, Priced, Share
from syccl.schedule.json_fields import Field, parse_document
from syccl.schedule.json_text import lines_text, numbers_text, object_text
from syccl.schedule.json_topology import read_topology, topology_text

SCHEMA = "syccl-bound/1"
_NAMES = (
    "schema",
    "claim",
    "op",
    "size_bytes",
    "root",
    "topology",
    "grid",
    "symmetry",
    "links",
    "families",
    "completion",
)
_LARGEST = 1 << 62


def write_certificate(certificate: Certificate) -> str:
    """Return the text of a proof's file."""
    stated = certificate
    members = {
        "schema": json.dumps(SCHEMA),
        "claim": json.dumps(claim(stated)),
        "op": json.dumps(stated.op.name),
        "size_bytes": str(stated.size_bytes),
        "root": str(stated.root),
        "topology": topology_text(stated.topology),
        "grid": numbers_text(stated.grid),
        "symmetry": lines_text(map(numbers_text, stated.symmetry)),
        "links": _priced_text("links", stated.links),
        "families": lines_text(map(_family_text, stated.families)),
        "completion": "null" if stated.completion is None else _completion_text(stated.completion),
    }
    if stated.op == ALLTOALLV:
        members["matrix"] = lines_text(numbers_text(np.array(row, dtype=np.int64)) for row in stated.matrix)
    return object_text(members) + "\n"


def claim(certificate: Certificate) -> str:
    """Return in words what a proof claims."""
    return f"no schedule takes {certificate.time_ps} ps or less"


def is_certificate(text: str) -> bool:
    """Return whether a text looks like the file of a proof."""
    return f'"schema": "{SCHEMA.split("/", maxsplit=1)[0]}/' in text[:4096]


def read_certificate(text: str, *, source: str) -> Certificate:
    """Return what the file of a proof states; whether it holds is for ``verify_certificate`` to say.

    Raises
    ------
    InputError
        When the text is not JSON, a field is missing or unknown or of a wrong kind, or the claim is not the grid's end.
    """
    document = parse_document(text, source)
    if isinstance(document.value, dict) and document.value.get("schema") != SCHEMA:
        document.fail(f"schema is {document.value.get('schema')!r}; this version reads {SCHEMA!r}")
    unequal = isinstance(document.value, dict) and document.value.get("op") == ALLTOALLV.name
    names = (*_NAMES, "matrix") if unequal else _NAMES
    _, said, op, size, root, cluster, grid, symmetry, links, families, completion, *rest = document.members(names)
    topology, _ = read_topology(cluster)
    try:
        kind = op_named(op.text())
    except InputError as error:
        op.fail(str(error))
    stated = Certificate(
        topology,
        kind,
        size.integer(1),
        root.integer(0),
        grid.longs(0, _LARGEST),
        _read_moves(symmetry, len(topology.nodes)),
        _read_priced(links, "links"),
        tuple(_read_family(item, len(topology.nodes)) for item in families.items()),
        None if completion.value is None else _read_completion(completion),
        tuple(tuple(row.longs(0, LARGEST_ENTRY).tolist()) for matrix in rest for row in matrix.items()),
    )
    if not len(stated.grid) or said.text() != claim(stated):
        said.fail("does not fit the end of the grid; the file was changed by hand")
    return stated


def _priced_text(name: str, rows: Iterable[Priced]) -> str:
    return lines_text(object_text({name: numbers_text(row.ids), "price": numbers_text(row.price)}) for row in rows)


def _family_text(family: Family) -> str:
    flows = (
        object_text({"source": str(flow.source), "sink": str(flow.sink), "prices": _priced_text("ways", flow.prices)})
        for flow in family.flows
    )
    return object_text({"symmetry": lines_text(map(numbers_text, family.symmetry)), "flows": lines_text(flows)})


def _completion_text(stated: Completion) -> str:
    members = {
        "part": numbers_text(stated.part),
        "times": numbers_text(stated.times),
        "shared": _priced_text("ways", stated.shared),
        "before": lines_text(map(_share_text, stated.before)),
        "after": lines_text(map(_share_text, stated.after)),
    }
    return object_text(members)


def _share_text(share: Share) -> str:
    return object_text(
        {"class": str(share.number), "rank": str(share.rank), "prices": _priced_text("ways", share.prices)}
    )


def _read_completion(field: Field) -> Completion:
    part, times, shared, before, after = field.members(("part", "times", "shared", "before", "after"))
    return Completion(
        part.longs(0, _LARGEST),
        times.longs(0, _LARGEST),
        _read_priced(shared, "ways"),
        tuple(map(_read_share, before.items())),
        tuple(map(_read_share, after.items())),
    )


def _read_share(field: Field) -> Share:
    number, rank, prices = field.members(("class", "rank", "prices"))
    return Share(number.integer(0), rank.integer(0), _read_priced(prices, "ways"))


def _read_moves(field: Field, nodes: int) -> tuple[Longs, ...]:
    return tuple(item.longs(0, nodes - 1, count=nodes) for item in field.items())


def _read_priced(field: Field, name: str) -> tuple[Priced, ...]:
    rows = []
    for item in field.items():
        ids, price = item.members((name, "price"))
        rows.append(Priced(ids.longs(0, _LARGEST), price.longs(0, _LARGEST)))
    return tuple(rows)


def _read_family(field: Field, nodes: int) -> Family:
    symmetry, flows = field.members(("symmetry", "flows"))
    found = []
    for item in flows.items():
        source, sink, prices = item.members(("source", "sink", "prices"))
        found.append(Flow(source.integer(0), sink.integer(0), _read_priced(prices, "ways")))
    return Family(_read_moves(symmetry, nodes), tuple(found))
