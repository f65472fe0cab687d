"""What a sweep has to choose from: the program made for each size, simulated at every size it is selected for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from syccl.clock import Clock
from syccl.collective.datatypes import element_bytes
from syccl.errors import FindingsError, GaveUpError
from syccl.lowering.finish import program_name
from syccl.lowering.lower import program_of
from syccl.lowering.lowered import Lowered
from syccl.pipeline import Options, solve
from syccl.prepare import Prepared
from syccl.program import Program
from syccl.simulate.cost import protocol_named
from syccl.simulate.program_time import ProgramTimer
from syccl.solve.executor import ordered_results
from syccl.store import Store
from syccl.units import format_size


@dataclass(frozen=True, eq=False)
class Made:
    """What the synthesis found for one size.

    Parameters
    ----------
    bound_s
        Certified lower bound at this size; None where the synthesis gave up.
    plan
        Name of the plan, ring or tree that won.
    lowered
        Its program to be; None where the synthesis gave up.
    failure
        Why there is none.
    hit_time_limit
        Whether the search was cut short.
    """

    size_bytes: int
    bound_s: float | None
    plan: str
    lowered: Lowered | None
    failure: str = ""
    hit_time_limit: bool = False


@dataclass(frozen=True, eq=False)
class Candidate:
    """A program that the sweep may use: made for these sizes, named after the plan of the first."""

    lowered: Lowered
    plan: str
    made_for: tuple[int, ...]

    @property
    def chunks(self) -> int:
        """Number of chunks that the total buffer is cut into."""
        return self.lowered.schedule.demand.chunks

    def unit_bytes(self, datatype: str) -> int:
        """Return the bytes of which runtimes select the program for multiples."""
        return self.chunks * element_bytes(datatype)


def made_at(
    prepared: Prepared,
    sizes: Sequence[int],
    options: Options,
    *,
    clock: Clock,
    store: Store | None,
    progress: Callable[[str], None],
) -> list[Made]:
    """Return what the synthesis found at the sizes, ascending; sizes that the time limit left out are missing.

    Where runtimes do not select the program at its own size, one that they do select, of fewer pieces, comes after it.
    Coarse sizes come before the sizes between them, so that a time limit leaves gaps that neighbours can fill. At least
    one size is always done.

    Parameters
    ----------
    options
        Datatype, protocol and processes; its size is not used.
    store
        Where answers of the solvers are kept.
    """
    order = coarse_to_fine(sizes)
    jobs = min(options.jobs, len(order))
    batches = [order[job::jobs] for job in range(jobs)]
    single = replace(options, jobs=1, time_limit_s=clock.left_s())
    if jobs == 1:
        return sorted(_batch(prepared, single, store, order, progress=progress), key=lambda made: made.size_bytes)
    progress(f"synthesizing {len(order)} sizes in {jobs} processes")
    done = [
        made
        for batch in ordered_results(partial(_batch, prepared, single, store), batches, jobs=jobs)
        for made in batch
    ]
    return sorted(done, key=lambda made: made.size_bytes)


def coarse_to_fine(sizes: Sequence[int]) -> list[int]:
    """Return the last size, the first, then the middles of what lies between, level by level."""
    order = dict.fromkeys((len(sizes) - 1, 0))
    level = [(0, len(sizes) - 1)]
    while level:
        halves = []
        for low, high in level:
            if high - low > 1:
                middle = (low + high) // 2
                order[middle] = None
                halves += [(low, middle), (middle, high)]
        level = halves
    return [sizes[i] for i in order]


def _batch(
    prepared: Prepared,
    options: Options,
    store: Store | None,
    sizes: Sequence[int],
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Made]:
    clock = Clock(options.time_limit_s)
    done: list[Made] = []
    for size in sizes:
        if done and clock.is_over():
            break
        where = f"size {len(done) + 1} of {len(sizes)}, {format_size(size)}"
        sized, told = replace(options, size_bytes=size), _told(progress, where)
        done.append(_made(prepared, sized, clock, store=store, progress=told))
        if not _selects_itself(done[-1], options.datatype) and not clock.is_over():
            done.append(_made(prepared, replace(sized, exact=True), clock, store=store, progress=told))
    return done


def _selects_itself(made: Made, datatype: str) -> bool:
    """Return whether runtimes select a program, if there is one, at the size that it was made for."""
    chunks = 1 if made.lowered is None else made.lowered.schedule.demand.chunks
    return made.size_bytes % (chunks * element_bytes(datatype)) == 0


def _told(progress: Callable[[str], None], where: str) -> Callable[[str], None]:
    return lambda word: progress(f"{where}: {word}")


def _made(
    prepared: Prepared, options: Options, clock: Clock, *, store: Store | None, progress: Callable[[str], None]
) -> Made:
    try:
        solved = solve(prepared, options, clock, progress, store=store)
    except GaveUpError as error:
        return Made(options.size_bytes, None, "", None, str(error), clock.hit)
    return Made(
        options.size_bytes, solved.bound.seconds, solved.choice.winner, solved.choice.lowered, hit_time_limit=clock.hit
    )


def distinct(made: Sequence[Made]) -> tuple[Candidate, ...]:
    """Return the programs of a sweep, those that are equal only once, by the first size that they were made for."""
    found: dict[tuple[object, ...], Candidate] = {}
    for one in made:
        if one.lowered is not None:
            fresh = Candidate(one.lowered, one.plan, (one.size_bytes,))
            known = found.setdefault(_content(one.lowered), fresh)
            if one.size_bytes not in known.made_for:
                found[_content(one.lowered)] = replace(known, made_for=(*known.made_for, one.size_bytes))
    return tuple(found.values())


def _content(lowered: Lowered) -> tuple[object, ...]:
    """Return everything that a program follows from."""
    symmetry = lowered.schedule.symmetry
    images = () if symmetry is None else (symmetry.group.ranks.tobytes(), symmetry.chunks.tobytes())
    run = lowered.run
    return lowered.schedule.demand.chunks, lowered.wiring, lowered.tasks, run.order, run.lock_order, images


def timed(
    prepared: Prepared, candidates: Sequence[Candidate], sizes: Sequence[int], options: Options
) -> Iterator[tuple[float | None, ...]]:
    """Yield the seconds of each candidate at all sizes; None where it is not selected or never ends."""
    work = partial(_times, prepared, tuple(sizes), options)
    yield from ordered_results(work, candidates, jobs=options.jobs)


def _times(
    prepared: Prepared, sizes: Sequence[int], options: Options, candidate: Candidate
) -> tuple[float | None, ...]:
    program = program_for(prepared, candidate, options)
    symmetry = candidate.lowered.schedule.symmetry
    group = prepared.symmetry if symmetry is None else symmetry.group
    timer, unit = ProgramTimer.of(program, prepared.topology, group), candidate.unit_bytes(options.datatype)
    return tuple(_seconds(timer, size) if size % unit == 0 else None for size in sizes)


def _seconds(timer: ProgramTimer, size: int) -> float | None:
    try:
        return timer.at(size).seconds
    except FindingsError:
        return None


def program_for(prepared: Prepared, candidate: Candidate, options: Options) -> Program:
    """Return the whole program of a candidate, without limits on sizes."""
    name = program_name(prepared.op, prepared.topology)
    return program_of(candidate.lowered, protocol_named(options.protocol), name=name)
