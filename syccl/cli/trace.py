"""``syccl trace``: a moment of a trace as a jobs file and a fabric."""

from __future__ import annotations

from pathlib import Path

import click

from syccl.cli.common import finite, json_option
from syccl.errors import InputError

DEFAULT_BILLIONS, DEFAULT_TOKENS = 1.0, 4096


@click.command("trace", short_help="Make a jobs file and a fabric of a moment of a trace.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--at", "moment", metavar="TIME", help="Moment, such as '2023/7/20 12:00'. Default: most GPUs are held.")
@click.option(
    "--billions",
    type=click.FloatRange(min=1e-6, max=1e6),
    callback=finite,
    default=DEFAULT_BILLIONS,
    show_default=True,
    metavar="N",
    help="1e9 parameters of models whose names do not state them.",
)
@click.option(
    "--tokens",
    type=click.IntRange(min=1, max=10**9),
    default=DEFAULT_TOKENS,
    show_default=True,
    metavar="N",
    help="Tokens of every GPU in an iteration.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), default="jobs.yaml", show_default=True, metavar="FILE")
@click.option("--fabric", type=click.Path(path_type=Path), default="fabric.yaml", show_default=True, metavar="FILE")
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@json_option
def command(  # noqa: PLR0913  one parameter an option
    *,
    folder: Path,
    moment: str | None,
    billions: float,
    tokens: int,
    output: Path,
    fabric: Path,
    force: bool,
    as_json: bool,
) -> int:
    """Make a jobs file and its fabric of the jobs that ran at a moment of a trace.

    DIR holds job.csv, worker.csv and topo.csv of github.com/alibaba/alibaba-lingjun-dataset-2023. What that trace does
    not tell, compute and communication of jobs and bandwidths of links, is assumed; docs/traffic.md says how.

    For example: syccl trace alibaba-lingjun-dataset-2023/data, then syccl plan jobs.yaml --topo fabric.yaml
    """
    from syccl.cli.files import read_text
    from syccl.cli.outputs import checked_output, write_all
    from syccl.report.synthesis import to_json
    from syccl.topology.yaml_file import write_yaml
    from syccl.traffic import lingjun
    from syccl.traffic.lingjun_files import Assumed, jobs_text
    from syccl.traffic.lingjun_files import fabric as fabric_of

    if output.absolute() == fabric.absolute():
        msg = f"-o and --fabric name the same file, {output}"
        raise InputError(msg)
    for path in (output, fabric):
        checked_output(path, suffixes=(".yaml",), force=force)
    at = None if moment is None else lingjun.parse_moment(moment)
    trace = lingjun.read_trace({name: read_text(folder / name) for name in lingjun.FILES}, source=str(folder))
    found = lingjun.jobs_at(trace, lingjun.busiest_moment(trace) if at is None else at)
    topology, numbers = fabric_of(trace, found)
    text = jobs_text(trace, found, numbers, Assumed(billions * 1e9, tokens))
    write_all({output: text, fabric: write_yaml(topology)}, force=force)
    told = {
        "at": f"{found.at:%Y/%m/%d %H:%M}",
        "jobs": len(found.jobs),
        "gpus": sum(sum(hosts.values()) for hosts in found.jobs.values()),
        "servers": len(numbers),
        "left_out_of_one_gpu": found.single,
        "left_out_without_room": found.crowded,
    }
    if as_json:
        click.echo(to_json(told))
        return 0
    click.echo(f"{told['at']}: {told['jobs']} jobs on {told['gpus']} GPUs of {told['servers']} servers")
    click.echo(f"left out: {found.single} jobs of one GPU, {found.crowded} whose hosts have no GPUs left")
    click.echo(f"wrote {output} and {fabric}; to go on:\n  syccl plan {output} --topo {fabric} --policy all")
    return 0
