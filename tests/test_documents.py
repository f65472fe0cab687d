"""JSON that people wrote."""

from __future__ import annotations

import pytest

from syccl.documents import parse_json
from syccl.errors import InputError


def test_what_the_text_states_is_returned() -> None:
    assert parse_json('{"a": [1, 2.5, null]}', "x.json") == {"a": [1, 2.5, None]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1,\n"b"}', "x.json:2: not JSON: "),
        ('{"a": 1, "a": 2}', "x.json: not JSON that can be read: field 'a' is stated twice"),
        ("[" * 100_000, "x.json: not JSON that can be read: maximum recursion depth"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_json(text, "x.json")
    assert str(refusal.value).startswith(problem)
