"""Programs for a runtime whose kernels do one thing at a time."""

from __future__ import annotations

import pytest

from syccl.lowering.lower import program_of
from syccl.lowering.tasks import Wiring
from syccl.program.ir import StepType
from syccl.program.targets import RCCL
from syccl.schedule import Schedule
from syccl.schedule.transform import reverse
from syccl.simulate.cost import PROTOCOLS
from tests.lowering.made import complaints, counts, lowered
from tests.schedule.tiny import (
    chain_broadcast,
    doubling_allreduce,
    rail_allreduce,
    ring_allgather,
    ring_allreduce,
    star_reducescatter,
)

SIMPLE = PROTOCOLS["Simple"]


@pytest.mark.parametrize(
    ("schedule", "wiring"),
    [
        (ring_allgather(4), Wiring(1, fuse=True)),
        (ring_allreduce(4), Wiring(1, fuse=True)),
        (ring_allreduce(3), Wiring(2)),
        (star_reducescatter(4), Wiring(1)),
        (reverse(chain_broadcast(4, 2)), Wiring(1)),
        (doubling_allreduce(4), Wiring(1)),
        (rail_allreduce(3, 2), Wiring(2, split=True)),
    ],
    ids=["gather", "ring", "ring-2", "star", "root", "doubling", "rail"],
)
def test_programs_of_plain_steps_are_right_in_place_and_out_of_place(schedule: Schedule, wiring: Wiring) -> None:
    found = lowered(schedule, wiring, target=RCCL)
    made = program_of(found, SIMPLE, name="test")
    assert {step.type for rank in made.ranks for block in rank.blocks for step in block.steps} <= RCCL.step_types
    assert complaints(made) == []
    assert counts(made)["steps"] <= RCCL.steps


def test_a_sum_takes_two_steps_and_the_first_one_a_copy() -> None:
    made = program_of(lowered(star_reducescatter(3), target=RCCL), SIMPLE, name="test")
    types = [step.type for block in made.ranks[0].blocks for step in block.steps if block.recv >= 0]
    assert types.count(StepType.RECV) == types.count(StepType.REDUCE) == 2
    assert types.count(StepType.COPY) == 1
    assert made.ranks[0].scratch_chunks == 2
