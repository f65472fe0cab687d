"""Options that ``paths`` and ``plan --deploy`` share."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

import click
import pytest

from syccl.cli import paths, plan
from syccl.cli.connections import HASHES, MOST_QUEUE_PAIRS, addresses_of
from syccl.errors import InputError
from syccl.traffic.c4p import hashing
from tests.cli.run import run
from tests.strategies import two_servers

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "jobs.yaml"
Capsys = pytest.CaptureFixture[str]
VERBS = {"paths": paths.command, "plan": plan.command}
SHARED = {"--queue-pairs": "queue_pairs", "--hash": "hash_name", "--addresses": "addresses"}


def test_both_verbs_take_the_same_values() -> None:
    for name, parameter in SHARED.items():
        found = [next(p for p in verb.params if p.name == parameter) for verb in VERBS.values()]
        assert all(isinstance(each, click.Option) and each.opts == [name] for each in found)
        of_paths, of_plan = (each.to_info_dict() for each in found)
        assert of_plan.pop("help").lower() == f"with --deploy: {of_paths.pop('help').lower()}"
        assert of_paths == of_plan


def test_every_hash_can_be_chosen() -> None:
    assert tuple(hashing.HASHES) == HASHES


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("count", ["0", str(MOST_QUEUE_PAIRS + 1), "many"])
def test_numbers_of_queue_pairs_that_nccl_refuses_are_refused(capsys: Capsys, verb: str, count: str) -> None:
    result = run(capsys, verb, str(EXAMPLE), "--topo", "a100x32", "--queue-pairs", count)
    assert (result.code, result.out) == (2, "")
    assert "--queue-pairs" in result.err
    assert count in result.err


def test_addresses_are_made_up_unless_a_file_states_them(tmp_path: Path) -> None:
    topology, file = two_servers(2), tmp_path / "nics.csv"
    made_up = addresses_of(topology, None)
    assert list(made_up.values())[:2] == [IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2")]
    file.write_text("".join(f"{name},10.1.0.{at}\n" for at, name in enumerate(made_up, 1)), encoding="utf-8")
    assert addresses_of(topology, file) == {name: IPv4Address(f"10.1.0.{at}") for at, name in enumerate(made_up, 1)}
    file.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"nics\.csv: no address for "):
        addresses_of(topology, file)
