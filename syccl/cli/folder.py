"""A folder of results: checked before the work, filled beside its place, moved there whole."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from syccl.cli.outputs import check_output, unwritable
from syccl.errors import InputError


class Folder:
    """A folder that gets an index and a sub-folder of files; whatever else it holds is left alone.

    Parameters
    ----------
    path
        Of the folder; it is made where there is none.
    index
        Name of the index, a JSON file that lists the files under ``entries`` as ``file``.
    files
        Name of the sub-folder.
    entries
        Field of the index.
    """

    def __init__(self, path: Path, *, index: str, files: str, entries: str = "schedules") -> None:
        """Remember the names; nothing is done yet."""
        self.path = path
        self._index, self._files, self._entries = index, files, entries

    def check(self, *, force: bool) -> None:
        """Check that the results can be written, before any work is done.

        Raises
        ------
        InputError
            When results are there without ``force``, the sub-folder holds what the index does not list, or the place
            cannot be written.
        """
        try:
            taken = [name for name in (self._index, self._files) if (self.path / name).exists()]
            strangers = self._strangers()
            is_folder = self.path.is_dir()
            is_other = os.path.lexists(self.path) and not is_folder
        except (OSError, ValueError, RuntimeError) as error:
            raise unwritable(self.path, error) from error
        if is_other:
            msg = f"output {str(self.path)!r} is a file; give the name of a folder"
            raise InputError(msg)
        if taken and not force:
            msg = f"output {str(self.path)!r} holds {taken[0]} already; --force replaces it, or choose another folder"
            raise InputError(msg)
        if strangers:
            msg = (
                f"output {str(self.path)!r} holds {self._files}/{strangers[0]}, which {self._index} does not list; "
                "--force replaces only what was written here before, move it or choose another folder"
            )
            raise InputError(msg)
        check_output(self.path / self._index if is_folder else self.path, force=True)

    def _strangers(self) -> list[str]:
        """Return what the sub-folder holds beside the files that the index lists."""
        inside = self.path / self._files
        if not inside.is_dir():
            return [""] if inside.exists() else []
        return sorted({path.name for path in inside.iterdir()} - self._listed())

    def _listed(self) -> set[str]:
        try:
            found = json.loads((self.path / self._index).read_text(encoding="utf-8"))
            return {Path(entry["file"]).name for entry in found[self._entries]}
        except (OSError, ValueError, KeyError, TypeError):
            return set()

    def write(self, files: Iterator[tuple[str, str]], index: str, *, force: bool) -> None:
        """Write all files and the index, or nothing.

        Parameters
        ----------
        files
            Name below the folder and text of each.

        Raises
        ------
        InputError
            When something cannot be written, or has come into being since it was checked.
        """
        with self._beside() as place:
            try:
                (place / self._files).mkdir()
                for name, text in files:
                    (place / name).write_text(text, encoding="utf-8", newline="\n")
                (place / self._index).write_text(index, encoding="utf-8", newline="\n")
                self.check(force=force)
                self._move(place, (self._files, self._index))
            except (OSError, RuntimeError) as error:
                raise unwritable(self.path, error) from error

    @contextmanager
    def _beside(self) -> Iterator[Path]:
        """Give a temporary folder on the same file system; the folder itself is taken away if nothing came into it."""
        try:
            fresh = not self.path.exists()
            self.path.mkdir(exist_ok=True)
            place = Path(tempfile.mkdtemp(prefix=".syccl.", dir=self.path))
        except (OSError, RuntimeError) as error:
            raise unwritable(self.path, error) from error
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
            if fresh and not any(self.path.iterdir()):
                self.path.rmdir()

    def _move(self, place: Path, names: Sequence[str]) -> None:
        """Move the results to their place; on an error what was there before comes back."""
        moved: list[str] = []
        try:
            for name in names:
                moved.append(name)
                if (self.path / name).exists():
                    (self.path / name).rename(place / f"old-{name}")
                (place / name).rename(self.path / name)
        except OSError:
            for name in moved:
                if (place / f"old-{name}").exists():
                    if (self.path / name).exists():
                        (self.path / name).rename(place / name)
                    (place / f"old-{name}").rename(self.path / name)
            raise
