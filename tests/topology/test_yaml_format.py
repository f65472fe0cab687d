"""The JSON Schema, the reader and the documentation agree on the format."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from syccl.errors import InputError
from syccl.topology.edge_list import read_edge_list
from syccl.topology.yaml_file import read_yaml
from syccl.topology.yaml_format import TopologyFile, topology_schema
from syccl.topology.yaml_tree import read_entries
from syccl.units import LATENCY_UNITS, RATE_UNITS

REPOSITORY = Path(__file__).parent.parent.parent
PAGE = (REPOSITORY / "docs" / "topology-format.md").read_text(encoding="utf-8")
ADAPTER: TypeAdapter[TopologyFile] = TypeAdapter(TopologyFile)

LINK = {"bandwidth": "25GB/s", "latency": ".5us"}
EVERYTHING: dict[str, Any] = {
    "name": "all",
    "servers": [
        {
            "count": 2,
            "gpus": "g0..1",
            "nics": ["n0", "n1"],
            "switches": "x",
            "links": [LINK | {"between": ["g0", "x"]}],
        },
        {"names": ["a", "b"], "gpus": ["g"], "ports": ["g"]},
    ],
    "fabric": {
        "leaves": LINK | {"names": "l", "by": "server", "servers_per_leaf": 4},
        "spines": LINK | {"names": ["s"]},
    },
    "nodes": [{"kind": "gpu", "names": "h0..1", "server": "a"}],
    "links": [LINK | {"one_way": [["h0", "h1"], "l"], "pairs": "all"}],
}


def schema_accepts(data: object) -> bool:
    try:
        ADAPTER.validate_json(json.dumps(data), strict=True)
    except ValidationError:
        return False
    return True


def reader_accepts(data: object) -> bool:
    try:
        read_entries(yaml.safe_dump(data), source="a.yaml")
    except InputError:
        return False
    return True


def spots(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path] * bool(path) + [spot for key, value in inner for spot in spots(value, (*path, key))]


def changed(path: tuple[Any, ...], value: object, *, drop: bool) -> dict[str, Any]:
    data = copy.deepcopy(EVERYTHING)
    holder: Any = data
    for key in path[:-1]:
        holder = holder[key]
    if drop:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return data


def values() -> st.SearchStrategy[object]:
    texts = ["", "all", "gpu", "rail", "1e3", "25", "25 GB/s", "0GB/s", "1e2us", "1e999s", "-1us", "+1GB/s", "1.5.5us"]
    plain = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.sampled_from(texts)
    inner = st.just(EVERYTHING["links"][0]) | st.just({"names": "a"}) | st.just({})
    return plain | inner | st.lists(plain | inner, max_size=3)


def test_everything_is_accepted_by_schema_and_reader() -> None:
    assert schema_accepts(EVERYTHING)
    assert read_yaml(yaml.safe_dump(EVERYTHING), source="a.yaml").ranks == 8


@given(st.sampled_from(spots(EVERYTHING)), values(), st.booleans())
def test_schema_and_reader_accept_the_same_forms(path: tuple[Any, ...], value: object, drop: bool) -> None:
    data = changed(path, value, drop=drop)
    assert schema_accepts(data) == reader_accepts(data)


@pytest.mark.parametrize("path", spots(EVERYTHING), ids=str)
def test_schema_and_reader_agree_on_every_field_left_out_and_every_kind_of_value(path: tuple[Any, ...]) -> None:
    cases = [changed(path, None, drop=True)]
    cases += [changed(path, value, drop=False) for value in (None, True, 0, 1.5, "", "x", [], ["x"], {}, {"x": 1})]
    for data in cases:
        assert schema_accepts(data) == reader_accepts(data)


def test_unknown_fields_are_refused_by_both() -> None:
    assert not schema_accepts(EVERYTHING | {"x": 1})
    assert not reader_accepts(EVERYTHING | {"x": 1})


@pytest.mark.parametrize("unit", RATE_UNITS)
def test_every_unit_of_bandwidth_is_in_the_schema(unit: str) -> None:
    assert schema_accepts({"links": [LINK | {"bandwidth": f"12.5{unit}"}]})


@pytest.mark.parametrize("unit", LATENCY_UNITS)
def test_every_unit_of_latency_is_in_the_schema(unit: str) -> None:
    assert schema_accepts({"links": [LINK | {"latency": f"1 {unit}"}]})


def test_the_schema_describes_every_field_and_forbids_others() -> None:
    schema = topology_schema()
    entries = {"TopologyFile": schema, **schema["$defs"]} if "properties" in schema else schema["$defs"]
    assert set(entries) == {"TopologyFile", "ServerTemplate", "Fabric", "Leaves", "Spines", "NodeEntry", "LinkEntry"}
    for entry in entries.values():
        assert entry["additionalProperties"] is False
        for field in entry["properties"].values():
            assert field["description"]
    assert json.loads(json.dumps(schema)) == schema


def test_the_page_names_every_field_of_the_schema() -> None:
    schema = topology_schema()
    for entry in (schema, *schema["$defs"].values()):
        for field in entry.get("properties", {}):
            assert f"`{field}`" in PAGE or f".{field}`" in PAGE, field


def test_reading_does_not_load_the_schema_library() -> None:
    code = (
        "import sys; from syccl.topology.catalog import load_topology; load_topology('a100x32'); "
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_examples_of_the_page_are_read() -> None:
    regular, irregular = (
        read_yaml(text, source="page.yaml") for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    )
    assert (regular.ranks, len(regular.nodes), len(regular.links)) == (32, 4 * 13 + 4, 2 * (4 * 16 + 16 + 4))
    assert (irregular.ranks, len(irregular.nodes), len(irregular.links)) == (16, 19, 2 * (15 + 15 + 1 + 3) + 1)
    (edges,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert read_edge_list(edges, source="page.json").ranks == 2


def test_the_errors_of_the_page_are_what_is_said() -> None:
    regular = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
    for old, new in (("nic0..3]", "nic1..4]"), ("bandwidth: 25GB/s", "bandwidth: 25")):
        with pytest.raises(InputError) as caught:
            read_yaml(regular.replace(old, new), source="mine.yaml")
        assert str(caught.value) in PAGE
