from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import InputError, InternalError
from syccl.schedule import Schedule, Transfers, expand
from syccl.schedule.json_file import read_json, write_json
from syccl.schedule.verify import verify_schedule
from tests.schedule import tiny

MADE = {"version": "0.1.0", "size_bytes": 1 << 26, "seed": 0}
GOOD = tiny.COMPRESSED | tiny.EXPLICIT


def round_trip(schedule: Schedule) -> Schedule:
    return read_json(write_json(schedule, made_by=MADE), source="plan.json")


def assert_same(one: Schedule, other: Schedule) -> None:
    assert (one.topology.name, one.topology.nodes, one.topology.links) == (
        other.topology.name,
        other.topology.nodes,
        other.topology.links,
    )
    assert (one.demand, one.routes, one.maker) == (other.demand, other.routes, other.maker)
    assert one.order_of_symmetry == other.order_of_symmetry
    for name in Transfers.__dataclass_fields__:
        mine, theirs = getattr(one.transfers, name), getattr(other.transfers, name)
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()


def elements_with_chunks(schedule: Schedule) -> set[tuple[int, ...]]:
    symmetry = schedule.symmetry
    return set(map(tuple, np.hstack([symmetry.group.elements, symmetry.chunks]).tolist())) if symmetry else set()


@pytest.mark.parametrize("name", GOOD)
def test_what_is_written_is_read_back(name: str) -> None:
    schedule = GOOD[name]()
    again = round_trip(schedule)
    assert_same(again, schedule)
    assert elements_with_chunks(again) == elements_with_chunks(schedule)
    assert verify_schedule(again) == ()
    assert_same(round_trip(expand(schedule)), expand(schedule))


def test_the_cost_profile_of_the_topology_is_read_back_and_written_only_where_there_is_one() -> None:
    plain = next(iter(tiny.EXPLICIT.values()))()
    assert "profile" not in write_json(plain, made_by=MADE)
    assert round_trip(plain).topology.profile == ""
    named = replace(plain, topology=replace(plain.topology, profile="h100"))
    assert round_trip(named).topology.profile == "h100"


@pytest.mark.parametrize("name", GOOD)
def test_the_same_schedule_gives_the_same_bytes(name: str) -> None:
    text = write_json(GOOD[name](), made_by=MADE)
    assert write_json(read_json(text, source="x"), made_by=dict(sorted(MADE.items()))) == text
    assert text.isascii()
    assert text.endswith("\n")
    assert max(map(len, text.splitlines())) < 300


def test_only_generators_are_stored() -> None:
    document = json.loads(write_json(tiny.rail_allreduce(3, 2), made_by=MADE))
    assert document["symmetry"]["order"] == 6
    assert len(document["symmetry"]["generators"]) == 2


def test_the_identity_depends_on_topology_demand_and_maker_but_not_on_transfers() -> None:
    def identity(schedule: Schedule, **made: str | int) -> str:
        return json.loads(write_json(schedule, made_by=MADE | made))["id"]

    base = tiny.star_allgather(4)
    first = identity(base)
    assert identity(tiny.without(base, 0)) == first
    others = [
        identity(tiny.ring_allgather(4)),
        identity(tiny.star_reducescatter(4)),
        identity(base, seed=1),
        identity(base, size_bytes=1),
    ]
    assert len({first, *others}) == 5


def test_a_topology_at_hand_is_used_when_it_is_the_same() -> None:
    schedule = tiny.star_allgather(4)
    text = write_json(schedule, made_by=MADE)
    assert read_json(text, source="x", topology=schedule.topology).topology is schedule.topology
    with pytest.raises(
        InputError, match=r"x: topology: the schedule is for 'switch-4', which differs from .* 'ring-4'"
    ):
        read_json(text, source="x", topology=tiny.ring_topology(4))


def test_a_wrong_schedule_is_read_for_verify_to_judge() -> None:
    assert verify_schedule(round_trip(tiny.without(tiny.star_allgather(4), 1)))


