"""The files of ``syccl plan --deploy``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from syccl.cli.connections import addresses_of, connection_options
from syccl.errors import InputError
from syccl.units import clipped

if TYPE_CHECKING:
    from syccl.cli.folder import Folder
    from syccl.traffic.c4p.hashing import Hashing
    from syccl.traffic.deploy import Mark
    from syccl.traffic.pairs import Sends
    from syccl.traffic.policies import Decision, Mix

INDEX, FILES = "index.json", "deploy"
Command = Callable[..., Any]


def deploy_options(command: Command) -> Command:
    """Add ``--deploy`` and the options that say what it writes."""
    for option in (
        connection_options("With --deploy"),
        click.option("--force", is_flag=True, help="Replace what --deploy wrote before."),
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


@dataclass(frozen=True)
class Deployment:
    """What ``--deploy`` and the options beside it ask for; ``addresses`` is a file, ``hashing`` is that of switches."""

    folder: Folder
    marks: tuple[Mark, ...]
    queue_pairs: int
    hashing: Hashing
    addresses: Path | None
    force: bool

    def write(self, mix: Mix, decision: Decision, sends: Sequence[Sends], *, policy: str) -> None:
        """Write all files and the index, or nothing; paths only where the policy chooses them."""
        from syccl.traffic.deploy import NCCL, PLUGIN, SWITCHES, environment, priority_table
        from syccl.traffic.policies import chooses_paths

        texts = {
            f"{FILES}/{job.name}.env": environment(job.name, self.marks[level], self.queue_pairs)
            for job, level in zip(mix.jobs, decision.levels, strict=True)
        }
        listed: list[dict[str, object]] = [
            {"file": name, "for": NCCL, "job": job.name, "start_after_s": shift}
            for name, job, shift in zip(texts, mix.jobs, decision.shift_s, strict=True)
        ]
        texts[f"{FILES}/priorities.csv"] = priority_table(self.marks)
        listed.append({"file": f"{FILES}/priorities.csv", "for": SWITCHES})
        if chooses_paths(policy):
            texts[f"{FILES}/paths.json"] = self._paths(mix, decision, sends)
            listed.append({"file": f"{FILES}/paths.json", "for": PLUGIN})
        index = {"topology": mix.topology.name, "policy": policy, "files": listed}
        self.folder.write(iter(texts.items()), json.dumps(index, indent=1) + "\n", force=self.force)

    def _paths(self, mix: Mix, decision: Decision, sends: Sequence[Sends]) -> str:
        from syccl.report.paths import paths_file
        from syccl.report.synthesis import to_json
        from syccl.traffic.c4p import ways_of
        from syccl.traffic.c4p.ports import source_ports
        from syccl.traffic.deploy import chosen_paths

        known = addresses_of(mix.topology, self.addresses)
        paths = chosen_paths(mix, decision, sends, queue_pairs=self.queue_pairs)
        ports = source_ports(paths, ways_of(mix.topology, paths.connections), self.hashing, known)
        return to_json(paths_file(paths, ports, self.hashing, known)) + "\n"


def read_deployment(levels: tuple[int, int], seed: int, options: dict[str, Any]) -> Deployment | None:
    """Return what is asked for; None where it is nothing.

    Parameters
    ----------
    levels
        Levels of jobs, and reserved ones.
    options
        Those that ``deploy_options`` adds.

    Raises
    ------
    InputError
        When ``--dscp`` is no list of DSCPs, one for each level, or the folder cannot be written.
    """
    from syccl.cli.folder import Folder
    from syccl.traffic.c4p.hashing import Hashing
    from syccl.traffic.deploy import marks

    found = marks(*levels, None if options["dscp"] is None else _numbers(options["dscp"]))
    if options["deploy"] is None:
        return None
    folder = Folder(options["deploy"], index=INDEX, files=FILES, entries="files")
    folder.check(force=options["force"])
    hashing = Hashing(options["hash_name"], seed)
    return Deployment(folder, found, options["queue_pairs"], hashing, options["addresses"], options["force"])


def _numbers(text: str) -> list[int]:
    entries = [entry.strip() for entry in text.split(",")]
    for entry in entries:
        if not (entry.isascii() and entry.isdigit() and len(entry) <= 3):
            msg = f"--dscp: {clipped(entry)} is no DSCP; write whole numbers with commas, such as 46,34,26"
            raise InputError(msg)
    return [int(entry) for entry in entries]
