"""The door: parses the command line, runs one verb, turns errors into one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from syccl import __version__
from syccl.errors import InputError, InternalError, SycclError

VERBS = {
    "synth": "syccl.cli.synth",
    "tune": "syccl.cli.tune",
    "bound": "syccl.cli.bound",
    "verify": "syccl.cli.verify",
    "lint": "syccl.cli.lint",
    "lower": "syccl.cli.lower",
    "lift": "syccl.cli.lift",
    "simulate": "syccl.cli.simulate",
    "compare": "syccl.cli.compare",
    "plan": "syccl.cli.plan",
    "trace": "syccl.cli.trace",
    "paths": "syccl.cli.paths",
    "diagnose": "syccl.cli.diagnose",
    "topo": "syccl.cli.topo",
}
"""Module that holds each verb; it is imported when the verb is used."""

INTERRUPTED = 130
BROKEN_PIPE = 141
NO_OUTPUT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""What the system says, without a file's name, when standard output is full or gone."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of a session."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a verb and return its ``command``."""
        if cmd_name not in VERBS:
            return None
        command = importlib.import_module(VERBS[cmd_name]).command
        return command if isinstance(command, click.Command) else None


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done and verified, or it holds; 1 it does not hold; 2 wrong command line; 3 wrong input; "
    "4 proved infeasible; 5 gave up at the limit; 70 a bug in syccl.",
)
@click.version_option(__version__, prog_name="syccl", message="%(prog)s %(version)s")
def root() -> None:
    """Make collective-communication schedules for GPU clusters, each with a certified lower bound."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    args
        Arguments without the program's name; None reads the process's own.
    """
    if sys.stdout is None:
        return _lost_output("it is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # File names may hold bytes that are no text.
    gc.disable()  # A command is over before cyclic garbage counts; looking for it costs a fifth of the time.
    try:
        status = root.main(args=None if args is None else list(args), prog_name="syccl", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # Click exits by itself when a pipe breaks, and for no other reason.
        _discard_output()
        return BROKEN_PIPE
    except OSError as error:
        if error.filename is not None or error.errno not in NO_OUTPUT:
            return _failed(error)
        _discard_output()
        return _lost_output(error.strerror or str(error))
    except Exception as error:  # noqa: BLE001  the last line of defence: no traceback for a user
        return _failed(error)
    return status if isinstance(status, int) else 0


def _discard_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's own last flush does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lost_output(why: str) -> int:
    """Say that standard output takes nothing, where standard error still does, and return the exit code."""
    with contextlib.suppress(OSError):
        click.echo(f"error: standard output cannot be written: {why}", err=True)
    return InputError.exit_code


def _failed(error: Exception) -> int:
    """Print an error as one line and return its exit code."""
    if os.environ.get("SYCCL_DEBUG") == "1":
        traceback.print_exception(error)
    if isinstance(error, SycclError) and not isinstance(error, InternalError):
        click.echo(f"error: {' '.join(str(error).split())}", err=True)
        return error.exit_code
    text = " ".join(f"{type(error).__name__}: {error}".split())
    click.echo(f"error: a bug in syccl: {text}; SYCCL_DEBUG=1 shows where, please report it", err=True)
    return InternalError.exit_code
