"""How two topologies differ, in words and as a record."""

from __future__ import annotations

from collections.abc import Iterable

from syccl.topology.diff import Difference, Values
from syccl.units import format_latency, format_rate

_SHOWN = 20


def difference_record(found: Difference) -> dict[str, object]:
    """Return a difference under stable names, for ``--json``."""
    return {
        "same": found.is_empty,
        "nodes_gone": list(found.nodes_gone),
        "nodes_new": list(found.nodes_new),
        "nodes_changed": [{"node": name, "before": old, "after": new} for name, old, new in found.nodes_changed],
        "links_gone": [{"link": list(ends), "links": _values(old)} for ends, old in found.links_gone],
        "links_new": [{"link": list(ends), "links": _values(new)} for ends, new in found.links_new],
        "links_changed": [
            {"link": list(ends), "before": _values(old), "after": _values(new)}
            for ends, old, new in found.links_changed
        ],
        "ranks_moved": [{"gpu": name, "before": old, "after": new} for name, old, new in found.ranks_moved],
    }


def _values(values: Values) -> list[dict[str, float]]:
    return [{"rate_GBps": rate / 1e9, "latency_us": latency / 1e6} for rate, latency in values]


def difference_lines(found: Difference) -> list[str]:
    """Return a difference as lines: ``-`` gone, ``+`` new, ``~`` changed; long lists are cut and counted."""
    if found.is_empty:
        return ["no difference"]
    lines = _cut(f"- node {name}" for name in found.nodes_gone)
    lines += _cut(f"+ node {name}" for name in found.nodes_new)
    lines += _cut(f"~ node {name}: {old}, now {new}" for name, old, new in found.nodes_changed)
    lines += _cut(f"- link {src}->{dst}: {_words(old)}" for (src, dst), old in found.links_gone)
    lines += _cut(f"+ link {src}->{dst}: {_words(new)}" for (src, dst), new in found.links_new)
    lines += _cut(f"~ link {a}->{b}: {_words(old)}, now {_words(new)}" for (a, b), old, new in found.links_changed)
    return lines + _cut(f"~ rank of {name}: {old}, now {new}" for name, old, new in found.ranks_moved)


def _cut(lines: Iterable[str]) -> list[str]:
    every = list(lines)
    return every if len(every) <= _SHOWN else [*every[:_SHOWN], f"  and {len(every) - _SHOWN} more such"]


def _words(values: Values) -> str:
    return " + ".join(f"{format_rate(rate)} {format_latency(latency)}" for rate, latency in values)
