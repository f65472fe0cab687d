"""What ``--explain`` prints: why the winner won, what else was tried, and what the search did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from syccl.report.tables import Table, counted

_MOST = 12
"""Candidates that a person is shown; ``--json`` lists all."""

_COLUMNS = {
    "plan": "plan",
    "source": "made by",
    "pieces": "pieces",
    "chunks": "chunks",
    "cheap_us": "cheap us",
    "schedule_us": "schedule us",
    "program_us": "program us",
    "channels": "channels",
}
_LEFT = ("plan", "source")
_WORDS = {
    "lp_value_s_per_byte": "best mix of trees, s/B",
    "dual_bound_s_per_byte": "bound of any mix, s/B",
    "columns": "trees priced",
    "sub_demands_closed_form": "sub-demands by closed form",
    "sub_demands_cp_sat": "sub-demands by CP-SAT",
    "sub_demands_ended": "how these ended",
    "sub_demands_list_schedule": "sub-demands by list schedule",
    "sub_demands_reused": "sub-demands known before",
    "sub_demands_too_large_for_cp_sat": "sub-demands too large for CP-SAT",
}

Account = Mapping[str, object]


def explained(account: Account) -> list[tuple[str, Table | str]]:
    """Return the account of a synthesis as titled sentences and tables, the most important first."""
    parts: list[tuple[str, Table | str]] = []
    if "why" in account:
        parts.append(("why", f"{account.get('winner', 'the winner')}: {account['why']}"))
    candidates = _records(account.get("candidates"))
    if candidates:
        parts.append(("candidates", _candidates(candidates)))
    single = [
        (_WORDS.get(name, name.replace("_", " ")), _cell(value))
        for name, value in account.items()
        if not isinstance(value, list) and name not in {"why", "winner"}
    ]
    return [*parts, ("search", Table(single))] if single else parts


def _records(value: object) -> list[Account]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _candidates(records: Sequence[Account]) -> Table:
    """Return the candidates: the winner, then other programs by their time, then what came less far."""
    ranked = sorted(records, key=_rank)
    columns = [name for name in _COLUMNS if any(row.get(name) is not None for row in records)]
    rows = [
        [*((_time if name.endswith("_us") else _cell)(row.get(name)) for name in columns), _outcome(row)]
        for row in ranked[:_MOST]
    ]
    if len(ranked) > _MOST:
        more = counted(len(ranked) - _MOST, "more plan")
        rows.append([f"{more} (--json lists all)", *[""] * len(columns)])
    right = frozenset(i for i, name in enumerate(columns) if name not in _LEFT)
    return Table(rows, [*(_COLUMNS[name] for name in columns), "outcome"], right)


def _rank(row: Account) -> tuple[bool, float, bool, float, float]:
    program, schedule, cheap = (_number(row.get(name)) for name in ("program_us", "schedule_us", "cheap_us"))
    return not row.get("won"), program, not row.get("went_on"), schedule, cheap


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("inf")


def _outcome(row: Account) -> str:
    if row.get("won"):
        return "won"
    limit = row.get("limit")
    if limit:
        return str(limit)
    return "slower" if row.get("went_on") else "not tried further"


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{count} {word}" for word, count in value.items()) or "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _time(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else "-"
