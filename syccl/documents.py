"""JSON that people or other tools wrote: read with the place of every fault."""

from __future__ import annotations

import json

from syccl.errors import InputError


def parse_json(text: str, source: str) -> object:
    """Return what a JSON text states.

    Raises
    ------
    InputError
        When the text is not JSON, or an object states a field twice; it names ``source`` and, where known, the line.
    """
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        msg = f"{source}:{error.lineno}: not JSON: {error.msg} at column {error.colno}"
        raise InputError(msg) from None
    except (ValueError, RecursionError) as error:
        msg = f"{source}: not JSON that can be read: {error}"
        raise InputError(msg) from None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    data: dict[str, object] = {}
    for name, value in pairs:
        if name in data:
            msg = f"field {name!r} is stated twice"
            raise ValueError(msg)
        data[name] = value
    return data
