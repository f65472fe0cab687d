"""The examples run and say what they should."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from syccl.program.msccl_xml import read_xml
from syccl.program.verify import verify_program
from syccl.schedule.json_file import read_json
from syccl.schedule.verify import verify_schedule

FOLDER = Path(__file__).parent.parent / "examples"


def output_of(name: str, *args: str) -> str:
    script = FOLDER / name
    return subprocess.run([sys.executable, str(script), *args], capture_output=True, text=True, check=True).stdout


def test_a_file_is_made_from_python(tmp_path: Path) -> None:
    path = tmp_path / "made.xml"
    shown = output_of("01_synthesize.py", str(path))
    bound, schedule, program = map(float, re.findall(r"([\d.]+) us", shown))
    assert bound <= schedule <= 1.1 * bound
    assert bound <= program <= 1.1 * bound
    assert not verify_program(read_xml(path.read_text(encoding="utf-8"), source="made.xml"))


def test_a_cluster_of_ones_own_gets_a_correct_schedule() -> None:
    shown = output_of("02_own_topology.py")
    assert shown.startswith("own_cluster: 6 GPUs, 28 links\n")
    assert shown.endswith("\ncorrect\n")


def test_transfers_written_by_hand_are_verified_and_lowered() -> None:
    shown = output_of("03_own_transfers.py").splitlines()
    assert shown[0] == "by hand: 0 findings"
    assert [line for line in shown if line.startswith("without its last transfer: ")]
    assert shown[-2].startswith("its program: 0 findings, ")
    assert shown[-1].startswith('<algo name="ring" proto="Simple" nchannels="1" nchunksperloop="4" ngpus="4"')


def test_the_mapping_of_eflops_has_one_flow_on_a_link(tmp_path: Path) -> None:
    made = [tmp_path / "plain.json", tmp_path / "hdrm.json"]
    shown = output_of("04_bigraph.py", *map(str, made)).splitlines()
    assert [re.sub(r"[\d.]+ us", "", line) for line in shown] == [
        "plain: 0 findings, 4 flows on a link, ",
        "hdrm: 0 findings, 1 flows on a link, ",
    ]
    plain_us, hdrm_us = (float(line.split()[-2]) for line in shown)
    assert hdrm_us < 0.85 * plain_us
    assert [not verify_schedule(read_json(path.read_text(encoding="utf-8"), source="made")) for path in made] == [
        True
    ] * 2


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_examples_are_short_and_listed(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60
    assert f"`{path.name}`" in (FOLDER / "README.md").read_text(encoding="utf-8")
