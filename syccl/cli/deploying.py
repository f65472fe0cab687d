"""The files of ``syccl plan --deploy``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from syccl.errors import InputError
from syccl.units import clipped

if TYPE_CHECKING:
    from syccl.cli.folder import Folder
    from syccl.traffic.deploy import Mark
    from syccl.traffic.policies import Decision, Mix

INDEX, FILES = "index.json", "deploy"
Command = Callable[..., Any]


def deploy_options(command: Command) -> Command:
    """Add ``--deploy``, ``--dscp``, ``--qps`` and ``--force``."""
    for option in (
        click.option("--force", is_flag=True, help="Replace what --deploy wrote before."),
        click.option(
            "--qps",
            type=int,
            default=1,
            show_default=True,
            metavar="N",
            help="With --deploy: queue pairs of a connection, 1 to 128.",
        ),
        click.option(
            "--dscp",
            metavar="LIST",
            help="With --deploy: DSCP of each level, highest first, such as 46,34,26. Default: 8 times its priority.",
        ),
        click.option(
            "--deploy",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Folder for an environment of each job, a table of priorities, and the paths.",
        ),
    ):
        command = option(command)
    return command


def read_deployment(
    path: Path | None, levels: tuple[int, int], dscp: str | None, *, qps: int
) -> tuple[tuple[Mark, ...], Folder | None]:
    """Return the mark of each level and the folder to write, None where none is asked for.

    Parameters
    ----------
    levels
        Levels of jobs, and reserved ones.

    Raises
    ------
    InputError
        When ``dscp`` is no list of DSCPs, one for each level, or ``qps`` is not what NCCL takes.
    """
    from syccl.cli.folder import Folder
    from syccl.traffic.deploy import check_qps, marks

    check_qps(qps)
    found = marks(*levels, None if dscp is None else _numbers(dscp))
    return found, None if path is None else Folder(path, index=INDEX, files=FILES, entries="files")


def _numbers(text: str) -> list[int]:
    entries = [entry.strip() for entry in text.split(",")]
    for entry in entries:
        if not (entry.isascii() and entry.isdigit() and len(entry) <= 3):
            msg = f"--dscp: {clipped(entry)} is no DSCP; write whole numbers with commas, such as 46,34,26"
            raise InputError(msg)
    return [int(entry) for entry in entries]


def write_deployment(
    folder: Folder, mix: Mix, decision: Decision, marks: Sequence[Mark], *, policy: str, qps: int, force: bool
) -> None:
    """Write all files and the index, or nothing; paths only where the policy chooses them."""
    from syccl.traffic.deploy import NCCL, PLUGIN, SWITCHES, environment, path_list, priority_table
    from syccl.traffic.policies import chooses_paths

    def files() -> Iterator[tuple[str, str]]:
        for job, level in zip(mix.jobs, decision.levels, strict=True):
            yield f"{FILES}/{job.name}.env", environment(job.name, marks[level], qps)
        yield f"{FILES}/priorities.csv", priority_table(marks)
        if chooses_paths(policy):
            yield f"{FILES}/paths.json", path_list(mix, decision, marks)

    listed: list[dict[str, object]] = [
        {"file": f"{FILES}/{job.name}.env", "for": NCCL, "job": job.name, "start_after_s": shift}
        for job, shift in zip(mix.jobs, decision.shift_s, strict=True)
    ]
    listed.append({"file": f"{FILES}/priorities.csv", "for": SWITCHES})
    if chooses_paths(policy):
        listed.append({"file": f"{FILES}/paths.json", "for": PLUGIN})
    index = {"topology": mix.topology.name, "policy": policy, "files": listed}
    folder.write(files(), json.dumps(index, indent=1) + "\n", force=force)
