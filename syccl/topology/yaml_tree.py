"""From YAML text to the entries of the format, each with its place in the file."""

from __future__ import annotations

import re
import types
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

import yaml

from syccl.errors import InputError
from syccl.topology.naming import did_you_mean, shown
from syccl.topology.yaml_format import Entry, Limits, TopologyFile
from syccl.units import clipped

MOST_CHARACTERS = 64 * 2**20
"""Longest text read, in characters."""
MOST_VALUES = 4_000_000
"""Most values read from one text, each alias counted as often as it is used."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS: dict[object, str] = {str: "tag:yaml.org,2002:str", int: "tag:yaml.org,2002:int", None: "tag:yaml.org,2002:null"}
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")


@dataclass
class Places:
    """Where each entry and each of its fields stands in its file."""

    source: str
    _paths: dict[Entry, str] = field(default_factory=dict)
    _lines: dict[Entry, dict[str, int]] = field(default_factory=dict)

    def add(self, entry: Entry, path: str, lines: dict[str, int]) -> None:
        """Remember an entry's path and the line of each field, the entry's own under the empty name."""
        self._paths[entry] = path
        self._lines[entry] = lines

    def error(self, entry: Entry, name: str, problem: object) -> InputError:
        """Return an error that begins with file, line and field."""
        lines = self._lines[entry]
        path = ".".join(part for part in (self._paths[entry], name) if part)
        return InputError(f"{self.source}:{lines.get(name, lines[''])}: {path}: {problem}")


def read_entries(text: str, *, source: str) -> tuple[TopologyFile, Places]:
    """Return the entries that a YAML text states and where they stand.

    Raises
    ------
    InputError
        When the text is not YAML, is too large, or an entry does not have the form that the format asks for; with
        file, line and field.
    """
    if len(text) > MOST_CHARACTERS:
        msg = f"{source}: {len(text)} characters; at most {MOST_CHARACTERS} are read"
        raise InputError(msg)
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        msg = f"{source}:{line}: not YAML: {error.problem}"
        raise InputError(msg) from None
    except (yaml.YAMLError, RecursionError) as error:
        msg = f"{source}: not YAML: {' '.join(str(error).split())}"
        raise InputError(msg) from None
    if not isinstance(root, yaml.MappingNode):
        msg = f"{source}:1: a topology is a mapping with servers, or with nodes and links"
        raise InputError(msg)
    reader = _Reader(Places(source))
    file: TopologyFile = reader.entry(root, TopologyFile, "")
    return file, reader.places


@dataclass
class _Reader:
    places: Places
    values: int = 0

    def fail(self, node: yaml.Node, path: str, problem: str) -> NoReturn:
        msg = f"{self.places.source}:{node.start_mark.line + 1}: {shown(path)}: {problem}"
        raise InputError(msg)

    def value(self, node: yaml.Node, kind: Any, path: str) -> Any:
        """Return one value of a type of the format."""
        self.values += 1
        if self.values > MOST_VALUES:
            self.fail(node, path, f"more than {MOST_VALUES} values, aliases included")
        if is_dataclass(kind):
            return self.entry(node, kind, path)
        origin = get_origin(kind)
        if origin in {Union, types.UnionType}:
            return self.value_of_any(node, get_args(kind), path)
        if origin is tuple:
            return self.sequence(node, get_args(kind), path)
        if not isinstance(node, yaml.ScalarNode):
            self.fail(node, path, "must be one value, not a list or a mapping")
        if origin is Literal:
            return self.choice(node, get_args(kind), path)
        if origin is Annotated:
            base, limits = get_args(kind)
            return self.scalar(node, base, limits, path)
        return self.scalar(node, kind, Limits(), path)

    def value_of_any(self, node: yaml.Node, kinds: tuple[Any, ...], path: str) -> Any:
        """Return a value of the one type of a union that the node's form selects."""
        if type(None) in kinds and node.tag == _TAGS[None]:
            return None
        rest = [kind for kind in kinds if kind is not type(None)]
        lists = [kind for kind in rest if get_origin(kind) is tuple]
        others = [kind for kind in rest if get_origin(kind) is not tuple]
        listed = isinstance(node, yaml.SequenceNode)
        return self.value(node, ((lists or others) if listed else (others or lists))[0], path)

    def sequence(self, node: yaml.Node, kinds: tuple[Any, ...], path: str) -> tuple[Any, ...]:
        if not isinstance(node, yaml.SequenceNode):
            self.fail(node, path, "must be a list")
        if kinds[-1] is Ellipsis:
            kinds = kinds[:1] * len(node.value)
        elif len(node.value) != len(kinds):
            self.fail(node, path, f"has {len(node.value)} entries; it takes {len(kinds)}")
        pairs = zip(node.value, kinds, strict=True)
        return tuple(self.value(child, kind, f"{path}[{i}]") for i, (child, kind) in enumerate(pairs))

    def choice(self, node: yaml.ScalarNode, allowed: tuple[str, ...], path: str) -> str:
        if node.tag != _TAGS[str] or node.value not in allowed:
            self.fail(node, path, f"{clipped(node.value)} is not one of {', '.join(allowed)}")
        return str(node.value)

    def scalar(self, node: yaml.ScalarNode, base: type, limits: Limits, path: str) -> str | int:
        text: str = node.value
        if limits.parse is not None and re.fullmatch(limits.pattern or "", text) is None:
            try:
                limits.parse(text)
            except InputError as error:
                self.fail(node, path, str(error))
            self.fail(node, path, f"{clipped(text)} is not a plain number with its unit")
        if node.tag != _TAGS[base] or (base is int and _WHOLE.fullmatch(text) is None):
            wanted = "a whole number" if base is int else "text; put it in quotes"
            self.fail(node, path, f"{clipped(text)} is not {wanted}" if text else "is empty")
        if base is str and not (text and text.isprintable()):
            self.fail(node, path, f"{clipped(text)} has characters that cannot be printed" if text else "is empty")
        if base is int and limits.least is not None and int(text) < limits.least:
            self.fail(node, path, f"{text!r} is too small; at least {limits.least}")
        return int(text) if base is int else text

    def entry(self, node: yaml.Node, kind: Any, path: str) -> Any:
        """Return one entry, its fields in the order of the file."""
        hints = _hints(kind)
        if not isinstance(node, yaml.MappingNode):
            self.fail(node, path, f"must be a mapping with {', '.join(hints)}")
        given: dict[str, Any] = {}
        lines = {"": node.start_mark.line + 1}
        for key, child in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            place = ".".join(part for part in (path, str(name)) if part)
            if name not in hints:
                near = did_you_mean(str(name), hints)
                self.fail(key, place, f"unknown field; allowed are {', '.join(hints)}{near}")
            if name in given:
                self.fail(key, place, "is given twice")
            lines[name] = child.start_mark.line + 1
            given[name] = self.value(child, hints[name], place)
        missing = [name for name in _required(kind) if name not in given]
        if missing:
            self.fail(node, path or "topology", f"{' and '.join(missing)} missing; there is no default")
        entry = kind(**given)
        self.places.add(entry, path, lines)
        return entry


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {item.name: hints[item.name] for item in fields(kind)}


@cache
def _required(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if item.default is MISSING)
