from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syccl.errors import InputError
from syccl.simulate.cost import MAX_COUNT, PROTOCOLS, chunk_loop, protocol_named

MIB = 1 << 20
SIMPLE = PROTOCOLS["Simple"]


def test_messages_are_what_the_default_buffers_hold() -> None:
    steps, threads, lines, line_bytes = 8, 512, 8, 16
    ll_step = threads * lines * line_bytes
    assert PROTOCOLS["LL"].message_bytes == ll_step // 2
    assert PROTOCOLS["LL128"].message_bytes == 640 * 120 * 8 * 15 // 16
    assert SIMPLE.message_bytes == 4 * MIB // steps * 4
    assert {name: protocol.depth for name, protocol in PROTOCOLS.items()} == {"Simple": 2, "LL": 8, "LL128": 8}


def test_small_chunks_travel_together() -> None:
    assert chunk_loop(MIB / 4, SIMPLE) == (1, MIB / 4, 8)
    assert chunk_loop(100, SIMPLE).chunks_per_message == MAX_COUNT


def test_large_chunks_loop_in_equal_parts() -> None:
    assert chunk_loop(2 * MIB, SIMPLE) == (1, 2 * MIB, 1)
    assert chunk_loop(5 * MIB, SIMPLE) == (3, 5 * MIB / 3, 1)
    assert chunk_loop(MIB, PROTOCOLS["LL"]).iterations == 32


@given(st.floats(1, 1e10), st.sampled_from(sorted(PROTOCOLS)))
def test_every_message_fits_and_nothing_is_lost(chunk_bytes: float, name: str) -> None:
    loop = chunk_loop(chunk_bytes, PROTOCOLS[name])
    assert loop.iterations * loop.chunk_bytes == pytest.approx(chunk_bytes)
    assert loop.chunk_bytes <= PROTOCOLS[name].message_bytes * (1 + 1e-12)
    assert 1 <= loop.chunks_per_message <= MAX_COUNT


def test_an_unknown_protocol_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown protocol 'simple'; choose one of Simple, LL, LL128"):
        protocol_named("simple")
