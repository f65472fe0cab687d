"""A folder of results: whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from syccl.cli.folder import Folder
from syccl.errors import InputError

NAMES = {"index": "index.json", "files": "inside"}


def listing(*names: str) -> str:
    return json.dumps({"schedules": [{"file": f"inside/{name}"} for name in names]})


def write(path: Path, *names: str, force: bool = False) -> None:
    Folder(path, **NAMES).write(((f"inside/{n}", f"text of {n}") for n in names), listing(*names), force=force)


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("is_there", [False, True])
def test_files_and_index_are_written(tmp_path: Path, is_there: bool) -> None:
    place = tmp_path / "out"
    if is_there:
        place.mkdir()
    write(place, "a.xml", "b.xml")
    assert everything(place) == ["index.json", "inside", "inside/a.xml", "inside/b.xml"]
    assert (place / "inside/b.xml").read_text() == "text of b.xml"
    assert (place / "index.json").read_text() == listing("a.xml", "b.xml")


def test_results_are_replaced_only_by_force_and_strangers_stay(tmp_path: Path) -> None:
    write(tmp_path, "a.xml", "b.xml")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds index.json already; --force replaces it, or choose another folder"):
        write(tmp_path, "c.xml")
    write(tmp_path, "c.xml", force=True)
    assert everything(tmp_path) == ["index.json", "inside", "inside/c.xml", "notes.txt"]


@pytest.mark.parametrize("index", [listing("a.xml"), "no JSON", "[]", '{"schedules": [{}]}', None])
def test_what_the_index_does_not_list_is_never_removed(tmp_path: Path, index: str | None) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/mine.xml").write_text("mine")
    if index is not None:
        (tmp_path / "index.json").write_text(index)
    with pytest.raises(InputError, match=r"holds inside/mine\.xml, which index\.json does not list; --force replaces"):
        Folder(tmp_path, **NAMES).check(force=True)
    with pytest.raises(InputError, match="inside/mine"):
        write(tmp_path, "c.xml", force=True)
    assert (tmp_path / "inside/mine.xml").read_text() == "mine"
    assert not (tmp_path / "inside/c.xml").exists()


def test_an_error_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    def files() -> Iterator[tuple[str, str]]:
        yield "inside/a.xml", "text"
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        Folder(tmp_path / "out", **NAMES).write(files(), "{}", force=False)
    assert everything(tmp_path) == []


def test_an_error_while_moving_brings_back_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.xml")
    rename = Path.rename

    def fails(path: Path, target: Path) -> Path:
        if path.name == "index.json" and target.parent == tmp_path:
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write(tmp_path, "c.xml", force=True)
    assert (tmp_path / "inside/a.xml").read_text() == "text of a.xml"
    assert not (tmp_path / "inside/c.xml").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file", "is a file; give the name of a folder"),
        ("file/below", "cannot be written"),
        ("missing/below", "cannot be written: No such file or directory"),
        ("x" * 300, "cannot be written: File name too long"),
        ("a\0b", "cannot be written"),
    ],
)
def test_places_that_cannot_hold_a_folder_are_refused_before_the_work(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("text")
    with pytest.raises(InputError, match=message):
        Folder(tmp_path / name, **NAMES).check(force=False)
    assert everything(tmp_path) == ["file"]
