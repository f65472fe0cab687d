"""C4P: even use of equal paths, the bound that proves it, failures, parts, hashes and ports."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from math import ceil, gcd

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syccl.errors import InputError
from syccl.topology import Topology
from syccl.topology.catalog import read_topology
from syccl.topology.generate import Wanted, generate
from syccl.traffic.c4p import Connection, PathPlan, busiest, connections_of, plan_paths, replan, ways_of
from syccl.traffic.c4p.addresses import default_addresses, read_addresses
from syccl.traffic.c4p.hashing import Hashing, hashed_links, hashed_pieces, nics_of
from syccl.traffic.c4p.ports import source_ports
from syccl.traffic.outcome import servers_of
from syccl.traffic.pairs import direct_sends, ring_sends
from tests.traffic.fabrics import RATE, leaf_spine


def connections(
    pairs: Iterable[tuple[int, int]], sizes: Iterable[float] = itertools.repeat(float(RATE))
) -> list[Connection]:
    return [
        Connection("job", src, dst, at, 0, size)
        for at, ((src, dst), size) in enumerate(zip(pairs, sizes, strict=False))
    ]


def planned(topology: Topology, pairs: Iterable[tuple[int, int]], *, most_parts: int = 1) -> PathPlan:
    made = connections(pairs)
    return plan_paths(topology, made, ways_of(topology, made), most_parts=most_parts)


def generated(name: str, **wanted: object) -> Topology:
    return read_topology(generate(name, Wanted(**wanted)).text, source=name)  # type: ignore[arg-type]


def is_a_path(plan: PathPlan) -> bool:
    links = plan.topology.links
    for piece in plan.pieces:
        each = plan.connections[piece.connection]
        ends = plan.topology.gpus[each.src], plan.topology.gpus[each.dst]
        if (links[piece.links[0]].src, links[piece.links[-1]].dst) != ends:
            return False
        if any(links[a].dst != links[b].src for a, b in itertools.pairwise(piece.links)):
            return False
    return True


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(1, 5), st.data())
def test_every_link_carries_as_few_equal_connections_as_edge_colouring_allows(leaves: int, spines: int, data) -> None:
    """A bipartite multigraph of largest degree d has colourings by s colours with ceil(d / s) of each at every node."""
    topology = leaf_spine(leaves, 1, spines)
    pair = st.tuples(st.integers(0, leaves - 1), st.integers(0, leaves - 1)).filter(lambda ends: ends[0] != ends[1])
    pairs = data.draw(st.lists(pair, min_size=1, max_size=40))
    plan = planned(topology, pairs)
    sent, received = Counter(src for src, _ in pairs), Counter(dst for _, dst in pairs)
    degree = max(*sent.values(), *received.values())
    assert is_a_path(plan)
    assert plan.busiest_s == pytest.approx(ceil(degree / spines))
    assert plan.bound_s == pytest.approx(plan.busiest_s)


@pytest.mark.parametrize(("count", "spines"), [(5, 4), (6, 4), (7, 4), (7, 3), (4, 8), (9, 6)])
def test_of_n_over_s_links_the_left_over_are_split_into_s_over_gcd(count: int, spines: int) -> None:
    plan = planned(leaf_spine(2, 1, spines), [(0, 1)] * count, most_parts=64)
    left_over = count % spines
    assert plan.busiest_s == pytest.approx(count / spines)
    split = Counter(piece.connection for piece in plan.pieces if piece.parts > 1)
    assert list(split.values()) == [spines // gcd(left_over, spines)] * left_over


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 10**6))
def test_parts_reach_the_bound_of_connections_split_at_will(leaves: int, spines: int, seed: int) -> None:
    chance = random.Random(seed)
    pairs = [tuple(chance.sample(range(leaves), 2)) for _ in range(chance.randint(1, 14))]
    plan = planned(leaf_spine(leaves, 1, spines), pairs, most_parts=64)
    degree = max(Counter(end for pair in pairs for end in enumerate(pair)).values())
    assert plan.busiest_s == pytest.approx(float(Fraction(degree, spines)), rel=0.005)
    assert sum(piece.size_bytes for piece in plan.pieces) == pytest.approx(len(pairs) * RATE)


def test_few_connections_on_unequal_links_are_placed_as_well_as_any_placement() -> None:
    chance = random.Random(4)
    for _ in range(25):
        topology = leaf_spine(3, 1, 3, rates=[RATE, 2 * RATE, 3 * RATE])
        pairs = [tuple(chance.sample(range(3), 2)) for _ in range(5)]
        sizes = [chance.choice([1.0, 2.0, 3.0]) * RATE for _ in pairs]
        made = connections(pairs, sizes)
        ways = ways_of(topology, made)
        plan = plan_paths(topology, made, ways)
        best = min(
            max(load.values())
            for choice in itertools.product(range(3), repeat=5)
            for load in [load_of(topology, [(ways[i].routes[at].links, sizes[i]) for i, at in enumerate(choice)])]
        )
        assert plan.bound_s <= best * (1 + 1e-9)
        assert plan.busiest_s == pytest.approx(best)


def load_of(topology: Topology, taken: Iterable[tuple[tuple[int, ...], float]]) -> Counter[int]:
    load: Counter[int] = Counter()
    for links, size in taken:
        for link in links:
            load[link] += size / topology.links[link].rate  # type: ignore[assignment]
    return load


@pytest.mark.parametrize(
    ("name", "wanted", "queue_pairs"),
    [
        ("hpn", {"servers": 8, "block": 4}, 2),
        ("clos", {"servers": 8, "block": 2, "oversubscription": 4.0}, 1),
        ("h100-superpod", {"servers": 8, "block": 2}, 1),
        ("bigraph", {"dims": (2, 2)}, 1),
    ],
)
@pytest.mark.parametrize("kind", ["ring", "direct"])
def test_fabrics_are_used_as_evenly_as_can_be(
    name: str, wanted: dict[str, object], queue_pairs: int, kind: str
) -> None:
    topology = generated(name, **wanted)
    ranks = range(topology.ranks)
    made = ring_sends("allreduce", 2**30, servers_of(topology, ranks))
    sends = made if kind == "ring" else direct_sends("alltoall", 2**30, topology.ranks)
    found = connections_of(topology, "job", ranks, sends, queue_pairs=queue_pairs)
    ways = ways_of(topology, found)
    plan = plan_paths(topology, found, ways)
    assert is_a_path(plan)
    assert plan.busiest_s == pytest.approx(plan.bound_s)
    hashed = hashed_pieces(topology, found, ways, Hashing())
    assert busiest(topology, hashed) >= plan.busiest_s * (1 - 1e-9)


def test_both_ports_of_bonded_nics_are_used_alike_and_planes_do_not_meet() -> None:
    topology = generated("hpn", servers=4, block=2)
    sends = ring_sends("allgather", 2**20, servers_of(topology, range(32)))
    made = connections_of(topology, "job", range(32), sends, queue_pairs=4)
    plan = plan_paths(topology, made, ways_of(topology, made))
    load = Counter(topology.link_name(link) for piece in plan.pieces for link in piece.links)
    for nic in (node.name for node in topology.nodes if ".nic" in node.name):
        for ports in ([n for name, n in load.items() if name.startswith(f"{nic}->plane")], [
            n for name, n in load.items() if name.startswith("plane") and name.endswith(f"->{nic}")
        ]):  # fmt: skip
            assert ports in ([], [2, 2])


def test_a_failure_moves_what_it_hits_and_little_else() -> None:
    topology = leaf_spine(4, 4, 4)
    pairs = [(src, dst) for src in range(16) for dst in range(16) if src // 4 != dst // 4]
    plan = planned(topology, pairs)
    after = replan(plan, ["link:leaf0/spine1"], Hashing())
    dead = {topology.link_name(link) for link in after.dead}
    assert dead == {"leaf0->spine1", "spine1->leaf0"}
    assert is_a_path(after.plan)
    assert not any(set(after.dead) & set(piece.links) for piece in after.plan.pieces)
    assert after.hit == 24
    assert plan.busiest_s == pytest.approx(12)
    assert after.plan.bound_s == pytest.approx(16)
    assert after.plan.busiest_s == pytest.approx(16)
    assert busiest(topology, after.during) >= after.plan.busiest_s
    assert after.moved <= 12
    kept = sum(a.links == b.links for a, b in zip(plan.pieces, after.plan.pieces, strict=True))
    assert kept == len(pairs) - after.hit - after.moved


def test_a_connection_without_a_path_is_told() -> None:
    topology = leaf_spine(2, 1, 1)
    with pytest.raises(InputError, match=r"no route from rank 1 \(gpu1\) to rank 0 \(gpu0\)"):
        replan(planned(topology, [(0, 1), (1, 0)]), ["switch:spine0"], Hashing())


@pytest.mark.parametrize("name", ["crc32", "crc16"])
def test_packets_with_the_found_ports_take_the_planned_paths(name: str) -> None:
    topology = generated("hpn", servers=4, block=2)
    sends = direct_sends("alltoall", 2**20, 32)
    made = connections_of(topology, "job", range(32), sends)[:60]
    ways = ways_of(topology, made)
    plan, hashing, addresses = plan_paths(topology, made, ways), Hashing(name, 7), default_addresses(topology)
    ports = source_ports(plan, ways, hashing, addresses)
    for piece, port in zip(plan.pieces, ports, strict=True):
        assert port is not None
        one, other = nics_of(topology, piece.links)
        way = ways[piece.connection]
        port_of_nic = way._replace(layers=(*(frozenset({link}) for link in piece.links[:2]), *way.layers[2:]))
        assert hashed_links(topology, port_of_nic, hashing, (addresses[one], addresses[other], port)) == piece.links


def test_spray_over_more_paths_is_more_even() -> None:
    """64 equal flows hashed onto 64 links, each over P paths: the busiest has about 3.9 P=1, 1.9 P=8, 1.2 P=128."""
    topology = leaf_spine(2, 64, 64)
    made = connections([(at, 64 + at) for at in range(64)])
    ways = ways_of(topology, made)
    mean = {
        paths: sum(
            busiest(topology, hashed_pieces(topology, made, ways, Hashing(seed=s), paths=paths)) for s in (1, 2, 3)
        )
        / 3
        for paths in (1, 8, 128)
    }
    # A connection can collide at its sending and at its receiving leaf.
    assert 3 <= mean[1] <= 6
    assert 1.5 <= mean[8] <= 2.8
    assert 1.1 <= mean[128] <= 1.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nic0,10.0.0.1", "no address for nic1"),
        ("nic0,10.0.0.256", "a.csv:1: 'nic0,10.0.0.256' is no NIC and IPv4 address"),
        ("nic7,10.0.0.1", "a.csv:1: 'nic7' is no NIC of leaf-spine"),
        ("nic0,10.0.0.1\nnic1,10.0.0.1", "a.csv:2: '10.0.0.1' is stated twice"),
        ("# NICs\nnic0,10.0.0.1\nnic0,10.0.0.2", "a.csv:3: 'nic0' is stated twice"),
    ],
)
def test_addresses_are_checked(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_addresses(text, source="a.csv", topology=leaf_spine(2, 1, 1))
    assert message in str(error.value)
