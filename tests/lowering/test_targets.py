"""Limits of runtimes."""

from __future__ import annotations

from dataclasses import asdict

from syccl.lowering.targets import EXECUTOR


def test_the_executor_has_the_limits_of_its_sources() -> None:
    limits = {
        "steps": 64,
        "blocks": 108,
        "channels": 32,
        "peers": 32,
        "awaited_blocks": 128,
        "nodes": 4095,
        "chunks": 32768,
    }
    assert asdict(EXECUTOR) == {"name": "msccl-executor-nccl", **limits}
