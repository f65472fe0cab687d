"""What the benchmark counts as a right diagnosis."""

from __future__ import annotations

import pytest

from syccl.traffic.c4d import Fault, Suspect
from tests.quality.measured.diagnosis import KINDS, Connections, diagnosed, named

NODE = Suspect("node", "server0.nic0", ("nic:server0.nic0",))
TX = Suspect("tx side", "server0.nic0 -> rail0", ("arc:server0.nic0/rail0",))
RX = Suspect("rx side", "rail0 -> server0.nic0", ("arc:rail0/server0.nic0",))
OTHER = Suspect("tx side", "server1.nic0 -> rail0", ("arc:server1.nic0/rail0",))
NEXT = Suspect("rx side", "rail1 -> server1.nic1", ("arc:rail1/server1.nic1",))
"""Where the ring's only connection over ``TX`` arrives."""
HEALTHY = Suspect("healthy", "")


def fault(*suspects: Suspect) -> Fault:
    return Fault("communication slow", suspects, 1, "")


def test_faults_are_named_by_the_kinds_of_their_suspects() -> None:
    assert named(()) == "nothing"
    assert named((fault(NODE), fault(TX))) == "several faults"
    assert named((fault(RX, TX, OTHER),)) == "tx side or rx side"


@pytest.mark.parametrize(
    ("truth", "faults", "right"),
    [
        (TX, (fault(TX),), True),
        (TX, (fault(OTHER),), False),
        (TX, (fault(TX, NODE),), False),
        (TX, (fault(TX), fault(OTHER)), False),
        (TX, (), False),
        (NODE, (fault(TX),), False),
        (HEALTHY, (), True),
        (HEALTHY, (fault(TX),), False),
    ],
)
def test_right_is_one_fault_with_no_more_suspects_than_needed(
    truth: Suspect, faults: tuple[Fault, ...], *, right: bool
) -> None:
    assert Connections("ring").is_right(truth, faults) == right


def test_what_a_ring_does_not_tell_apart_may_be_named_together() -> None:
    assert Connections("ring").is_right(TX, (fault(TX, NEXT),))


def test_every_kind_of_fault_is_counted_as_often() -> None:
    counts = diagnosed("ring", 3, 2)
    assert list(counts) == list(KINDS)
    assert all(sum(map(sum, of_kind.values())) == 2 for of_kind in counts.values())
