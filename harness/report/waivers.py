"""The waiver dashboard as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report.page import render_template
from harness.report.page_view import web_link

__all__ = ["render_waivers"]

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 760, 220, 44, 24  # of the chart, in units of its view box


def render_waivers(data: Mapping[str, Any]) -> str:
    """Return the page of what `harness waives stats --format json` prints."""
    waivers = [{**waiver, "link": web_link(waiver["bug"])} for waiver in data["waivers"]]
    ends = sorted((w for w in waivers if w["state"] in ("expired", "expiring")), key=lambda w: str(w["until"]))
    kinds = {"bug": "By bug", "gpu": "By GPU", "owner": "By owner"}
    groups = [
        {"title": kinds[kind], "most": max((group["waivers"] for group in found), default=1), "rows": found}
        for kind, found in data["groups"].items()
    ]
    oldest = sorted(waivers, key=lambda waiver: -(waiver["age"] or 0))
    return render_template(
        "waivers.html", title=data["file"], data=data, groups=groups, ends=ends, waivers=oldest,
        chart=_chart(data["trend"]),
    )  # fmt: skip


def _chart(trend: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the line's points in the chart's own units; time runs with the days, not with the commits."""
    if len(trend) < 2:
        return None
    from datetime import date

    days = [date.fromisoformat(point["day"]).toordinal() for point in trend]
    most = max(max(point["waivers"] for point in trend), 1)
    span = max(days) - min(days) or 1
    points = [
        (
            round(_LEFT + (day - min(days)) / span * (_WIDTH - _LEFT - 10), 1),
            round(10 + (1 - point["waivers"] / most) * (_HEIGHT - _BOTTOM - 10), 1),
        )
        for day, point in sorted(zip(days, trend, strict=True), key=lambda pair: pair[0])
    ]
    line = " ".join(f"{x},{y}" for x, y in points)
    base = _HEIGHT - _BOTTOM
    return {
        "line": line, "area": f"{points[0][0]},{base} {line} {points[-1][0]},{base}", "most": most,
        "base": base, "left": _LEFT, "width": _WIDTH, "height": _HEIGHT,
        "first": min(point["day"] for point in trend), "last": max(point["day"] for point in trend),
        "begin": trend[0]["waivers"], "end": trend[-1]["waivers"],
    }  # fmt: skip
