"""What ``syccl synth`` tells: one record for scripts, one table for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from syccl import __version__
from syccl.bounds import Bound, Cut, describe_cut
from syccl.collective import Op
from syccl.program.selection import selection
from syccl.report.figures import US, Figures, figures
from syccl.report.selection import kind_words, selection_words, unequal_words, usage_words
from syccl.report.tables import Table, counted
from syccl.simulate.profile import cost_words
from syccl.units import format_rate, format_size

if TYPE_CHECKING:
    from syccl.pipeline import Options, Synthesis
    from syccl.topology import Topology

Record = dict[str, object]

_OTHER_ROUTES = 1.005
"""Above this ratio of the bounds over the default routes and over any routes both are told."""
_SIZE_MEANS = {
    "allreduce": "the buffer of one rank",
    "allgather": "the receive buffer of one rank",
    "reducescatter": "the send buffer of one rank",
    "alltoall": "the send buffer of one rank",
    "alltoallv": "the largest send or receive buffer of any rank",
    "broadcast": "the buffer",
    "reduce": "the buffer",
    "gather": "the receive buffer of the root",
    "scatter": "the send buffer of the root",
}


def size_meaning(op: Op) -> str:
    """Return which buffer nccl-tests' size is the size of, for a collective."""
    return _SIZE_MEANS[op.name]


def rank_order(topology: Topology) -> str:
    """Return in words which GPU each rank is."""
    names = [topology.nodes[node].name for node in topology.gpus]
    ends = names[0] if len(names) == 1 else f"{names[0]} .. {names[-1]}"
    return f"rank i is the i-th GPU, server by server ({ends})"


@dataclass(frozen=True)
class Outcome:
    """A synthesis with what was asked and the files that were written."""

    synthesis: Synthesis
    options: Options
    outputs: tuple[Path, ...]

    @property
    def figures(self) -> Figures:
        """The numbers of the synthesis."""
        return figures(self.synthesis, self.options.size_bytes)


def record(outcome: Outcome) -> Record:
    """Return everything about a synthesis under stable names, for ``--json``; units are part of the names."""
    made, options, numbers = outcome.synthesis, outcome.options, outcome.figures
    demand = made.demand
    return {
        "syccl": __version__,
        "topology": made.topology.name,
        "op": demand.op.name,
        "ranks": demand.ranks,
        "rank_order": rank_order(made.topology),
        "root": demand.root if demand.op.rooted else None,
        "size_bytes": options.size_bytes,
        "size_means": size_meaning(demand.op),
        "datatype": options.datatype,
        "protocol": options.protocol,
        "symmetry_order": made.group.order,
        "chunks": demand.chunks,
        "time_is_of": "schedule" if numbers.program_time_us is None else "program",
        **_number_fields(numbers),
        "bound_why": made.bound.why,
        "bound_certified": made.bound.is_certified,
        "cut": cut_words(made.bound.cut, made.topology),
        "bottleneck": _bottleneck(made),
        "baselines": {name: made.baselines.get(name) for name in ("ring_us", "tree_us")},
        "synthesis_s": made.synthesis_s,
        "hit_time_limit": made.hit_time_limit,
        "output": str(outcome.outputs[0]) if outcome.outputs else None,
        "outputs": [str(path) for path in outcome.outputs],
        "selected_sizes": _selected_sizes(outcome),
        "explain": made.explain,
    }


def _number_fields(numbers: Figures) -> Record:
    return dict(vars(numbers))


def _bottleneck(made: Synthesis) -> str | None:
    return None if made.bottleneck is None else made.topology.link_name(made.bottleneck)


def _selected_sizes(outcome: Outcome) -> Record | None:
    program = outcome.synthesis.program
    if program is None:
        return None
    chosen = selection(program, outcome.options.datatype, outcome.options.target)
    is_run = not outcome.synthesis.demand.is_unequal or bool(outcome.options.target.custom_call)
    return {
        "target": outcome.options.target.name,
        "multiple_of_bytes": chosen.unit_bytes,
        "smallest_power_of_two_bytes": chosen.smallest_power_of_two,
        "max_bytes": chosen.max_bytes or None,
        "asked_size_selected": is_run and chosen.takes(outcome.options.size_bytes),
    }


def to_json(values: Mapping[str, object]) -> str:
    """Return a record as JSON text; numpy scalars become numbers, and infinities are an error."""
    return json.dumps(values, indent=2, allow_nan=False, default=_plain_value)


def _plain_value(value: object) -> object:
    convert = getattr(value, "tolist", None)
    if convert is None:
        return str(value)
    return convert()


def table(outcome: Outcome) -> Table:
    """Return the table that a person reads after a synthesis."""
    return Table([*_asked_rows(outcome), *_answer_rows(outcome), *_baseline_rows(outcome), *_end_rows(outcome)])


def _asked_rows(outcome: Outcome) -> list[tuple[str, str]]:
    made, options = outcome.synthesis, outcome.options
    demand = made.demand
    chunk = f"{options.size_bytes / max(1, demand.chunks):.6g} B each"
    if demand.is_unequal:
        sizes = [part.size_bytes for part in demand.parts] or [0]
        chunk = f"{format_size(min(sizes))} to {format_size(max(sizes))} each"
    elif options.size_bytes % demand.chunks == 0:
        chunk = f"{format_size(options.size_bytes // demand.chunks)} each"
    root = f", root {demand.root}" if demand.op.rooted else ""
    return [
        ("topology", made.topology.name),
        ("op", f"{demand.op.name}{root}"),
        ("size", f"{format_size(options.size_bytes)} of {options.datatype}: {size_meaning(demand.op)}"),
        ("ranks", f"{demand.ranks}: {rank_order(made.topology)}"),
        ("symmetry", _symmetry_words(made)),
        ("chunks", f"{demand.chunks}, {chunk}"),
    ]


