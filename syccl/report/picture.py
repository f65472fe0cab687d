"""A topology as a picture, lines coloured by bandwidth or by what a schedule puts on them (needs matplotlib)."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from syccl.errors import InputError
from syccl.report.layout import Layout, Mark, Stroke
from syccl.topology import Kind
from syccl.units import format_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {Kind.GPU: "#76b900", Kind.NIC: "#f2a900", Kind.SWITCH: "#5b7fa6"}
_SHAPES = {Kind.GPU: "s", Kind.NIC: "D", Kind.SWITCH: "o"}
FORMATS = (".svg", ".png", ".pdf")


def draw(layout: Layout, *, title: str, form: str, load: Sequence[float] | None = None) -> bytes:
    """Return a picture of a layout; the same layout gives the same bytes.

    Parameters
    ----------
    form
        ``svg``, ``png`` or ``pdf``.
    load
        Share of the time that each link is busy, 0 to 1; None to colour by bandwidth.

    Raises
    ------
    InputError
        When matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        msg = "pictures need matplotlib; install it with: pip install 'syccl[plot]'"
        raise InputError(msg) from None
    marks = layout.marks
    width = max(mark.x for mark in marks) - min(mark.x for mark in marks) + 2
    height = max(mark.y for mark in marks) + 2
    with mpl.rc_context({"svg.hashsalt": "syccl", "font.size": 7}):
        figure = Figure(figsize=(min(40.0, max(5.0, 0.55 * width)), min(20.0, max(3.0, 0.9 * height))))
        axes = figure.add_axes((0.02, 0.06, 0.96, 0.86))
        axes.set_axis_off()
        axes.set_title(title)
        shades = _shades(layout.strokes, load)
        has_tiers = any(mark.kind is not Kind.GPU for mark in marks)
        colours = mpl.colormaps["viridis_r" if load is None else "inferno_r"]
        for stroke, shade in zip(layout.strokes, shades, strict=True):
            one, other = marks[stroke.one], marks[stroke.other]
            bend = 0.25 + 0.05 * abs(one.x - other.x) if one.y == other.y and has_tiers else 0.0
            path = _arc(one, other, bend)
            axes.plot(*path, color=colours(0.15 + 0.85 * shade), linewidth=0.6 + 1.4 * shade, zorder=1)
        _servers(axes, marks)
        for kind, colour in _COLOURS.items():
            mine = [mark for mark in marks if mark.kind is kind]
            axes.scatter(
                [m.x for m in mine],
                [m.y for m in mine],
                s=60,
                c=colour,
                marker=_SHAPES[kind],
                zorder=2,
                label=kind.value,
            )
        for mark in marks:
            axes.annotate(mark.label, (mark.x, mark.y), (0, -9), textcoords="offset points", ha="center", fontsize=5)
        figure.text(0.02, 0.015, _legend(layout.strokes, shades, load))
        axes.legend(loc="upper right", fontsize=6, frameon=False, ncols=3)
        out = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
        figure.savefig(out, format=form, dpi=150, metadata=metadata)
    return out.getvalue()


def _shades(strokes: Sequence[Stroke], load: Sequence[float] | None) -> list[float]:
    """Return 0 to 1 for each line: its load, or the place of its bandwidth between least and most, by logarithm."""
    if load is not None:
        return [min(1.0, max(load[link] for link in stroke.links)) for stroke in strokes]
    rates = [math.log(stroke.rate) for stroke in strokes]
    low, high = min(rates, default=0.0), max(rates, default=1.0)
    return [(rate - low) / (high - low) if high > low else 0.5 for rate in rates]


def _arc(one: Mark, other: Mark, bend: float) -> tuple[list[float], list[float]]:
    steps = [i / 12 for i in range(13)] if bend else [0.0, 1.0]
    xs = [one.x + (other.x - one.x) * t for t in steps]
    ys = [one.y + (other.y - one.y) * t - bend * 4 * t * (1 - t) for t in steps]
    return xs, ys


def _servers(axes: Axes, marks: Sequence[Mark]) -> None:
    from matplotlib.patches import FancyBboxPatch

    for server in dict.fromkeys(mark.server for mark in marks if mark.server):
        mine = [mark for mark in marks if mark.server == server]
        left, low = min(m.x for m in mine) - 0.45, min(m.y for m in mine) - 0.6
        size = max(m.x for m in mine) + 0.45 - left, max(m.y for m in mine) + 0.4 - low
        box = FancyBboxPatch(
            (left, low), *size, boxstyle="round,pad=0.02", fill=False, edgecolor="#aaaaaa", linewidth=0.6
        )
        axes.add_patch(box)
        axes.annotate(server, (left, low), (2, 2), textcoords="offset points", fontsize=5, color="#666666")


def _legend(strokes: Sequence[Stroke], shades: Sequence[float], load: Sequence[float] | None) -> str:
    if load is not None:
        return f"lines: share of the time that a link is busy, the most {max(shades, default=0.0):.0%} (dark)"
    rates = sorted({stroke.rate for stroke in strokes})
    return "lines: bandwidth, dark is fast: " + ", ".join(format_rate(rate) for rate in rates[:8])
