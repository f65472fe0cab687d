"""What synth tells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syccl.collective import OPS, Demand, Op, op_named
from syccl.report.synthesis import Outcome, next_steps, record, size_meaning, table, to_json
from syccl.report.tables import render
from tests.report.made import Options, allgather_program, synthesis

XML = Path("allgather.ring2.1MiB.xml")


def outcome(**changes: Any) -> Outcome:
    return Outcome(synthesis(**changes), Options(2**20), (XML,))


def rows(shown: Outcome) -> dict[str, str]:
    return {row[0]: row[1] for row in table(shown).rows}


def test_the_table_names_everything_asked_and_answered() -> None:
    assert list(rows(outcome())) == [
        "topology", "op", "size", "ranks", "symmetry", "chunks", "predicted time", "costs", "algbw", "busbw", "bound",
        "cut", "time/bound", "bottleneck", "ring baseline", "tree baseline", "solve time", "wrote",
    ]  # fmt: skip


def test_the_table_holds_the_right_values() -> None:
    values = rows(outcome())
    assert values["size"] == "1MiB of float32: the receive buffer of one rank"
    assert values["ranks"] == "2: rank i is the i-th GPU, server by server (gpu0 .. gpu1)"
    assert values["chunks"] == "2, 512KiB each"
    assert values["predicted time"] == "23.84 us (lowered program, Simple protocol)"
    assert values["time/bound"] == "1.100 (schedule alone 1.000)"
    assert values["bound"] == "21.67 us by shards cross the cable, a proved formula"
    assert values["cut"] == "out of rank 0 (gpu0), over 1 link gpu->gpu of 25GB/s (gpu0->gpu1)"
    assert values["bottleneck"] == "gpu0->gpu1 (25GB/s)"
    assert values["ring baseline"] == "30 us: speed-up 1.26x"


def test_a_plain_table_has_one_line_a_row() -> None:
    shown = table(outcome())
    assert render(shown).count("\n") == len(shown.rows) - 1


def test_the_tree_bound_is_not_called_a_bound_on_all_schedules() -> None:
    assert "not of all schedules" in rows(outcome(tree_bound_s=2e-5))["tree bound"]


def test_the_bound_over_the_routes_of_a_runtime_is_told_where_it_differs() -> None:
    assert "route bound" not in rows(outcome(tree_bound_s=2e-5, route_bound_s=2e-5))
    assert rows(outcome(tree_bound_s=2e-5, route_bound_s=2.5e-5))["route bound"].startswith("25")


def test_the_time_is_said_to_be_of_the_program_or_of_the_schedule() -> None:
    alone = outcome(program=None, program_time_s=None)
    assert rows(alone)["predicted time"].endswith(" us (of the schedule, no program was made)")
    assert record(alone)["time_is_of"] == "schedule"
    assert record(alone)["time_us"] == alone.figures.schedule_time_us
    assert record(outcome())["time_is_of"] == "program"


def test_a_run_that_hit_the_limit_says_so() -> None:
    assert "stopped at the time limit" in rows(outcome(hit_time_limit=True))["solve time"]


def test_the_record_has_the_names_that_scripts_use() -> None:
    names = {
        "topology", "op", "ranks", "size_bytes", "symmetry_order", "chunks", "bound_us", "bandwidth_bound_us",
        "latency_bound_us", "combined_bound_us", "window_bound_us", "tree_bound_us", "route_bound_us",
        "schedule_time_us",
        "program_time_us", "schedule_ratio", "program_ratio", "algbw_GBps", "busbw_GBps", "bottleneck", "baselines",
        "synthesis_s", "output", "explain", "rank_order", "datatype", "protocol", "hit_time_limit",
    }  # fmt: skip
    values = json.loads(to_json(record(outcome())))
    assert names <= set(values)
    assert values["baselines"] == {"ring_us": 30.0, "tree_us": 60.0}
    assert values["output"] == str(XML)
    assert values["bound_us"] == pytest.approx(21.67, abs=0.01)
    assert values["selected_sizes"]["asked_size_selected"] is True


def test_without_a_program_its_fields_are_null() -> None:
    values = json.loads(to_json(record(outcome(program=None, program_time_s=None))))
    assert [values[name] for name in ("program_time_us", "program_ratio", "selected_sizes")] == [None, None, None]


def test_nothing_to_send_is_valid_json() -> None:
    none = outcome(schedule_time_s=0.0, program_time_s=0.0, baselines={}, bottleneck=None)
    values = json.loads(to_json(record(none)))
    assert (values["bottleneck"], values["algbw_GBps"], values["baselines"]["ring_us"]) == (None, None, None)
    assert rows(none)["algbw"] == "-"


def test_values_of_numpy_become_numbers() -> None:
    assert json.loads(to_json({"n": np.int64(3), "x": np.float64(0.5), "v": np.arange(2)})) == {
        "n": 3, "x": 0.5, "v": [0, 1],
    }  # fmt: skip


def test_infinities_are_no_json() -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        to_json({"x": float("inf")})


def test_the_last_lines_make_a_runtime_use_the_file() -> None:
    lines = next_steps(outcome())
    assert any("MSCCL_ALGO_DIR" in line for line in lines)
    assert any("selected for multiples of 8B" in line for line in lines)


def test_a_schedule_alone_has_no_such_lines() -> None:
    assert next_steps(outcome(program=None)) == []


@pytest.mark.parametrize("op", OPS.values(), ids=list(OPS))
def test_every_collective_says_what_its_size_is(op: Op) -> None:
    assert "buffer" in size_meaning(op)


def test_a_rooted_program_warns_of_other_roots() -> None:
    lines = next_steps(outcome(demand=Demand(op_named("broadcast"), 2, 2, 1)))
    assert "right only for calls with root 1" in lines[-1]


def test_a_program_for_out_of_place_calls_says_so() -> None:
    lines = next_steps(outcome(program=replace(allgather_program(), in_place=False)))
    assert "for out-of-place calls only" in lines[-1]
