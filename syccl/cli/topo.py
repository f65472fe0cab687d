"""``syccl topo``: list, show, check, compare, import, generate, cut down and damage topologies."""

from __future__ import annotations

import importlib

import click

SUBVERBS = {
    "list": "syccl.cli.topo_show:list_bundled",
    "show": "syccl.cli.topo_show:show_one",
    "check": "syccl.cli.topo_show:check_one",
    "diff": "syccl.cli.topo_show:compare",
    "import": "syccl.cli.topo_make:import_file",
    "generate": "syccl.cli.topo_make:generate_one",
    "subset": "syccl.cli.topo_make:cut_down",
    "degrade": "syccl.cli.topo_make:degrade",
    "plot": "syccl.cli.topo_show:plot",
    "rings": "syccl.cli.topo_rings:rings",
    "schema": "syccl.cli.topo_show:schema",
}
"""Where each verb stands; it is imported when it is used."""


class _Topo(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of use."""
        return list(SUBVERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a verb and return its command."""
        if cmd_name not in SUBVERBS:
            return None
        module, name = SUBVERBS[cmd_name].split(":")
        command = getattr(importlib.import_module(module), name)
        return command if isinstance(command, click.Command) else None


@click.group("topo", cls=_Topo)
def command() -> None:
    """List, show, check, compare, import, generate and change topologies."""
