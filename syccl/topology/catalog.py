"""Finding a topology: a file of any known form, or a bundled one by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from syccl.errors import InputError
from syccl.topology.damage import degraded
from syccl.topology.edge_list import read_edge_list
from syccl.topology.model import Topology
from syccl.topology.naming import did_you_mean
from syccl.topology.parallel import merged
from syccl.topology.yaml_file import read_yaml
from syccl.topology.yaml_tree import MOST_CHARACTERS

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "data" / "topologies", _PACKAGE.parent / "topologies")
"""Where an installed package and a checkout keep the bundled topologies."""

_JSON_OBJECT = re.compile(r'\s*\{\s*["}]')
_YAML_FIELD = re.compile(r'"(nodes|servers)"\s*:')


def bundled_topologies() -> tuple[str, ...]:
    """Return the names of the bundled topologies, sorted."""
    return tuple(sorted(path.stem for path in _bundled_folder().glob("*.yaml")))


def load_topology(spec: str, *, without: Sequence[str] = (), halved: Sequence[str] = ()) -> Topology:
    """Return the topology that a command line names, with parts left out or halved, its parallel ways as one each.

    Parameters
    ----------
    spec
        As for `find_topology`.
    without, halved
        Parts to leave out and to take at half their bandwidth (see ``elements.GRAMMAR``).

    Raises
    ------
    InputError
        As from `find_topology` and `damage.degraded`.
    """
    return merged(degraded(find_topology(spec), without=without, halved=halved))


def find_topology(spec: str) -> Topology:
    """Return the topology that a command line names, as its file states it.

    Parameters
    ----------
    spec
        A file (YAML, or an edge list in JSON: what it is shows from its content), otherwise the name of a bundled
        topology, with or without ``.yaml``.

    Raises
    ------
    InputError
        When there is neither such a file nor such a name, or the file does not state a topology.
    """
    path = Path(spec)
    if _is_readable(path):
        return read_topology(_text(path), source=spec)
    name = re.sub(r"\.ya?ml\Z", "", spec)
    bundled = bundled_topologies()
    if name in bundled:
        return read_yaml(_text(_bundled_folder() / f"{name}.yaml"), source=f"{name}.yaml")
    near = did_you_mean(path.stem, bundled)
    msg = f"topology {spec!r} is neither a file nor a bundled topology{near or ';'} run `syccl topo list`"
    raise InputError(msg)


def read_topology(text: str, *, source: str) -> Topology:
    """Return the topology that a text states, YAML or an edge list in JSON, told apart by content.

    Parameters
    ----------
    text
        The file's text.
    source
        What to call the file in errors.

    Raises
    ------
    InputError
        When the text does not state a topology.
    """
    try:
        if _JSON_OBJECT.match(text) and not _YAML_FIELD.search(text):
            return read_edge_list(text, source=source)
        return read_yaml(text, source=source)
    except InputError:
        from syccl.topology.importers import KINDS, kind_of

        kind = kind_of(text)
        if kind is None:
            raise
        msg = (
            f"{source}: this looks like {KINDS[kind]}; make a topology of it with: syccl topo import {source} -o x.yaml"
        )
        raise InputError(msg) from None


def _bundled_folder() -> Path:
    return next((folder for folder in _FOLDERS if folder.is_dir()), _FOLDERS[0])


def _is_readable(path: Path) -> bool:
    """Return whether a path is something to read, pipes included; a path that no file can have is not."""
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > 4 * MOST_CHARACTERS:
            msg = f"{path}: {path.stat().st_size} bytes; a topology has at most {4 * MOST_CHARACTERS}"
            raise InputError(msg)
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise InputError(msg) from None
    except UnicodeDecodeError as error:
        msg = f"{path}: byte {error.start} is not UTF-8 text; a topology is YAML or an edge list in JSON"
        raise InputError(msg) from None
