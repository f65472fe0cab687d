"""The jobs file."""

from __future__ import annotations

import numpy as np
import pytest

from syccl.errors import InputError
from syccl.topology.catalog import load_topology
from syccl.traffic import read_jobs

JOBS = """
arrival_gap: {gap}
jobs:
""" + "".join(
    f"  - {{name: j{i}, gpus: 2, compute: 1s, collectives: [{{op: allreduce, size: 1M}}]}}\n" for i in range(200)
)
STATED = "  - {name: late, gpus: 2, compute: 1s, arrival: 7s, collectives: [{op: allreduce, size: 1M}]}\n"


def arrivals_s(gap: str, seed: int) -> list[float]:
    jobs = read_jobs(JOBS.replace("{gap}", gap) + STATED, source="x", topology=load_topology("h800x512"), seed=seed)
    assert jobs[-1].arrival_s == 7.0
    return [job.arrival_s for job in jobs[:-1]]


def test_arrivals_that_are_not_stated_are_drawn_as_far_apart_as_wanted() -> None:
    drawn = arrivals_s("60s", 1)
    assert drawn == sorted(drawn)
    assert np.mean(np.diff([0.0, *drawn])) == pytest.approx(60.0, rel=0.25)
    assert drawn == arrivals_s("60s", 1)
    assert drawn != arrivals_s("60s", 2)
    assert arrivals_s("0s", 1) == [0.0] * 200


def test_arrivals_beyond_the_longest_time_are_refused() -> None:
    with pytest.raises(InputError, match=r"x: arrival_gap: puts the last arrival beyond 1e[+]08 s"):
        arrivals_s("2000h", 0)
