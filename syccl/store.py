"""Answers that are kept: text found again by text, in memory and in a folder on disk.

An answer is kept in a file of its own, named after the hash of its question. The question stands in the file beside
the answer, so two questions of one hash never share an answer, and so does a hash of both, so that a file that was cut
off or changed is told from a whole one. Files are written under another name and moved into place: other processes see
a whole file or none. Whatever a folder holds or refuses, the worst is that an answer is found anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

FORMAT = 1
"""Of the files; others are ignored."""
_LARGEST_FILE = 1 << 24
"""Bytes; what is larger is none of ours."""


def default_folder(environment: Mapping[str, str], platform: str, home: Path) -> Path:
    """Return where a platform keeps what programs can make again.

    Parameters
    ----------
    environment
        Environment variables.
    platform
        As ``sys.platform`` names it.
    home
        The user's home directory.
    """
    if platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local") / "syccl" / "Cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / "syccl"
    base = environment.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification has relative paths ignored.
    return (Path(base) if os.path.isabs(base) else home / ".cache") / "syccl"


class Store:
    """Answers by question, in memory and, where a folder is given, on disk.

    Parameters
    ----------
    folder
        Where files are kept, made when the first one is written; None for memory alone.
    warn
        Is told, once at most, why the folder cannot be used.
    """

    def __init__(self, folder: Path | None = None, *, warn: Callable[[str], None] = lambda _: None) -> None:
        self._folder = folder
        self._warn = warn
        self._has_warned = False
        self._known: dict[str, str] = {}

    def __reduce__(self) -> tuple[type[Store], tuple[Path | None]]:
        """Travel to another process without the answers in memory; nobody is warned there."""
        return Store, (self._folder,)

    def read(self, question: str) -> str | None:
        """Return the answer to a question, or None where none is kept."""
        if question not in self._known and self._folder is not None:
            answer = self._from_disk(self._folder, question)
            if answer is not None:
                self._known[question] = answer
        return self._known.get(question)

    def write(self, question: str, answer: str) -> None:
        """Keep an answer; where another one was kept it is replaced."""
        self._known[question] = answer
        if self._folder is not None:
            try:
                _replace(_place(self._folder, question), _sealed(question, answer))
            except OSError as error:
                self._complain(self._folder, f"cannot be written: {error.strerror or error}")

    def _from_disk(self, folder: Path, question: str) -> str | None:
        place = _place(folder, question)
        try:
            if not place.is_file() or place.stat().st_size > _LARGEST_FILE:
                return None
            text = place.read_bytes().decode(errors="replace")
        except OSError as error:
            self._complain(folder, f"cannot be read: {error.strerror or error}")
            return None
        return _opened(text, question)

    def _complain(self, folder: Path, why: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            self._warn(f"cache {str(folder)!r} {why}; going on without; --cache chooses another, --no-cache none")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _place(folder: Path, question: str) -> Path:
    name = _digest(question)
    return folder / name[:2] / f"{name}.json"


def _sealed(question: str, answer: str) -> str:
    seal = _digest(json.dumps([FORMAT, question, answer]))
    return json.dumps({"syccl_cache": FORMAT, "question": question, "answer": answer, "seal": seal}) + "\n"


def _opened(text: str, question: str) -> str | None:
    """Return the answer in a file's text, or None unless the file is exactly one that was written for the question."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    answer = found.get("answer") if isinstance(found, dict) else None
    return answer if isinstance(answer, str) and text == _sealed(question, answer) else None


def _replace(place: Path, text: str) -> None:
    """Put a text in a file at once; nothing is left beside it on an error."""
    place.parent.mkdir(parents=True, exist_ok=True)
    # Not by tempfile, whose files only their owner can read: users may share a folder.
    temporary = place.with_name(f".new-{os.getpid()}-{secrets.token_hex(8)}")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)
