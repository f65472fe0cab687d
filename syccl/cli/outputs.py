"""Where results go: names, checks before the work, atomic writes after it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from syccl.collective import Op
from syccl.errors import InputError
from syccl.units import clipped, format_size

PROGRAM = ".xml"
SCHEDULE = ".json"


def default_output(topology: str, op: Op, *, root: int, size_bytes: int, program: bool) -> Path:
    """Return the file name for a result when none was given, such as ``allreduce.a100x32.64MiB.xml``."""
    name = re.sub(r"[^A-Za-z0-9._+-]+", "_", topology)
    collective = f"{op.name}-root{root}" if op.rooted else op.name
    return Path(f"{collective}.{name}.{format_size(size_bytes)}{PROGRAM if program else SCHEDULE}")


def checked_output(path: Path, *, suffixes: Sequence[str], force: bool) -> None:
    """Check that one output can be written, before any work is done.

    Raises
    ------
    InputError
        When it has none of the suffixes, exists without ``force``, or its folder cannot be written.
    """
    if path.suffix not in suffixes:
        msg = f"output {str(path)!r} must end in {' or '.join(suffixes)}"
        raise InputError(msg)
    _check_free(path, force=force)
    _check_writable(path)


def checked_outputs(paths: Sequence[Path], *, force: bool) -> None:
    """Check that every output can be written, before any work is done.

    Raises
    ------
    InputError
        When a suffix is unknown or given twice, a file exists without ``force``, or its folder cannot be written.
    """
    suffixes = [path.suffix for path in paths]
    for path in paths:
        if path.suffix not in (PROGRAM, SCHEDULE):
            msg = f"output {str(path)!r} must end in .xml (program) or .json (schedule)"
            raise InputError(msg)
        if suffixes.count(path.suffix) > 1:
            msg = f"output {str(path)!r}: -o may be given once for .xml and once for .json"
            raise InputError(msg)
        check_output(path, force=force)


def check_output(path: Path, *, force: bool) -> None:
    """Check that a file can be written, before any work is done; InputError as ``checked_outputs``."""
    _check_free(path, force=force)
    _check_writable(path)


def _check_free(path: Path, *, force: bool) -> None:
    try:
        folder, taken = path.is_dir(), os.path.lexists(path)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    if folder:
        msg = f"output {str(path)!r} is a directory; give the name of a file"
        raise InputError(msg)
    if taken and not force:
        msg = f"output {str(path)!r} exists; --force replaces it, -o chooses another name"
        raise InputError(msg)


def _check_writable(path: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except (OSError, RuntimeError, ValueError) as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: Exception) -> InputError:
    """Return the error to raise; a loop of symbolic links shows as RuntimeError, a null byte as ValueError."""
    reason = error.strerror if isinstance(error, OSError) else None
    return InputError(f"output {clipped(str(path))} cannot be written: {reason or error}; choose another with -o")


Content = str | bytes | Iterable[str]
"""What a file is to hold, whole or in pieces."""


def write_all(texts: Mapping[Path, Content], *, force: bool) -> None:
    """Write every file or none: each into a temporary file beside its place, then all are moved.

    Raises
    ------
    InputError
        When a file cannot be written, or has come into being since it was checked.
    """
    made: dict[Path, Path] = {}
    try:
        for number, (path, text) in enumerate(texts.items()):
            made[path] = _write_beside(path, text, number)
        for path in texts:
            _check_free(path, force=force)
        _place_all(made, force=force)
    finally:
        for temporary in made.values():
            temporary.unlink(missing_ok=True)


def _place_all(made: dict[Path, Path], *, force: bool) -> None:
    """Move every temporary file to its place and take it off ``made``; on an error no new file is left."""
    placed: list[Path] = []
    for path in tuple(made):
        try:
            made[path].replace(path.resolve())
        except (OSError, RuntimeError) as error:
            for other in () if force else placed:
                other.unlink(missing_ok=True)
            raise unwritable(path, error) from error
        placed.append(path)
        del made[path]


def _write_beside(path: Path, content: Content, number: int) -> Path:
    """Write a temporary file in the folder of ``path`` and return its name; nothing is left on an error."""
    place = path.resolve()
    temporary = place.with_name(f".syccl.{os.getpid()}.{number}{place.suffix}.tmp")
    try:
        with temporary.open("wb") as file:
            for piece in (content,) if isinstance(content, str | bytes) else content:
                file.write(piece if isinstance(piece, bytes) else piece.encode())
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
