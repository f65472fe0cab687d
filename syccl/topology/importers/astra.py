"""ASTRA-sim's analytical networks: dimensions, each a ring, a switch or fully connected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, product
from typing import NoReturn

import yaml

from syccl.errors import InputError
from syccl.topology.importers.draft import Draft, Imported
from syccl.topology.model import Kind
from syccl.units import clipped

_FIELDS = ("topology", "npus_count", "bandwidth", "latency")
_SHAPES = ("Ring", "Switch", "FullyConnected")
_MOST_GPUS = 100_000


def looks_like_astra(text: str) -> bool:
    """Return whether a text is such a network."""
    return all(re.search(rf"^{field}\s*:", text, re.MULTILINE) for field in ("topology", "npus_count"))


def import_astra(text: str, *, source: str, name: str) -> Imported:
    """Return the network: bandwidth in GB/s a link and direction, latency in ns; of a switch, of each of its links.

    The first dimension runs fastest, as ASTRA-sim numbers NPUs.

    Raises
    ------
    InputError
        When a field is missing or not a list of known values, one a dimension.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        msg = f"{source}: not YAML: {str(error).splitlines()[0]}"
        raise InputError(msg) from None
    if not isinstance(data, dict):
        _fail(source, "topology", "the file must have the fields " + ", ".join(_FIELDS))
    shapes, counts, rates, latencies = (_list(data, field, source) for field in _FIELDS)
    if not len(shapes) == len(counts) == len(rates) == len(latencies):
        _fail(source, "npus_count", "all four lists must have one entry a dimension")
    sizes = [_number(count, "npus_count", source, whole=True) for count in counts]
    total = 1
    for size in sizes:
        total *= int(size)
    if total > _MOST_GPUS:
        _fail(source, "npus_count", f"{total} GPUs; at most {_MOST_GPUS}")
    draft = Draft()
    for rank in range(total):
        draft.add(f"gpu{rank}", Kind.GPU)
    for dimension, shape in enumerate(shapes):
        if shape not in _SHAPES:
            _fail(source, "topology", f"{clipped(shape)} is not one of {', '.join(_SHAPES)}")
        rate = round(_number(rates[dimension], "bandwidth", source) * 1e9)
        latency = round(_number(latencies[dimension], "latency", source) * 1e3)
        for row, members in enumerate(_rows([int(size) for size in sizes], dimension)):
            _join(draft, shape, members, name=f"switch{dimension}.{row}", wire=(rate, latency))
    return draft.done(name)


def _rows(sizes: list[int], dimension: int) -> Iterator[list[int]]:
    """Yield the ranks along one dimension, for every place in the others."""
    steps = [1]
    for size in sizes:
        steps.append(steps[-1] * size)
    others = [range(size) for i, size in reversed(list(enumerate(sizes))) if i != dimension]
    weights = [steps[i] for i in reversed(range(len(sizes))) if i != dimension]
    for place in product(*others):
        base = sum(at * weight for at, weight in zip(place, weights, strict=True))
        yield [base + i * steps[dimension] for i in range(sizes[dimension])]


def _join(draft: Draft, shape: str, members: list[int], *, name: str, wire: tuple[int, int]) -> None:
    if len(members) < 2:
        return
    if shape == "Switch":
        switch = draft.add(name, Kind.SWITCH)
        for member in members:
            draft.cable(member, switch, *wire)
    elif shape == "FullyConnected":
        for one, other in combinations(members, 2):
            draft.cable(one, other, *wire)
    else:
        around = zip(members, members[1:] + members[:1], strict=True)
        for one, other in list(around)[: len(members) if len(members) > 2 else 1]:
            draft.cable(one, other, *wire)


def _list(data: dict[str, object], field: str, source: str) -> list[object]:
    value = data.get(field)
    if not isinstance(value, list) or not value:
        _fail(source, field, f"{clipped(value)} is not a list with one entry a dimension")
    return value


def _number(value: object, field: str, source: str, *, whole: bool = False) -> float:
    fits = isinstance(value, int) if whole else isinstance(value, int | float)
    if not fits or isinstance(value, bool) or not 0 < float(str(value)) <= 1e9:
        _fail(source, field, f"{clipped(value)} is not a positive {'whole number' if whole else 'number'}")
    return float(str(value))


def _fail(source: str, field: str, problem: str) -> NoReturn:
    msg = f"{source}: {field}: {problem}"
    raise InputError(msg)
