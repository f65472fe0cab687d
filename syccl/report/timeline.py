"""The steps of a program in time, in the trace-event format that Perfetto and chrome://tracing show."""

from __future__ import annotations

import json
from collections.abc import Sequence

from syccl.report.figures import US
from syccl.simulate.timeline import Event


def trace(events: Sequence[Event]) -> str:
    """Return a JSON trace: one process for each rank, one thread for each thread block, times in microseconds."""
    lines = [json.dumps(_named(rank)) for rank in sorted({event.rank for event in events})]
    lines += [json.dumps(_event(event)) for event in events]
    return '{"traceEvents": [\n' + ",\n".join(lines) + "\n]}\n"


def _named(rank: int) -> dict[str, object]:
    return {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}}


def _event(event: Event) -> dict[str, object]:
    step, block = event.step, event.block
    peers = [f"to {block.send}"] if step.type.sends else []
    peers += [f"from {block.recv}"] if step.type.receives else []
    return {
        "ph": "X",
        "name": " ".join([step.type.value, *peers]),
        "pid": event.rank,
        "tid": block.id,
        "ts": event.start_s * US,
        "dur": (event.finish_s - event.start_s) * US,
        "args": {
            "step": event.position,
            "src": f"{step.src.buffer.value}[{step.src.offset}]",
            "dst": f"{step.dst.buffer.value}[{step.dst.offset}]",
            "cnt": step.cnt,
            "channel": block.channel,
        },
    }