def _symmetry_words(made: Synthesis) -> str:
    order, ranks = made.group.order, made.demand.ranks
    if order == 1:
        return "none used: every GPU is planned by itself"
    stand_ins = len(made.group.rank_orbits)
    return f"order {order}: {stand_ins} of {counted(ranks, 'GPU')} planned, the others are copies"


def _answer_rows(outcome: Outcome) -> list[tuple[str, str]]:
    numbers, made = outcome.figures, outcome.synthesis
    form = (
        "of the schedule, no program was made"
        if numbers.program_time_us is None
        else f"lowered program, {outcome.options.protocol} protocol"
    )
    rows = [
        ("predicted time", f"{microseconds(numbers.time_us)} ({form})"),
        ("costs", cost_words("" if numbers.program_time_us is None else made.topology.profile)),
        ("algbw", gigabytes(numbers.algbw_GBps)),
        ("busbw", gigabytes(numbers.busbw_GBps)),
        ("bound", bound_words(made.bound)),
        ("cut", cut_words(made.bound.cut, made.topology)),
    ]
    if numbers.tree_bound_us is not None:
        rows.append(
            ("tree bound", f"{microseconds(numbers.tree_bound_us)} (of plans made of trees, not of all schedules)")
        )
        if numbers.route_bound_us is not None and numbers.route_bound_us > _OTHER_ROUTES * numbers.tree_bound_us:
            detail = "of those that take the route of a runtime between two GPUs, which leaves links idle"
            rows.append(("route bound", f"{microseconds(numbers.route_bound_us)} ({detail})"))
    return [*rows, ("time/bound", _ratios(numbers)), ("bottleneck", _bottleneck_words(made))]


def _ratios(numbers: Figures) -> str:
    if numbers.ratio is None:
        return "-"
    extra = "" if numbers.program_ratio is None else f" (schedule alone {numbers.schedule_ratio:.3f})"
    return f"{numbers.ratio:.3f}{extra}"


def _bottleneck_words(made: Synthesis) -> str:
    if made.bottleneck is None:
        return "-"
    link = made.topology.links[made.bottleneck]
    return f"{made.topology.link_name(made.bottleneck)} ({format_rate(link.rate)})"


def _baseline_rows(outcome: Outcome) -> list[tuple[str, str]]:
    rows = []
    for name in ("ring", "tree"):
        time_us = outcome.synthesis.baselines.get(f"{name}_us")
        if time_us is not None:
            rows.append((f"{name} baseline", f"{microseconds(time_us)}{_speedup(time_us, outcome.figures.time_us)}"))
    return rows


def _speedup(baseline_us: float, time_us: float) -> str:
    return f": speed-up {baseline_us / time_us:.2f}x" if time_us > 0 else ""


def _end_rows(outcome: Outcome) -> list[tuple[str, str]]:
    limit = " (stopped at the time limit; a longer run may find better)" if outcome.synthesis.hit_time_limit else ""
    rows = [("solve time", f"{outcome.synthesis.synthesis_s:.2f} s{limit}")]
    return rows + [("wrote", str(path)) for path in outcome.outputs]


def next_steps(outcome: Outcome) -> list[str]:
    """Return the lines that make a runtime use the written program; none when no program was written."""
    program = outcome.synthesis.program
    path = next((path for path in outcome.outputs if path.suffix == ".xml"), None)
    if program is None or path is None:
        return []
    options, demand = outcome.options, outcome.synthesis.demand
    if demand.is_unequal:
        lines = unequal_words(path, options.target, datatype=options.datatype, size_bytes=options.size_bytes)
        return [f"to use it with {options.target.name}:", *(f"  {line}" for line in lines)]
    chosen = selection(program, options.datatype, options.target)
    kinds = kind_words(in_place=program.in_place, out_of_place=program.out_of_place)
    words = (
        *usage_words(path, options.target),
        *selection_words(chosen, options.size_bytes),
        *kinds,
        *root_words(demand.op, demand.root),
    )
    return [f"to use it with {options.target.name}:", *(f"  {line}" for line in words)]


def root_words(op: Op, root: int) -> list[str]:
    """Return which calls of a rooted collective a program is wrong for although runtimes use it for them."""
    if not op.rooted:
        return []
    return [
        f"WARNING: runtimes ignore the root in the file and use it for every root; it is right only for calls "
        f"with root {root}"
    ]


def cut_words(cut: Cut, topology: Topology) -> str:
    """Return which GPUs a cut is around and which links cross it, without the word ``cut``."""
    return describe_cut(cut, topology).removeprefix("cut: ")


def bound_words(bound: Bound) -> str:
    """Return a bound with the term that it comes from."""
    if bound.seconds <= 0:
        return "0 us: nothing to send"
    how = "certified" if bound.is_certified else "a proved formula"
    return f"{microseconds(bound.seconds * US)} by {bound.why}, {how}"


def microseconds(value: float) -> str:
    """Return a time for people, in microseconds with four significant digits or more."""
    return f"{value:.1f} us" if value >= 1000 else f"{value:.4g} us"


def gigabytes(value: float | None) -> str:
    """Return a bandwidth for people, in GB/s (1e9 bytes per second); ``-`` where there is none."""
    return "-" if value is None else f"{value:.4g} GB/s"
