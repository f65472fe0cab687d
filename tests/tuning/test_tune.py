"""Sweeps over tiny clusters, read back from their own files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from syccl import pipeline
from syccl.collective import OPS
from syccl.errors import GaveUpError, InputError
from syccl.pipeline import Options
from syccl.prepare import Prepared
from syccl.program.msccl_xml import read_xml
from syccl.program.selection import selection
from syccl.program.verify import verify_program
from syccl.simulate.program_time import simulate_program
from syccl.store import Store
from syccl.topology import Topology
from syccl.topology.catalog import load_topology
from syccl.tuning import Sweep, Tuned, sweep_sizes, tune
from syccl.tuning import candidates as made_here
from syccl.tuning import tuned as module
from syccl.tuning.candidates import coarse_to_fine
from syccl.tuning.tuned import written
from tests.strategies import one_switch, ring, two_servers

CASES = {
    "four servers": ("a100x32", "allgather", (1 << 14, 1 << 20)),
    "two servers": (two_servers(2), "allreduce", (1 << 12, 1 << 20)),
    "uneven servers": (two_servers(3, 2), "reducescatter", (1 << 10, 1 << 18)),
    "ring": (ring(4), "broadcast", (1 << 10, 1 << 22)),
    "odd switch": (one_switch(3), "alltoall", (1 << 10, 1 << 22)),
}


@cache
def tuned(case: str) -> Tuned:
    topology, op, limits = CASES[case]
    loaded = topology if isinstance(topology, Topology) else load_topology(topology)
    sizes = sweep_sizes(Sweep(*limits, factor=4), OPS[op], loaded.ranks, "float32")
    return tune(loaded, OPS[op], sizes, Options(0))


@cache
def texts(case: str) -> list[str]:
    return list(written(tuned(case)))


@pytest.mark.parametrize("case", CASES)
def test_files_read_back_right_and_each_size_selects_the_file_that_serves_it(case: str) -> None:
    result = tuned(case)
    programs = [read_xml(text, source=case) for text in texts(case)]
    for program in programs:
        found = verify_program(program, size_bytes=program.max_bytes)
        assert not [finding for finding in found if finding.severity == "error"]
    for row in result.rows:
        takers = [i for i, program in enumerate(programs) if selection(program, "float32").takes(row.size_bytes)]
        assert takers == ([] if row.schedule is None else [row.schedule])


@pytest.mark.parametrize("case", CASES)
def test_times_are_those_of_the_files_and_within_two_percent_of_the_best(case: str) -> None:
    result = tuned(case)
    programs = [read_xml(text, source=case) for text in texts(case)]
    served = [row for row in result.rows if row.schedule is not None]
    assert served
    for row in served:
        assert row.schedule is not None
        assert row.seconds is not None
        assert row.best_s is not None
        time = simulate_program(programs[row.schedule], result.prepared.topology, size_bytes=row.size_bytes)
        assert time.seconds == pytest.approx(row.seconds, rel=1e-9)
        assert row.best_s <= row.seconds <= 1.02 * row.best_s
        assert row.bound_s is not None
        assert row.bound_s <= row.seconds * (1 + 1e-9)


@pytest.mark.parametrize("case", ["odd switch", "ring"])
def test_no_size_is_served_worse_than_by_its_own_synthesis(case: str) -> None:
    result = tuned(case)
    for row in result.rows:
        options = Options(row.size_bytes, exact=True)
        own = pipeline.synthesize(result.prepared.topology, result.prepared.op, options, root=result.prepared.root)
        assert own.program is not None
        assert own.program_time_s is not None
        assert selection(own.program, "float32").takes(row.size_bytes)
        assert row.seconds is not None
        assert row.seconds <= 1.02 * own.program_time_s


@pytest.mark.parametrize("case", ["four servers", "two servers"])
def test_ranges_cover_the_sweep_without_a_gap(case: str) -> None:
    result = tuned(case)
    limits = [ranged.bytes for ranged in result.schedules]
    assert limits[0].min_bytes == result.rows[0].size_bytes
    assert limits[-1].max_bytes == result.rows[-1].size_bytes
    assert [one.max_bytes + 1 for one in limits[:-1]] == [other.min_bytes for other in limits[1:]]


def test_fewer_files_than_sizes_are_needed() -> None:
    assert len(tuned("ring").schedules) < tuned("ring").candidates <= len(tuned("ring").rows)


def test_processes_and_kept_answers_change_nothing(tmp_path: Path) -> None:
    topology, op, limits = two_servers(2), OPS["allgather"], Sweep(1 << 14, 1 << 18, factor=16)
    sizes = sweep_sizes(limits, op, 4, "float32")
    one = tune(topology, op, sizes, Options(0))
    two = tune(topology, op, sizes, Options(0, jobs=2), store=Store(tmp_path))
    assert one.rows == two.rows
    assert list(written(one)) == list(written(two))


def test_sizes_that_no_program_is_selected_for_are_told() -> None:
    result = tune(ring(4), OPS["allgather"], (4 * 3, 4 * 4096), Options(0))
    few, many = result.rows
    assert (few.schedule, few.seconds, few.best_s) == (None, None, None)
    assert few.note == "no program of the sweep is selected for this size"
    assert many.schedule == 0
    assert [ranged.sizes for ranged in result.schedules] == [(4 * 4096,)]


def test_a_size_without_a_program_of_its_own_is_served_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = made_here.solve

    def refuse(prepared: Prepared, options: Options, *args: Any, **kept: Any) -> pipeline.Solved:
        if options.size_bytes == 1 << 14:
            raise GaveUpError("no program fits the runtime: 99 steps")
        return whole(prepared, options, *args, **kept)

    monkeypatch.setattr(made_here, "solve", refuse)
    result = tune(ring(3), OPS["allreduce"], (1 << 12, 1 << 14, 1 << 16), Options(0))
    assert result.rows[1].note == "no program fits the runtime: 99 steps"
    assert result.rows[1].schedule is not None
    assert result.rows[1].bound_s is None
    with pytest.raises(GaveUpError, match="no program fits the runtime: 99 steps"):
        tune(ring(3), OPS["allreduce"], (1 << 14,), Options(0))


def test_after_the_time_limit_what_was_found_serves_all_sizes() -> None:
    sizes = tuple(1 << i for i in range(12, 20))
    result = tune(ring(4), OPS["allgather"], sizes, Options(0, time_limit_s=1e-9))
    assert result.hit_time_limit
    assert result.candidates == 1
    assert all(row.note.startswith("left out at the time limit") for row in result.rows[:-1])
    assert result.rows[-1].note == ""
    assert result.rows[-2].schedule == result.rows[-1].schedule == 0
    assert result.schedules[-1].candidate.made_for == (1 << 19,)
    assert not tuned("ring").hit_time_limit


def test_one_gpu_has_one_file() -> None:
    result = tune(ring(1), OPS["allreduce"], (1 << 10, 1 << 20), Options(0))
    (text,) = written(result)
    program = read_xml(text, source="one")
    assert (program.min_bytes, program.max_bytes, program.size) == (1 << 10, 1 << 20, 1)


def test_clusters_too_large_for_programs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_DEFAULT_PROGRAM", 3)
    with pytest.raises(InputError, match=r"ring4 has 4 ranks; .* above 3 ranks .* syccl synth -o FILE\.json"):
        tune(ring(4), OPS["allgather"], (1 << 12,), Options(0))


@pytest.mark.parametrize("count", [1, 2, 3, 8, 23])
def test_coarse_sizes_come_first_and_none_twice(count: int) -> None:
    sizes = list(range(100, 100 + count))
    order = coarse_to_fine(sizes)
    assert sorted(order) == sizes
    assert order[0] == sizes[-1]
    assert order[: min(2, count)][-1] == sizes[0]


def test_sizes_are_told_in_the_order_of_work() -> None:
    words: list[str] = []
    tune(ring(3), OPS["allgather"], (3 << 10, 3 << 12), Options(0), progress=words.append)
    assert words[0] == "finding symmetry"
    assert [word for word in words if word.endswith(": bounding")] == [
        "size 1 of 2, 12KiB: bounding",
        "size 2 of 2, 3KiB: bounding",
    ]
    assert words[-1].startswith("simulating ")
