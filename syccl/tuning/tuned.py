"""The sweep: programs for all sizes, their times at all sizes, the fewest of them, verified."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from syccl.clock import Clock
from syccl.collective import Op
from syccl.errors import GaveUpError, InputError
from syccl.lowering.finish import require_clean
from syccl.pipeline import LARGEST_DEFAULT_PROGRAM, Options
from syccl.prepare import Prepared, prepare
from syccl.program.msccl_xml import write_xml
from syccl.program.selection import Selection, addressed
from syccl.program.verify import verify_program
from syccl.solve.executor import ordered_results
from syccl.store import Store
from syccl.topology import Topology
from syccl.tuning.candidates import Candidate, Made, distinct, made_at, program_for, timed
from syccl.tuning.segments import ByteRange, Segment, best_times, byte_ranges, fewest_segments


@dataclass(frozen=True, eq=False)
class Ranged:
    """A program of the answer.

    Parameters
    ----------
    bytes
        Sizes that its file is for.
    sizes
        Those of the sweep among them for which a runtime selects it, ascending.
    selection
        The sizes for which a runtime takes the file.
    """

    candidate: Candidate
    bytes: ByteRange
    sizes: tuple[int, ...]
    selection: Selection


@dataclass(frozen=True)
class SizeRow:
    """One size of the sweep; times in seconds.

    Parameters
    ----------
    schedule
        Index of the program that serves it; None where none is selected.
    seconds, best_s
        Its time, and the least of all candidates.
    bound_s
        Certified lower bound; None where nothing was synthesized at this size.
    note
        Why no program was made for this size, and whether none serves it; mostly empty.
    """

    size_bytes: int
    schedule: int | None
    seconds: float | None
    best_s: float | None
    bound_s: float | None
    note: str


@dataclass(frozen=True, eq=False)
class Tuned:
    """The answer to a sweep.

    Parameters
    ----------
    simulations
        Number of times that a candidate was simulated: each at every size of the sweep that selects it.
    """

    prepared: Prepared
    options: Options
    rows: tuple[SizeRow, ...]
    schedules: tuple[Ranged, ...]
    candidates: int
    simulations: int
    seconds: float
    hit_time_limit: bool


def tune(
    topology: Topology,
    op: Op,
    sizes: Sequence[int],
    options: Options,
    *,
    root: int = 0,
    store: Store | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Tuned:
    """Return the fewest programs that are within 2 % of the best at every size.

    A candidate is the program that the synthesis makes for a size of the sweep, be it a ring or a tree where such is
    fastest; where runtimes do not select it at that size, also one of fewer pieces that they do select. Every candidate
    is simulated at every size of the sweep for which a runtime selects it.

    Parameters
    ----------
    sizes
        Ascending, each a whole number of elements.
    options
        Datatype, protocol, processes and time limit of the whole sweep; its size is not used.
    store
        Where answers of the solvers are kept; what is made does not depend on it.

    Raises
    ------
    InputError
        When the topology is not connected or too large for programs.
    GaveUpError
        When no program fits the limits of the runtime at any size.
    """
    clock = Clock(options.time_limit_s)
    _require_programs(topology)
    prepared = prepare(topology, op, root=root, progress=progress)
    made = made_at(prepared, sizes, options, clock=clock, store=store, progress=progress)
    candidates = distinct(made)
    if not candidates:
        raise GaveUpError(made[-1].failure)
    progress(f"simulating {len(candidates)} programs")
    times = tuple(timed(prepared, candidates, sizes, options))
    schedules = _ranged(candidates, sizes, times, options)
    return Tuned(
        prepared=prepared,
        options=options,
        rows=_rows(made, sizes, times, schedules),
        schedules=tuple(ranged for ranged, _ in schedules),
        candidates=len(candidates),
        simulations=sum(time is not None for row in times for time in row),
        seconds=clock.spent_s(),
        hit_time_limit=len({one.size_bytes for one in made}) < len(sizes) or any(one.hit_time_limit for one in made),
    )


def _require_programs(topology: Topology) -> None:
    if topology.ranks > LARGEST_DEFAULT_PROGRAM:
        msg = (
            f"{topology.name} has {topology.ranks} ranks; a sweep writes programs, and above {LARGEST_DEFAULT_PROGRAM} "
            "ranks their files have millions of steps; make schedules one size at a time: syccl synth -o FILE.json"
        )
        raise InputError(msg)


_Times = Sequence[Sequence[float | None]]


def _ranged(
    candidates: Sequence[Candidate], sizes: Sequence[int], times: _Times, options: Options
) -> list[tuple[Ranged, Segment]]:
    units = [candidate.unit_bytes(options.datatype) for candidate in candidates]
    segments = fewest_segments(times)
    found = []
    for segment, limits in zip(segments, byte_ranges(segments, sizes, units, times), strict=True):
        candidate = candidates[segment.candidate]
        chosen = Selection(units[segment.candidate], limits.min_bytes, limits.max_bytes)
        served = tuple(size for size in sizes[segment.first : segment.last + 1] if chosen.takes(size))
        found.append((Ranged(candidate, limits, served, chosen), segment))
    return found


def _rows(
    made: Sequence[Made], sizes: Sequence[int], times: _Times, schedules: Sequence[tuple[Ranged, Segment]]
) -> tuple[SizeRow, ...]:
    of_size = {one.size_bytes: one for one in reversed(made)}
    rows = []
    for i, (size, best) in enumerate(zip(sizes, best_times(times), strict=True)):
        number = next((n for n, (ranged, _) in enumerate(schedules) if size in ranged.sizes), None)
        seconds = None if number is None else times[schedules[number][1].candidate][i]
        one = of_size.get(size)
        bound = None if one is None else one.bound_s
        rows.append(SizeRow(size, number, seconds, best, bound, _note(one, is_served=number is not None)))
    return tuple(rows)


def _note(made: Made | None, *, is_served: bool) -> str:
    notes = ["left out at the time limit"] if made is None else [made.failure] if made.failure else []
    return "; ".join(notes if is_served else [*notes, "no program of the sweep is selected for this size"])


def written(tuned: Tuned) -> Iterator[str]:
    """Yield the text of each schedule's file, in order, after its program passed verification.

    Raises
    ------
    InternalError
        When a program is wrong.
    """
    work = partial(_text, tuned.prepared, tuned.options)
    yield from ordered_results(work, tuned.schedules, jobs=tuned.options.jobs)


def _text(prepared: Prepared, options: Options, ranged: Ranged) -> str:
    limits = ranged.bytes
    made = program_for(prepared, ranged.candidate, options)
    # Messages are most in number at the largest size, so a program that ends there ends at all sizes of its range.
    require_clean(verify_program(made, size_bytes=limits.max_bytes, target=options.target), "program")
    program = addressed(made, options.target, first_bytes=limits.min_bytes, last_bytes=limits.max_bytes)
    return write_xml(program, options.target)