def set_at(*path: str | int, value: object) -> Callable[[dict], None]:
    def change(document: dict) -> None:
        place = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def remove(*path: str) -> Callable[[dict], None]:
    def change(document: dict) -> None:
        place = document
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_at("schema", value="syccl-schedule/9"), "schema is 'syccl-schedule/9'; this version reads"),
        (remove("routes"), "field 'routes' is missing"),
        (set_at("extra", value=1), "unknown field 'extra'; allowed are schema, id"),
        (set_at("id", value="0"), "id: does not fit topology, demand and made_by"),
        (set_at("made_by", "seed", value=1), "id: does not fit topology, demand and made_by"),
        (set_at("made_by", "seed", value=0.5), "made_by: seed is 0.5; allowed are strings and whole numbers"),
        (set_at("made_by", value=[]), "made_by: must be an object"),
        (set_at("maker", value=3), "maker: 3 is not a string"),
        (set_at("demand", "op", value="gossip"), "demand: unknown collective 'gossip'"),
        (set_at("demand", "ranks", value=5), "demand.ranks: is 5, but the topology has 4 GPUs"),
        (set_at("demand", "chunks", value=6), "demand: allgather over 4 ranks cannot be cut into 6 chunks"),
        (set_at("demand", "root", value=-1), "demand.root: -1 is not a whole number of at least 0"),
        (set_at("topology", value=None), "topology: must be an object with hash, name, nodes, links"),
        (set_at("topology", "hash", value="ab"), "topology.hash: does not fit nodes and links"),
        (set_at("topology", "links", 0, 2, value=7), "topology.hash: does not fit nodes and links"),
        (set_at("topology", "links", 0, value=[0, 1]), "topology.links[0]: has 2 items; expected 4"),
        (set_at("topology", "links", 1, 0, value=9), "topology.links[1][0]: 9 is not a whole number from 0 to 4"),
        (set_at("topology", "nodes", 1, 1, value="tpu"), "topology.nodes[1][1]: unknown kind 'tpu'; choose one of gpu"),
        (set_at("topology", "nodes", 1, 0, value="g0"), "topology: topology 'switch-4': node name 'g0' is used twice"),
        (set_at("routes", 0, 0, value=99), "routes[0][0]: 99 is not a whole number from 0 to 7"),
        (set_at("routes", value={}), "routes: must be a list"),
        (set_at("transfers", "chunk", 1, value=4), "transfers.chunk[1]: 4 is not a whole number from 0 to 3"),
        (set_at("transfers", "src", 1, value=True), "transfers.src[1]: True is not a whole number from 0 to 3"),
        (set_at("transfers", "dst", 1, value=1.0), "transfers.dst[1]: 1.0 is not a whole number from 0 to 3"),
        (set_at("transfers", "order", value=[1]), "transfers.order: has 1 numbers; expected 3"),
        (set_at("transfers", "stage", 0, value=2**31), "transfers.stage[0]: 2147483648 is not a whole number"),
        (set_at("transfers", "reduce", 0, value=2), "transfers.reduce[0]: 2 is not a whole number from 0 to 1"),
        (set_at("symmetry", "order", value=3), "symmetry.order: is 3, but the generators make more than 3 elements"),
        (set_at("symmetry", "order", value=8), "symmetry.order: is 8, but the generators make 4 elements"),
        (set_at("symmetry", "order", value=2**40), "symmetry.order: 1099511627776 is not a whole number from 1 to"),
        (set_at("symmetry", "generators", 0, "chunks", value=[0, 0, 1, 2]), "generators[0].chunks: is no permutation"),
        (set_at("symmetry", "generators", 0, "nodes", value=[0]), "generators[0].nodes: has 1 numbers; expected 5"),
    ],
)
def test_faulty_files_are_told_with_their_field(change: Callable[[dict], None], message: str) -> None:
    document = json.loads(write_json(tiny.star_allgather(4), made_by=MADE))
    change(document)
    with pytest.raises(InputError) as caught:
        read_json(json.dumps(document), source="plan.json")
    assert str(caught.value).startswith("plan.json: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"schema": ', "plan.json:2: not JSON: Expecting value at column 11"),
        ('{"schema": 1, "schema": 2}', "plan.json: not JSON that can be read: field 'schema' is stated twice"),
        ("[" * 100_000, "plan.json: not JSON that can be read: maximum recursion depth"),
        ("9" * 5000, "plan.json: not JSON that can be read: Exceeds the limit"),
        ("[]", "plan.json: must be an object with schema, id"),
    ],
)
def test_what_is_no_json_object_is_told(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_json(text, source="plan.json")
    assert str(caught.value).startswith(message)


@given(st.sampled_from(sorted(GOOD)), st.data())
def test_no_cut_or_altered_byte_ends_in_anything_but_an_input_error(name: str, data: st.DataObject) -> None:
    text = write_json(GOOD[name](), made_by=MADE)
    at = data.draw(st.integers(0, len(text) - 2))
    other = data.draw(st.sampled_from(["", "0", "-", '"', "]", "e"]))
    try:
        schedule = read_json(text[:at] + other + text[at + 1 :], source="plan.json")
    except InputError:
        return
    assert isinstance(verify_schedule(schedule), tuple)


def test_generators_that_do_not_compose_on_chunks_are_left_to_verify() -> None:
    document = json.loads(write_json(tiny.ring_allgather(4), made_by=MADE))
    document["symmetry"]["generators"][0]["chunks"] = [1, 0, 3, 2]
    findings = verify_schedule(read_json(json.dumps(document), source="x"))
    assert {finding.rule for finding in findings} == {"symmetry"}


def test_a_generator_outside_its_group_is_our_bug() -> None:
    schedule = tiny.star_allgather(3)
    group = replace(schedule.symmetry.group, elements=schedule.symmetry.group.elements[:1])
    broken = replace(schedule, symmetry=tiny.Symmetry(group, schedule.symmetry.chunks[:1]))
    with pytest.raises(InternalError, match="not among its elements"):
        write_json(broken, made_by=MADE)


def test_five_hundred_gpus_are_written_small_and_quickly() -> None:
    schedule = tiny.rail_allreduce(64, 8)
    begin = time.process_time()
    text = write_json(schedule, made_by=MADE)
    again = read_json(text, source="x")
    assert time.process_time() - begin < 1.0
    assert len(text) < 500_000
    assert verify_schedule(again) == ()
