"""Names of outputs, checks before the work, atomic writes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from syccl.cli.outputs import checked_outputs, default_output, write_all
from syccl.collective import op_named
from syccl.errors import InputError


@pytest.mark.parametrize(
    ("op", "topology", "size", "program", "name"),
    [
        ("allreduce", "a100x32", 64 * 2**20, True, "allreduce.a100x32.64MiB.xml"),
        ("allgather", "h800x512", 2**30, False, "allgather.h800x512.1GiB.json"),
        ("broadcast", "a100x8", 1000, True, "broadcast-root3.a100x8.1000B.xml"),
        ("allreduce", "../my rack", 1024, True, "allreduce..._my_rack.1KiB.xml"),
    ],
)
def test_default_names_tell_op_topology_and_size(op: str, topology: str, size: int, program: bool, name: str) -> None:
    assert default_output(topology, op_named(op), root=3, size_bytes=size, program=program) == Path(name)


def test_one_program_and_one_schedule_pass(tmp_path: Path) -> None:
    checked_outputs([tmp_path / "a.xml", tmp_path / "a.json"], force=False)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'.*a\.txt' must end in \.xml \(program\) or \.json"):
        checked_outputs([tmp_path / "a.txt"], force=False)


def test_two_programs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"once for \.xml and once for \.json"):
        checked_outputs([tmp_path / "a.xml", tmp_path / "b.xml"], force=False)


def test_an_existing_file_is_refused_without_force(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("old")
    with pytest.raises(InputError, match=r"exists; --force replaces it"):
        checked_outputs([path], force=False)
    checked_outputs([path], force=True)
    assert path.read_text() == "old"


def test_a_folder_is_refused_even_with_force(tmp_path: Path) -> None:
    (tmp_path / "a.xml").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        checked_outputs([tmp_path / "a.xml"], force=True)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        checked_outputs([tmp_path / "none" / "a.xml"], force=False)


def test_a_file_for_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    with pytest.raises(InputError, match="cannot be written: Not a directory"):
        checked_outputs([tmp_path / "plain" / "a.xml"], force=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        checked_outputs([tmp_path / "a.xml"], force=False)


def test_files_are_written_with_the_usual_permissions_and_nothing_else(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    write_all({tmp_path / "a.xml": "<algo/>\n", tmp_path / "a.json": "{}\n"}, force=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.xml", "plain"]
    assert (tmp_path / "a.xml").read_bytes() == b"<algo/>\n"
    assert (tmp_path / "a.xml").stat().st_mode == plain.stat().st_mode


def test_a_file_that_came_into_being_meanwhile_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("theirs")
    with pytest.raises(InputError, match="exists"):
        write_all({tmp_path / "a.xml": "ours", tmp_path / "a.json": "ours"}, force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "theirs"


def test_force_replaces_the_file_behind_a_symbolic_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.xml", tmp_path / "link.xml"
    real.write_text("old")
    link.symlink_to(real)
    write_all({link: "new"}, force=True)
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_all({tmp_path / "a.xml": "good", tmp_path / "a.json": "\ud800"}, force=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a" * 300 + ".xml", "/".join(["b" * 200] * 30) + ".xml"])
def test_a_name_that_is_too_long_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"cannot be written: File name too long") as caught:
        checked_outputs([tmp_path / name], force=False)
    assert len(str(caught.value)) < 200


def test_the_longest_name_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 251 + ".xml")
    checked_outputs([path], force=False)
    write_all({path: "new"}, force=False)
    assert path.read_text() == "new"


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.symlink_to(path)
    with pytest.raises(InputError, match="cannot be written"):
        checked_outputs([path], force=True)


def test_a_failed_move_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.suffix == ".json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left"):
        write_all({tmp_path / "a.xml": "good", tmp_path / "a.json": "good"}, force=False)
    assert list(tmp_path.iterdir()) == []


def test_files_of_one_suffix_do_not_mix(tmp_path: Path) -> None:
    write_all({tmp_path / "a.yaml": "first", tmp_path / "b.yaml": ["sec", "ond"]}, force=False)
    assert [path.read_text(encoding="utf-8") for path in sorted(tmp_path.iterdir())] == ["first", "second"]
