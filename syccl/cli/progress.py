"""Word of what is going on, on a terminal, when it takes long."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

import click

PATIENCE_S = 2.0
"""Seconds of silence before the first word."""


class Progress:
    """Shows the latest message on standard error once two seconds have passed; nothing when that is no terminal.

    Use it as a context manager around the work and call it with each message.
    """

    def __init__(self, *, quiet: bool, patience_s: float = PATIENCE_S) -> None:
        """Start silent; ``quiet`` keeps it so."""
        self._enabled = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._timer = threading.Timer(patience_s, self._begin)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._latest = ""
        self._begun = False

    def __call__(self, message: str) -> None:
        """Take the next message."""
        with self._lock:
            self._latest = message
            if self._begun:
                self._show()

    def __enter__(self) -> Progress:
        """Start the clock."""
        if self._enabled:
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop the clock and wipe the line."""
        self._timer.cancel()
        with self._lock:
            if self._begun:
                click.echo("\r\x1b[K", nl=False, err=True)
            self._begun = False

    def _begin(self) -> None:
        with self._lock:
            self._begun = True
            self._show()

    def _show(self) -> None:
        if self._latest:
            click.echo(f"\r\x1b[K{self._latest}", nl=False, err=True)
