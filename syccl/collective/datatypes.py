"""Element types by the names that nccl-tests and NCCL give them."""

from __future__ import annotations

import difflib

from syccl.errors import InputError

ELEMENT_BYTES: dict[str, int] = {
    "int8": 1,
    "uint8": 1,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "fp8e4m3": 1,
    "fp8e5m2": 1,
}
"""Bytes of one element of every datatype."""

_ALIASES = {"half": "float16", "float": "float32", "double": "float64", "char": "int8", "int": "int32"}


def datatype_named(name: str) -> str:
    """Return the datatype's one name; ``half``, ``float``, ``double``, ``char`` and ``int`` are read too.

    Raises
    ------
    InputError
        When there is no such datatype.
    """
    lower = name.lower()
    found = _ALIASES.get(lower, lower)
    if found not in ELEMENT_BYTES:
        near = difflib.get_close_matches(lower, [*ELEMENT_BYTES, *_ALIASES], 1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(ELEMENT_BYTES)}"
        msg = f"unknown datatype {name!r}; {hint}"
        raise InputError(msg)
    return found


def element_bytes(name: str) -> int:
    """Return the bytes of one element of a datatype.

    Raises
    ------
    InputError
        When there is no such datatype.
    """
    return ELEMENT_BYTES[datatype_named(name)]
