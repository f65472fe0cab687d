from __future__ import annotations

import pytest

from syccl.collective import op_named
from syccl.pipeline import Options, synthesize
from syccl.program.msccl_xml import read_xml, write_xml
from syccl.program.replay import replay_findings
from syccl.schedule.verify import verify_schedule
from tests.strategies import one_switch, ring, torus, two_servers

ROUNDING = 1 + 1e-9

TOPOLOGIES = {
    "ring": ring(5),
    "switch": one_switch(4),
    "torus": torus(3, 3),
    "servers": two_servers(3, 2),
}


@pytest.mark.parametrize("root", [0, 2])
@pytest.mark.parametrize("op", ["broadcast", "reduce", "gather", "scatter"])
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_programs_of_rooted_collectives_give_the_right_numbers(name, op, root):
    made = synthesize(TOPOLOGIES[name], op_named(op), Options(size_bytes=1 << 20), root=root)
    assert verify_schedule(made.schedule) == ()
    program = read_xml(write_xml(made.program), source="made")
    assert replay_findings(program, in_place=None, root=root) == ()
    assert made.bound.seconds <= made.schedule_time_s * ROUNDING
    assert made.schedule_time_s <= made.program_time_s * ROUNDING


def test_every_root_of_a_switch_broadcasts_near_the_bound():
    made = synthesize(one_switch(6), op_named("broadcast"), Options(size_bytes=64 << 20, want_program=False), root=3)
    assert made.schedule_time_s <= 1.1 * made.bound.seconds
