"""Whether verification finds random faults in programs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.program.mutations import KINDS
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import Table, Target

EACH, FEW = 400, 20
MOST_MISSED = 0.01


def _cases(quick: bool) -> list[Case]:
    return [(kind, FEW) for kind in list(KINDS)[::2]] if quick else [(kind, EACH) for kind in KINDS]


def _rows(case: Case) -> list[Row]:
    kind, each = case
    return [Row.of("mutation", kind=kind, each=each)]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(["kind of fault", "made", "found", "harmless by replay", "missed"])
    total = dict.fromkeys(("made", "found", "harmless", "missed"), 0)
    for one in measured:
        made.failures += one.failures(one.case[0])
        for counts in (value for value in one.values if value is not None):
            made.rows.append([one.case[0], *(str(counts[name]) for name in total)])
            total = {name: total[name] + counts[name] for name in total}
    if made.rows:
        made.rows.append(["all", *map(str, total.values())])
    wrong = total["found"] + total["missed"]
    made.targets.append(
        Target("missed of the faults that change a result", total["missed"] / max(1, wrong), MOST_MISSED)
    )
    return [made]


PART = Part("mutations", _cases, _rows, _tables)
