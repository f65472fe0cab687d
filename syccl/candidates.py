"""What was tried, how far each candidate came, and why the winner won."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BASELINE = "baseline"
"""Source of rings and trees, which need no plan."""

_US = 1e6


@dataclass(frozen=True)
class Lowering:
    """One way to make a program: its channels, its time in seconds, and the limit that it breaks.

    ``seconds`` is None where the program does not fit or deadlocks.
    """

    channels: str
    seconds: float | None
    limit: str | None


@dataclass(frozen=True)
class Candidate:
    """Something that could have been written.

    Parameters
    ----------
    source
        What made it.
    status
        How the solver that made it ended, in one word; None where there was none.
    pieces, chunks
        Pieces of the plan (lanes of a ring or tree), and chunks of the total buffer.
    cheap_s
        Time of the list schedule that ranks plans, seconds; None for rings and trees.
    schedule_s
        Exact time of the schedule, seconds; None where none was made.
    lowerings
        The programs that were made of it.
    limit
        Why it was left out before any program was made; None where it was only slower.
    won
        Whether it is what is handed out.
    """

    source: str
    name: str
    pieces: int
    chunks: int
    cheap_s: float | None = None
    schedule_s: float | None = None
    lowerings: tuple[Lowering, ...] = ()
    limit: str | None = None
    status: str | None = None
    won: bool = False

    @property
    def went_on(self) -> bool:
        """Whether exact work was done on it."""
        return self.schedule_s is not None or bool(self.lowerings)

    @property
    def best(self) -> Lowering | None:
        """The fastest program within all limits."""
        fitting = [way for way in self.lowerings if way.limit is None and way.seconds is not None]
        return min(fitting, key=lambda way: way.seconds or 0.0, default=None)

    @property
    def excluded_by(self) -> str | None:
        """The limit that keeps it from being used; None where nothing does."""
        if self.limit is not None or self.best is not None or not self.lowerings:
            return self.limit
        return self.lowerings[0].limit

    def record(self) -> dict[str, object]:
        """Return it under stable names, with units in them."""
        best = self.best
        return {
            "source": self.source,
            "status": self.status,
            "plan": self.name,
            "pieces": self.pieces,
            "chunks": self.chunks,
            "cheap_us": _us(self.cheap_s),
            "went_on": self.went_on,
            "schedule_us": _us(self.schedule_s),
            "program_us": None if best is None else _us(best.seconds),
            "channels": None if best is None else best.channels,
            "limit": self.excluded_by,
            "won": self.won,
            "lowerings": [
                {"channels": way.channels, "program_us": _us(way.seconds), "limit": way.limit} for way in self.lowerings
            ],
        }


def why_program(candidates: Sequence[Candidate]) -> str:
    """Return in one sentence why the winner's program was taken."""
    fitting = [(one.best.seconds, one) for one in candidates if one.best is not None and one.best.seconds is not None]
    mine, winner = next(pair for pair in fitting if pair[1].won)
    rivals = [pair for pair in fitting if not pair[1].won]
    if not rivals:
        lowered = sum(bool(one.lowerings) for one in candidates)
        return "the only plan that was lowered" if lowered == 1 else f"the only one of {lowered} that fits the runtime"
    other, rival = min(rivals, key=lambda pair: pair[0])
    if mine <= other:
        return f"the fastest of {len(fitting)} programs: {_text(mine)}; the next, {_named(rival)}, takes {_text(other)}"
    near = f"within 1 % of the fastest program ({_text(mine)} against {_text(other)} of {_named(rival)})"
    if winner.chunks < rival.chunks:
        return f"{near}, with fewer chunks ({winner.chunks} against {rival.chunks})"
    return f"{near}, with as many chunks and the faster schedule"


def why_schedule(candidates: Sequence[Candidate]) -> str:
    """Return in one sentence why the winner's schedule was taken."""
    timed = [(one.schedule_s, one) for one in candidates if one.schedule_s is not None]
    mine = next(seconds for seconds, one in timed if one.won)
    rivals = [pair for pair in timed if not pair[1].won]
    if not rivals:
        return "the only plan" if len(candidates) == 1 else f"the fastest list schedule of {len(candidates)} plans"
    other, rival = min(rivals, key=lambda pair: pair[0])
    return f"the fastest of {len(timed)} schedules: {_text(mine)}; the next, {_named(rival)}, takes {_text(other)}"


def _named(candidate: Candidate) -> str:
    lanes = "lanes" if candidate.source == BASELINE else "pieces" if candidate.pieces != 1 else "piece"
    return f"{candidate.name} ({candidate.pieces} {lanes})"


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * _US


def _text(seconds: float) -> str:
    return f"{seconds * _US:.4g} us" if seconds * _US < 1000 else f"{seconds * _US:.1f} us"
