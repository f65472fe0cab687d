"""YAML of a jobs file: plain text, lists and mappings, with the place of every fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import yaml

from syccl.errors import InputError
from syccl.topology.naming import did_you_mean
from syccl.units import clipped

MOST_CHARACTERS = 16 * 2**20
MOST_VALUES = 1_000_000
"""Most values read, each alias counted as often as it is used."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Value = TypeVar("Value")


@dataclass(frozen=True)
class Fields:
    """The fields of one mapping, and how a message says where it stands."""

    values: dict[str, object]
    where: str

    @property
    def name(self) -> str:
        """What the mapping calls itself, for messages."""
        return f"job {self.values.get('name')!r}"

    def error(self, field: str, problem: object) -> InputError:
        """Return an error about one field."""
        return InputError(f"{self.where}: {field}: {problem}")

    def get(self, field: str, parse: Callable[[object], Value], default: Value) -> Value:
        """Return what a field states, or the default where it is left out.

        Raises
        ------
        InputError
            When the field's value is not what ``parse`` reads.
        """
        if field not in self.values:
            return default
        try:
            return parse(self.values[field])
        except InputError as error:
            raise self.error(field, error) from None

    def refuse_others(self, known: Sequence[str]) -> None:
        """Check that there are no other fields.

        Raises
        ------
        InputError
            When there are.
        """
        for field in self.values:
            if field not in known:
                near = did_you_mean(field, known)
                raise self.error(clipped(field), f"unknown field{near or ';'} known are {', '.join(known)}")


def read_mapping(text: str, *, source: str) -> dict[str, object]:
    """Return the mapping that a YAML text states; every value that is no list or mapping is kept as text.

    Raises
    ------
    InputError
        When it is not YAML, no mapping, too large, or states a field twice.
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
        msg = f"{source}:1: a jobs file is a mapping with jobs"
        raise InputError(msg)
    try:
        return _Reader(source).mapping(root)
    except RecursionError:
        msg = f"{source}: nested too deeply"
        raise InputError(msg) from None


@dataclass
class _Reader:
    source: str
    seen: int = 0

    def value(self, node: yaml.Node) -> object:
        self.seen += 1
        line = node.start_mark.line + 1
        if self.seen > MOST_VALUES:
            msg = f"{self.source}:{line}: more than {MOST_VALUES} values"
            raise InputError(msg)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(entry) for entry in node.value]
        if not isinstance(node, yaml.MappingNode):
            return str(node.value)
        return self.mapping(node)

    def mapping(self, node: yaml.MappingNode) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, entry in node.value:
            name = str(key.value)
            if name in found:
                msg = f"{self.source}:{key.start_mark.line + 1}: field {clipped(name)} is stated twice"
                raise InputError(msg)
            found[name] = self.value(entry)
        return found
