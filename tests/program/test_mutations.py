"""Faults in right programs are found; those that are not change nothing."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.program.mutations import KINDS, faults, is_found, is_harmless
from tests.program.programs import allpairs_allreduce, direct_alltoall, ring_allreduce, rooted, two_level_allgather
from tests.program.test_replay import ROOTS

PROGRAMS = {
    "ring": ring_allreduce(3, rings=2),
    "pairs": allpairs_allreduce(3),
    "levels": two_level_allgather(2, 2, 1),
    "exchange": direct_alltoall(3, share=2),
    "broadcast": rooted("broadcast", 3, ROOTS["broadcast"], 2),
}
EACH = 12


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_is_found_or_changes_nothing(name: str, kind: str) -> None:
    for made in itertools.islice(faults(PROGRAMS[name], kind, random.Random(f"{name} {kind}")), EACH):
        assert is_found(made) or is_harmless(made, ROOTS.get(name, 0))


def test_nearly_all_faults_are_found() -> None:
    found = [
        is_found(made)
        for name, kind in itertools.product(PROGRAMS, KINDS)
        for made in itertools.islice(faults(PROGRAMS[name], kind, random.Random(f"{name} {kind}")), EACH)
    ]
    assert len(found) >= 500
    assert sum(found) >= 0.95 * len(found)
