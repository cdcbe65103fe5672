"""Definitions as the `dagster_*` case files write them, as partwise definitions.

There weekly `day_offset` counts from 0 = Sunday, and is Sunday when absent.
"""

from __future__ import annotations

from typing import Any

from partwise import partitions as p


def definition(given: dict[str, Any] | None) -> p.Definition | None:
    """The definition of a case; None for a model without partitions."""
    if given is None:
        return None
    kind = given["kind"]
    if kind == "static":
        return p.static(given["keys"])
    if kind == "dynamic":
        return p.dynamic(given["name"], keys=given["keys"])
    if kind == "multi":
        return p.multi({name: definition(dim) for name, dim in given["dims"].items()})
    options: dict[str, Any] = {
        "start": given.get("start") or given.get("start_local"),
        "end": given.get("end") or given.get("end_local"),
        "timezone": given.get("timezone", "UTC"),
        "end_offset": given.get("end_offset", 0),
        "format": given.get("fmt"),
    }
    if kind != "cron":
        options["minute_offset"] = given.get("minute_offset", 0)
        if kind != "hourly":
            options["hour_offset"] = given.get("hour_offset", 0)
    if kind == "weekly":
        options["day_offset"] = (given.get("day_offset", 0) + 6) % 7
    elif kind == "monthly":
        options["day_offset"] = given.get("day_offset", 1)
    elif kind == "cron":
        options["cron"] = given["cron"]
    if given.get("exclusions"):
        options["exclude"] = [e.get("cron") or e["at"] for e in given["exclusions"]]
    return getattr(p, kind)(**options)
