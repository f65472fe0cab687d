"""Whether the simulator predicts what was measured: cost profiles against rows that they were not fitted to."""

from __future__ import annotations

from collections.abc import Sequence

from tests.quality.calibration.points import groups
from tests.quality.part import Case, Measured, Part
from tests.quality.rows import Row
from tests.quality.tables import ABSENT, Table

MOST_MEDIAN = 0.12
MOST_NINE_IN_TEN = 0.30
_NINE_IN_TEN = 0.9


def _cases(quick: bool) -> list[Case]:
    cases: list[Case] = [(group, names, promised) for group, (names, promised) in groups().items() if names]
    return [case for case in cases if case[2] and len(case[1]) == 1] if quick else cases


def _rows(case: Case) -> list[Row]:
    return [Row.of("calibrated", name=name) for name in case[1]]


def _tables(measured: Sequence[Measured]) -> list[Table]:
    made = Table(
        [
            "group",
            "rows",
            "median error",
            "nine in ten within",
            "mean of signed errors",
            "largest",
            "fitted rows, median",
        ]
    )
    for one in measured:
        group, _, promised = one.case
        made.failures += one.failures(group)
        pairs = [pair for values in one.values if values is not None for pair in values]
        errors = [error for error, fitted in pairs if not fitted]
        if errors:
            made.rows.append([group, str(len(errors)), *_cells(made, group, errors, promised=promised), _fitted(pairs)])
    made.notes.append(
        "errors are of the rows to which no profile was fitted; what groups without target ran is not modelled"
    )
    return [made]


def _cells(made: Table, group: str, errors: Sequence[float], *, promised: bool) -> list[str]:
    sizes = sorted(map(abs, errors))
    return [
        made.check(f"{group}: median error", quantile(sizes, 0.5), MOST_MEDIAN if promised else None),
        made.check(
            f"{group}: nine in ten within", quantile(sizes, _NINE_IN_TEN), MOST_NINE_IN_TEN if promised else None
        ),
        f"{sum(errors) / len(errors):+.3f}",
        f"{sizes[-1]:.3f}",
    ]


def _fitted(pairs: Sequence[tuple[float, bool]]) -> str:
    sizes = sorted(abs(error) for error, fitted in pairs if fitted)
    return f"{quantile(sizes, 0.5):.3f}" if sizes else ABSENT


def quantile(ascending: Sequence[float], share: float) -> float:
    """Return the least value that a share of all values do not exceed."""
    at = -(-len(ascending) * round(share * 100) // 100) - 1
    return ascending[max(0, at)]


PART = Part("calibration", _cases, _rows, _tables)
