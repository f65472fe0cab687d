"""Proofs as files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.collective import OPS
from syccl.errors import InputError
from syccl.proof import verify_certificate
from syccl.proof.json_file import is_certificate, read_certificate, write_certificate
from syccl.schedule.json_file import write_json
from syccl.topology import Topology
from tests.proof.made import certificate
from tests.report.made import allgather_schedule
from tests.strategies import ring, symmetric_topologies


@given(symmetric_topologies(), st.sampled_from(sorted(OPS)))
def test_reading_gives_back_what_was_written(topology: Topology, op: str) -> None:
    text = write_certificate(certificate(topology, op, 10_000))
    stated = read_certificate(text, source="p.json")
    assert write_certificate(stated) == text
    assert verify_certificate(stated) == ()
    assert is_certificate(text)


def test_schedules_are_no_proofs() -> None:
    assert not is_certificate(write_json(allgather_schedule(ring(2)), made_by={"seed": 0}))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("syccl-bound/1", "syccl-bound/9", "this version reads 'syccl-bound/1'"),
        ('"allgather"', '"gatherall"', "unknown collective"),
        ("no schedule takes", "no schedule ever takes", "does not fit the end of the grid"),
        ('"size_bytes": 10000', '"size_bytes": 0', "0 is not a whole number of at least 1"),
        ('"root": 0,', '"root": 0, "proof": 1,', "unknown field 'proof'"),
        ("25000000000", "26000000000", "does not fit nodes and links"),
    ],
)
def test_faults_are_told_with_file_and_field(old: str, new: str, words: str) -> None:
    text = write_certificate(certificate(ring(3), "allgather", 10_000))
    assert old in text
    with pytest.raises(InputError, match=words) as raised:
        read_certificate(text.replace(old, new), source="p.json")
    assert str(raised.value).startswith("p.json")
