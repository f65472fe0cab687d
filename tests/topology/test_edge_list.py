"""Edge lists in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from syccl.errors import InputError
from syccl.topology.edge_list import read_edge_list
from syccl.topology.model import Kind, Link

PAIR = {"gpus": ["a", "b"], "switches": ["x"], "links": [["a", "x", 12.5, 0.35], ["x", "b", 300, 0]]}


def test_links_are_directed_with_exact_units() -> None:
    topology = read_edge_list(json.dumps(PAIR), source="some/pair.json")
    assert topology.name == "pair"
    assert [node.kind for node in topology.nodes] == [Kind.GPU, Kind.GPU, Kind.SWITCH]
    assert topology.links == (Link(0, 2, 12_500_000_000, 350_000), Link(2, 1, 300_000_000_000, 0))


def test_name_is_taken_from_the_file_where_it_states_one() -> None:
    assert read_edge_list(json.dumps(PAIR | {"name": "mine"}), source="pair.json").name == "mine"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"links": [["a", "c", 1, 1]]}, r"pair.json: links\[0\]: node 'c' is not declared"),
        ({"gpus": ["gpu0", "gpu1"], "links": [["gpu0", "gpu2", 1, 1]]}, r"did you mean 'gpu\d' or 'gpu\d'"),
        ({"links": [["a", "a", 1, 1]]}, r"links\[0\]: joins 'a' to itself"),
        ({"links": [["a", "b", -1, 1]]}, r"links\[0\]: -1 is not a number from 0"),
        ({"links": [["a", "b", 0, 1]]}, r"bandwidth 0 must be positive"),
        ({"links": [["a", "b", 1e-10, 1]]}, r"bandwidth 1e-10 is below 1 B/s"),
        ({"links": [["a", "b", 1, 1e-30]]}, r"latency 1e-30 us is below 1 ps and not 0"),
        ({"links": [["a", "b", 10**4000, 1]]}, r"links\[0\]: 10+\.\.\.0+ is not a number"),
        ({"gpus": ["a", "b\ud800"]}, r"gpus\[1\]: 'b\\ud800' is not a node name"),
        ({"gpus": ["a", "b\n"]}, r"gpus\[1\]: 'b\\n' is not a node name"),
        ({"gpus": ["a", ""]}, r"gpus\[1\]: '' is not a node name"),
        ({"name": ""}, r"name: '' is not a string of printable"),
        ({"links": [["a", "b", True, 1]]}, r"True is not a number"),
        ({"links": [["a", "b", "25GB/s", 1]]}, r"'25GB/s' is not a number"),
        ({"links": [["a", "b", 1e300, 1]]}, r"1e\+300 is not a number from 0 to 1e\+09"),
        ({"links": [["a", "b", float("nan"), 1]]}, r"nan is not a number"),
        ({"links": [["a", "b", 1]]}, r"is not a link; write \[source, destination, GB/s, us\]"),
        ({"links": 3}, r"links: must be a list"),
        ({"gpus": ["a", "b", "a"]}, r"pair.json: .*'a' is used twice"),
        ({"gpus": ["a", 1]}, r"gpus\[1\]: 1 is not a node name"),
        ({"gpus": []}, r"links\[0\]: node 'a' is not declared"),
        ({"gpus": [], "links": []}, r"no GPU"),
        ({"link": []}, r"link: unknown field; .*did you mean 'links'"),
        ({"a\nb": 1}, r"pair.json: 'a\\nb': unknown field"),
        ({"name": 3}, r"name: 3 is not a string"),
    ],
)
def test_wrong_values_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_edge_list(json.dumps(PAIR | change), source="pair.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"gpus": [],\n nope}', r"pair.json:2: not JSON: .* column 2"),
        ("[1]", r"is a JSON object with gpus and links, not a list"),
        ('{"gpus": ["a"], "gpus": ["b"]}', r"field 'gpus' is stated twice"),
        ('{"gpus": ["a"]}', r"links: is missing"),
        ("[" * 100_000, r"pair.json"),
        ('{"gpus": ' + "9" * 5000 + "}", r"pair.json"),
    ],
)
def test_broken_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_edge_list(text, source="pair.json")


def test_every_benchmark_file_is_read(shared_data: Path) -> None:
    files = sorted((shared_data / "topologies" / "bench").glob("*.json"))
    assert files
    for path in files:
        data = json.loads(path.read_text(encoding="utf-8"))
        topology = read_edge_list(path.read_text(encoding="utf-8"), source=str(path))
        assert topology.name == data["name"]
        assert [topology.nodes[i].name for i in topology.gpus] == data["gpus"]
        assert len(topology.links) == len(data["links"])
        src, dst, rate, latency = data["links"][-1]
        last = topology.links[-1]
        assert (topology.nodes[last.src].name, topology.nodes[last.dst].name) == (src, dst)
        assert (last.rate, last.latency_ps) == (rate * 10**9, latency * 1e6)
