"""Answers that are kept, whatever becomes of the folder."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import copy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl import store
from syccl.store import Store, default_folder


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def written(folder: Path, question: str = "q", answer: str = "a") -> Path:
    """The file of an answer that was just kept."""
    before = set(kept(folder)) if folder.exists() else set()
    Store(folder).write(question, answer)
    (path,) = set(kept(folder)) - before
    return path


@given(st.dictionaries(st.text(), st.text()))
def test_what_was_written_is_read_in_memory(answers: dict[str, str]) -> None:
    memory = Store()
    for question, answer in answers.items():
        memory.write(question, answer)
    assert {question: memory.read(question) for question in answers} == answers
    assert memory.read("".join(answers) + "never asked") is None


def test_another_process_finds_it_on_disk_and_nothing_else_lies_beside(tmp_path: Path) -> None:
    path = written(tmp_path / "deep" / "cache", "question", "line 1\nline 2 é \x00")
    assert Store(tmp_path / "deep" / "cache").read("question") == "line 1\nline 2 é \x00"
    assert Store(tmp_path / "deep" / "cache").read("another") is None
    assert kept(tmp_path) == [path]


def test_nothing_is_made_before_something_is_kept(tmp_path: Path) -> None:
    assert Store(tmp_path / "none").read("q") is None
    assert not (tmp_path / "none").exists()


def test_others_may_read_what_they_may_read_elsewhere(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    assert written(tmp_path / "cache").stat().st_mode == plain.stat().st_mode


def test_the_last_answer_counts(tmp_path: Path) -> None:
    written(tmp_path, "q", "old")
    Store(tmp_path).write("q", "new")
    assert Store(tmp_path).read("q") == "new"
    assert len(kept(tmp_path)) == 1


def test_questions_of_one_hash_never_share_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_digest", lambda _: "ab" * 32)
    written(tmp_path, "first", "1")
    assert Store(tmp_path).read("second") is None
    Store(tmp_path).write("second", "2")
    assert Store(tmp_path).read("second") == "2"
    assert Store(tmp_path).read("first") is None


def test_a_file_that_was_cut_off_anywhere_is_ignored_and_replaced(tmp_path: Path) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert Store(tmp_path).read("q") is None
    Store(tmp_path).write("q", "a")
    assert path.read_bytes() == whole


def test_a_changed_byte_anywhere_is_noticed(tmp_path: Path) -> None:
    path = written(tmp_path, "question", "an answer")
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert Store(tmp_path).read("question") is None


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", "7", '{"answer": 7}', '{"answer": "a"}', "[" * 100_000, "\x00\xff", "<algo/>"],
)
def test_foreign_files_are_ignored(tmp_path: Path, text: str) -> None:
    path = written(tmp_path)
    path.write_text(text, encoding="latin-1")
    told: list[str] = []
    assert Store(tmp_path, warn=told.append).read("q") is None
    assert told == []


def test_files_of_another_format_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    assert json.loads(path.read_text())["syccl_cache"] == store.FORMAT
    monkeypatch.setattr(store, "FORMAT", store.FORMAT + 1)
    assert Store(tmp_path).read("q") is None


def test_huge_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    monkeypatch.setattr(store, "_LARGEST_FILE", path.stat().st_size - 1)
    assert Store(tmp_path).read("q") is None


def test_a_folder_in_the_place_of_a_file_is_told_once_and_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.unlink()
    path.mkdir()
    (path / "mine").write_text("precious")
    told: list[str] = []
    cache = Store(tmp_path, warn=told.append)
    for _ in range(2):
        assert Store(tmp_path).read("q") is None
        cache.write("q", "a")
    assert cache.read("q") == "a"
    assert len(told) == 1
    assert "cannot be written" in told[0]
    assert kept(tmp_path) == [path / "mine"]


def test_a_file_in_the_place_of_the_folder_is_told_once_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "cache"
    place.write_text("precious")
    told: list[str] = []
    cache = Store(place, warn=told.append)
    for question in ("q", "r"):
        assert cache.read(question) is None
        cache.write(question, "a")
    assert cache.read("q") == "a"
    assert len(told) == 1
    assert "--no-cache" in told[0]
    assert place.read_text() == "precious"


@pytest.mark.parametrize("method", ["is_file", "mkdir", "replace"])
def test_a_folder_without_permission_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, method, refuse)
    told: list[str] = []
    cache = Store(tmp_path, warn=told.append)
    for question in ("q", "r"):
        cache.read(question)
        cache.write(question, "a")
    monkeypatch.undo()
    assert len(told) == 1
    assert "Permission denied" in told[0]
    assert cache.read("q") == "a"
    assert not [path for path in kept(tmp_path) if path.name.startswith(".")]


HAMMER = """
import sys
from pathlib import Path
from syccl.store import Store
answers = {str(i): str(i) * 20_000 for i in range(3)}
for _ in range(100):
    for question, answer in answers.items():
        Store(Path(sys.argv[1]), warn=sys.exit).write(question, answer)
        assert Store(Path(sys.argv[1]), warn=sys.exit).read(question) == answer
"""
"""Writes and reads the same few answers many times."""


def test_processes_that_write_at_once_read_whole_answers(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    both = [subprocess.Popen([sys.executable, "-c", HAMMER, str(tmp_path)], cwd=root) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(kept(tmp_path)) == 3


@pytest.mark.parametrize(
    ("environment", "platform", "folder"),
    [
        ({}, "linux", "/home/me/.cache/syccl"),
        ({"XDG_CACHE_HOME": "/scratch/me"}, "linux", "/scratch/me/syccl"),
        ({"XDG_CACHE_HOME": "relative"}, "linux", "/home/me/.cache/syccl"),
        ({"XDG_CACHE_HOME": ""}, "freebsd14", "/home/me/.cache/syccl"),
        ({"XDG_CACHE_HOME": "/scratch/me"}, "darwin", "/home/me/Library/Caches/syccl"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/syccl/Cache"),
        ({}, "win32", "/home/me/AppData/Local/syccl/Cache"),
    ],
)
def test_each_platform_has_a_place_for_it(environment: dict[str, str], platform: str, folder: str) -> None:
    assert default_folder(environment, platform, Path("/home/me")) == Path(folder)


def test_a_copy_for_another_process_knows_the_folder(tmp_path: Path) -> None:
    store = Store(tmp_path, warn=lambda _: None)
    store.write("question", "answer")
    assert copy(store).read("question") == "answer"
    in_memory = Store()
    in_memory.write("question", "answer")
    assert copy(in_memory).read("question") is None
