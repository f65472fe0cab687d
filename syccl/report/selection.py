"""In words: for which sizes a runtime takes a file, and the lines that make it do so."""

from __future__ import annotations

import shlex
from pathlib import Path

from syccl.collective.datatypes import element_bytes
from syccl.program.selection import Selection
from syccl.program.targets import MSCCL, RCCL, Target
from syccl.units import format_size


def selection_words(chosen: Selection, size_bytes: int) -> list[str]:
    """Return in words which sizes are taken, and the nearest ones when the asked size is not."""
    limit = f" up to {format_size(chosen.max_bytes)}" if chosen.max_bytes else ""
    power = chosen.smallest_power_of_two
    multiples = f"multiples of {format_size(chosen.unit_bytes)}{limit}"
    if power is None:
        lines = [f"selected for {multiples}; no power of two is among them"]
    else:
        lines = [f"selected for {multiples}; of the powers of two, those from {format_size(power)}{limit or ' up'}"]
    unselected = unselected_words(chosen, size_bytes)
    return [*lines, unselected] if unselected else lines


def unselected_words(chosen: Selection, size_bytes: int) -> str:
    """Return that the asked size is not taken and the nearest ones that are; empty when it is taken."""
    if chosen.takes(size_bytes):
        return ""
    near = " and ".join(f"{size} B" for size in chosen.nearest(size_bytes)) or "none"
    return f"NOT selected for {size_bytes} B; nearest sizes that are: {near}"


def usage_words(path: Path, target: Target) -> list[str]:
    """Return the lines that make a runtime load the file at ``path``."""
    name = shlex.quote(str(path))
    if target == MSCCL:
        place = name if path.is_absolute() else f'"$PWD"/{name}'
        return [f"export MSCCL_XML_FILES={place} {_MSCCL_ALGO}"]
    folder = '"$PWD/msccl-algorithms"'
    return [f"mkdir -p msccl-algorithms && cp {name} msccl-algorithms/", folder_words(folder, target)]


def unequal_words(path: Path, target: Target, *, datatype: str, size_bytes: int) -> list[str]:
    """Return how a runtime runs a file of alltoallv, if it does."""
    layout = "buffers have no gaps: parts for rank 0, 1, ... one after another, and so for what is received"
    exact = f"only for this matrix, {size_bytes} B in its largest buffer: a file does not state its matrix"
    if not target.custom_call:
        return [
            f"NOT run by any call of {target.name}: it reads the file, but its alltoallv, if it has one, asks for "
            "files with a count of 0 and finds none; --target msccl has a call that runs it",
            layout,
            exact,
        ]
    count = size_bytes // element_bytes(datatype)
    return [
        *usage_words(path, target),
        f"call {target.custom_call} with count {count} of {datatype}, the index of this file in MSCCL_XML_FILES, and "
        "different send and receive buffers",
        layout,
        exact,
    ]


def folder_words(folder: str, target: Target) -> str:
    """Return the line that makes a runtime load all files of a folder, given as a shell writes it."""
    if target == MSCCL:
        return f"export MSCCL_XML_FILES=$(ls {folder}/*.xml | paste -sd:) {_MSCCL_ALGO}   # at most 4 files"
    if target == RCCL:
        return f"export MSCCL_ALGO_DIR={folder} RCCL_MSCCL_ENABLE=1 RCCL_MSCCL_FORCE_ENABLE=1"
    return f"export MSCCL_ALGO_DIR={folder}   # holds nothing but such files; one process per GPU"


_MSCCL_ALGO = "NCCL_ALGO=MSCCL,RING,TREE"


def kind_words(*, in_place: bool, out_of_place: bool) -> list[str]:
    """Return which calls a program is not for, as far as their buffers go."""
    if not in_place:
        return ["for out-of-place calls only: the send and the receive buffer must differ"]
    if not out_of_place:
        return ['for in-place calls only; a copy of the file with inplace="0" serves the others']
    return []
