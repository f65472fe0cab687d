"""C4D: faults put into made-up measurements are found, and nothing is found where there is none."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from functools import cache

import numpy as np
import pytest

from syccl.errors import InputError
from syccl.topology import Topology, routes_from
from syccl.topology.catalog import load_topology
from syccl.topology.elements import element_of
from syccl.traffic.c4d import Fault, Operations, Timings, diagnose, read_records
from syccl.traffic.c4d.routes import flat
from syccl.traffic.c4d.synthetic import fair_rates, measured
from syccl.traffic.outcome import servers_of
from syccl.traffic.pairs import direct_sends, ring_sends
from tests.traffic.fabrics import RATE, leaf_spine

WORDS = "communication slow"
Ends = list[tuple[int, int, int]]


@cache
def cluster() -> Topology:
    return load_topology("h800x64")


@cache
def ends_of(kind: str) -> Ends:
    topology = cluster()
    if kind == "ring":
        return sorted(ring_sends("allreduce", 2**20, servers_of(topology, range(topology.ranks))))
    return sorted(direct_sends("alltoall", 2**20, topology.ranks))


def links_of(topology: Topology, ends: Ends) -> list[tuple[int, ...]]:
    return [routes_from(topology, src)[dst].links for src, dst, _ in ends]


def timings(kind: str, parts: Iterable[str], *, seed: int = 0, noise: float = 0.1, windows: int = 5) -> Timings:
    topology, ends = cluster(), ends_of(kind)
    slow = {link: 2.0 for part in parts for link in element_of(topology, part).links}
    rates = fair_rates(topology, flat(links_of(topology, ends)), slow)
    return measured(ends, rates, noise=noise, windows=windows, seed=seed)


def touched(kind: str, part: str) -> set[int]:
    """The connections over a part, by its name and the routes alone."""
    links = set(element_of(cluster(), part).links)
    routes = links_of(cluster(), ends_of(kind))
    return {cell for cell, route in enumerate(routes) if links & set(route)}


@pytest.mark.parametrize("kind", ["ring", "direct"])
@pytest.mark.parametrize(
    "part",
    ["arc:server1.nic2/rail2", "arc:rail2/server1.nic2", "nic:server1.nic2", "arc:rail2/spine0", "gpu:server3.gpu0"],
)
def test_the_named_set_holds_the_fault_and_nothing_that_the_data_tell_from_it(kind: str, part: str) -> None:
    for seed in range(3):
        (fault,) = diagnose(cluster(), [timings(kind, [part], seed=seed)]).faults
        assert fault.classified == WORDS
        assert part in fault.parts
        assert all(touched(kind, other) == touched(kind, part) for other in fault.parts)
        assert 1.5 < float(fault.evidence.split()[0]) < 2.5


@pytest.mark.parametrize("kind", ["ring", "direct"])
def test_nothing_is_found_in_healthy_windows(kind: str) -> None:
    for seed in range(10):
        assert diagnose(cluster(), [timings(kind, [], seed=seed)]).faults == ()


def test_several_faults_at_once_are_all_named() -> None:
    parts = ["arc:server1.nic2/rail2", "arc:rail5/server7.nic5", "nic:server4.nic0"]
    faults = diagnose(cluster(), [timings("direct", parts)]).faults
    assert len(faults) == 3
    assert all(any(part in fault.parts for fault in faults) for part in parts)


def test_a_pair_of_leaves_and_a_connection_are_no_parts() -> None:
    topology, ends = cluster(), ends_of("direct")
    rates = fair_rates(topology, flat(links_of(topology, ends)))
    rails = np.array([(src % 8, dst % 8, src // 8 != dst // 8) for src, dst, _ in ends])
    pair = rates / np.where((rails == (1, 4, 1)).all(axis=1), 2.0, 1.0)
    (fault,) = diagnose(topology, [measured(ends, pair, noise=0.1, windows=5, seed=1)]).faults
    assert [(each.kind, each.name, each.parts) for each in fault.suspects] == [("leaf pair", "rail1 to rail4", ())]
    rates[1234] /= 2
    (fault,) = diagnose(topology, [measured(ends, rates, noise=0.1, windows=5, seed=1)]).faults
    src, dst, _ = ends[1234]
    assert [each.name for each in fault.suspects] == [f"{src} -> {dst}, channel 0, queue pair 0"]


@pytest.mark.parametrize(("side", "kind"), [(0, "tx side"), (1, "rx side")])
def test_a_row_or_column_is_one_side_of_a_rank(side: int, kind: str) -> None:
    topology, ends = cluster(), ends_of("direct")
    rates = fair_rates(topology, flat(links_of(topology, ends)))
    for away, parts in (
        (True, {"nic"}),
        (False, {"nic", "nvswitch"}),
    ):
        hit = np.array([each[side] == 19 and not (away and each[0] // 8 == each[1] // 8) for each in ends])
        made = measured(ends, rates / np.where(hit, 2.0, 1.0), noise=0.1, windows=5, seed=4)
        (fault,) = diagnose(topology, [made]).faults
        assert {suspect.kind for suspect in fault.suspects} == {kind}
        assert fault.connections == hit.sum()
        assert {name for name in ("nic", "nvswitch") if any(name in part for part in fault.parts)} == parts


def test_in_a_ring_sender_and_receiver_are_told_apart_by_a_swap() -> None:
    (fault,) = diagnose(cluster(), [timings("ring", ["arc:server1.nic2/rail2"])]).faults
    assert {each.kind for each in fault.suspects} == {"tx side", "rx side"}
    src = 10
    dst = next(dst for one, dst, _ in ends_of("ring") if one == src and dst // 8 != 1)
    assert fault.swap.startswith(f"exchange server{dst // 8} and server")
    one, other = dst // 8, int(re.findall(r"server(\d+)", fault.swap)[1])
    place = {one: other, other: one}

    def moved(rank: int) -> int:
        return place.get(rank // 8, rank // 8) * 8 + rank % 8

    ends = sorted((moved(a), moved(b), channel) for a, b, channel in ends_of("ring"))
    slow = dict.fromkeys(element_of(cluster(), "arc:server1.nic2/rail2").links, 2.0)
    rates = fair_rates(cluster(), flat(links_of(cluster(), ends)), slow)
    faults = diagnose(cluster(), [measured(ends, rates, noise=0.1, windows=5, seed=5)]).faults
    (fault,) = faults
    assert "arc:server1.nic2/rail2" in fault.parts
    assert not any(f"server{dst // 8}.nic{dst % 8}" in part for part in fault.parts)


def test_slowness_must_persist() -> None:
    topology, ends = cluster(), ends_of("ring")
    slow = fair_rates(topology, flat(links_of(topology, ends)), {0: 1.0}).copy()
    good = measured(ends, slow, noise=0.0, windows=5, seed=0)
    for bad_windows, found in ((2, 0), (3, 1)):
        hit = (good.src == 10) & (good.dst // 8 != 1) & (good.window < bad_windows)
        worse = Timings(**{**good.__dict__, "time_us": np.where(hit, 2.0, 1.0) * good.time_us})
        assert len(diagnose(topology, [worse]).faults) == found


def test_where_most_is_slow_a_healthy_run_tells() -> None:
    parts = [f"switch:rail{rail}" for rail in range(8)]
    healthy = timings("ring", [], seed=1)
    faults = diagnose(cluster(), [timings("ring", parts, seed=2)], healthy=healthy).faults
    assert sum(fault.connections for fault in faults) == 64


def operations(ranks: int, count: int, *, late: dict[int, float], lost: set[int] = frozenset(), seed: int = 0) -> str:  # type: ignore[assignment]
    chance = random.Random(seed)
    lines = ["rank,sequence,start_us,end_us"]
    for sequence in range(count):
        begin = [1000 * sequence + chance.gauss(0, 2) + late.get(rank, 0.0) for rank in range(ranks)]
        end = max(begin) + 100
        for rank in range(ranks):
            if sequence == count - 1 and lost:
                lines.append(f"{rank},{sequence},{'' if rank in lost else begin[rank] + 1e6},")
            else:
                lines.append(f"{rank},{sequence},{begin[rank] + 1e6},{end + 1e6}")
    return "\n".join(lines) + "\n"


def judged(text: str) -> tuple[Fault, ...]:
    return diagnose(cluster(), [read_records(text, source="o.csv", ranks=64)]).faults


def test_a_rank_that_begins_late_is_no_fault_of_the_network() -> None:
    (fault,) = judged(operations(64, 10, late={17: 80.0}))
    assert (fault.classified, fault.parts) == ("non-communication slow", ("gpu:server2.gpu1",))
    assert judged(operations(64, 10, late={})) == ()


def test_hangs_are_told_apart() -> None:
    absent = judged(operations(64, 4, late={}, lost={3, 9}))
    assert [(fault.classified, fault.parts) for fault in absent] == [
        ("non-communication hang", ("gpu:server0.gpu3",)),
        ("non-communication hang", ("gpu:server1.gpu1",)),
    ]
    text = operations(64, 4, late={})
    stuck = "\n".join(
        line if line.split(",")[1] != "3" else line.rpartition(",")[0] + "," for line in text.split("\n")[:-1]
    )
    (fault,) = judged(stuck + "\n")
    assert (fault.classified, fault.suspects) == ("communication hang", ())
    good = timings("direct", [], noise=0.0, windows=1)
    dead = np.isin(np.arange(len(good.src)), sorted(touched("direct", "arc:rail2/server1.nic2")))
    broken = Timings(
        **{
            **good.__dict__,
            "posted": np.full(len(good.src), 9),
            "completed": np.where(dead, 0, 9),
            "time_us": np.where(dead, np.nan, good.time_us),
        }
    )
    both = [read_records(stuck + "\n", source="o.csv", ranks=64), broken]
    (fault,) = diagnose(cluster(), both).faults
    assert fault.classified == "communication hang"
    assert set(fault.parts) == {"arc:rail2/server1.nic2", "arc:server1.nic2/server1.gpu2"}


def test_a_job_on_some_of_the_ranks_is_judged_by_these() -> None:
    (fault,) = judged(operations(16, 10, late={9: 80.0}))
    assert fault.parts == ("gpu:server1.gpu1",)
    (fault,) = judged(operations(16, 4, late={}, lost={2}))
    assert fault.parts == ("gpu:server0.gpu2",)


def test_a_connection_without_a_time_hangs() -> None:
    rows = [
        f"{src},{dst},8,{'' if (src, dst) == (8, 16) else 3}"
        for src in range(0, 64, 8)
        for dst in range(0, 64, 8)
        if src != dst
    ]
    text = "\n".join(["src,dst,bytes,time_us", *rows])
    (fault,) = diagnose(cluster(), [read_records(text, source="t.csv", ranks=64)]).faults
    assert (fault.classified, fault.connections) == ("communication hang", 1)
    assert "8 -> 16" in fault.suspects[0].name


def inspector(ranks: int, count: int, *, straggler: int | None = None, behind: int | None = None) -> str:
    chance = random.Random(3)
    lines = []
    for sequence in range(count):
        for rank in range(ranks):
            if rank == behind and sequence == count - 1:
                continue
            time = chance.gauss(100, 2) if rank == straggler or straggler is None else chance.gauss(300, 2)
            header = f'{{"id":"0xa","rank":{rank},"n_ranks":{ranks},"nnodes":8}}'
            perf = f'{{"coll":"AllReduce","coll_sn":{sequence},"coll_msg_size_bytes":4,"coll_exec_time_us":{time}}}'
            lines.append(f'{{"header":{header},"metadata":{{"hostname":"h"}},"coll_perf":{perf}}}')
    return "\n".join(lines) + "\n"


def test_the_inspector_of_nccl_tells_stragglers_and_who_is_behind() -> None:
    assert judged(inspector(64, 5)) == ()
    (fault,) = judged(inspector(64, 5, straggler=40))
    assert (fault.classified, fault.parts) == ("non-communication slow", ("gpu:server5.gpu0",))
    (fault,) = judged(inspector(64, 5, behind=7))
    assert (fault.classified, fault.parts) == ("hang", ("gpu:server0.gpu7",))


def test_connections_that_share_links_get_fair_rates() -> None:
    topology = leaf_spine(2, 2, 1)
    routes = [routes_from(topology, src)[dst].links for src, dst in ((0, 2), (1, 2), (1, 3), (0, 1))]
    assert fair_rates(topology, flat(routes)) == pytest.approx([RATE / 3] * 3 + [100 * RATE - RATE / 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv:1: header '' must name src,dst,bytes,time_us, or rank,sequence"),
        ("src,dst,bytes,time_us\n", "t.csv: no rows"),
        ("src,dst,bytes,time_us\n0,1,8", "t.csv:2: 3 cells; the header has 4"),
        ("src,dst,bytes,time_us\n0,1,8,-3", "t.csv:2: time_us: '-3' is no number of 0 or more"),
        ("src,dst,bytes,time_us\n0,1.5,8,3", "t.csv:2: dst: '1.5' is no whole number"),
        ("src,dst,bytes,time_us\n0,64,8,3", "t.csv:2: dst 64 is out of range; the topology has ranks 0..63"),
        ("src,dst,bytes,time_us\n4,4,8,3", "t.csv:2: rank 4 sends to itself"),
        ("src,dst,bytes,time_us,colour\n4,4,8,3,1", "t.csv:1: column 'colour' is unknown"),
        ("rank,sequence,start_us,end_us\n0,0,5,4", "t.csv:2: an operation ends before it starts"),
        (
            "rank,sequence,start_us,end_us\n0,0,5,6\n1,0,5,6\n# x\n0,0,7,8",
            "t.csv:5: a rank states the same operation twice",
        ),
        ("rank,sequence,start_us,end_us\n0,0,5,6\n\n64,0,5,6", "t.csv:4: rank 64 is out of range"),
        ('{"header":{}}', "t.csv:1: no operation of NCCL's inspector"),
        ("{", "t.csv:1: not JSON"),
        (inspector(8, 1), "t.csv: communicators of 8 ranks; one that spans the 64 ranks"),
        ("[]", "t.csv: no communicator; one that spans the 64 ranks"),
        ("src,dst,bytes,time_us\n0,1,8,0", "t.csv:2: no time for some bytes, or a time for no bytes"),
        (f"src,dst,bytes,time_us\n{'1' * 200_000},1,8,3", "t.csv:2: not CSV: field larger"),
    ],
)
def test_faulty_files_are_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_records(text, source="t.csv", ranks=64)
    assert message in str(error.value)


def test_records_are_read_as_they_are_written() -> None:
    made = read_records("dst,src,bytes,time_us,window\n1,0,8,3,2\n2,0,8,,2\n", source="t.csv", ranks=4)
    assert isinstance(made, Timings)
    assert (made.src.tolist(), made.dst.tolist(), made.window.tolist()) == ([0, 0], [1, 2], [2, 2])
    assert np.isnan(made.time_us).tolist() == [False, True]
    assert isinstance(read_records("rank,sequence,start_us,end_us\n1,0,3,4\n", source="t", ranks=4), Operations)
