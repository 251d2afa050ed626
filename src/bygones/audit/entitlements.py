"""Reads the entitlements that go with a history."""

from __future__ import annotations

from pathlib import Path

from bygones._csv import number, read
from bygones._text import check_text


def read_entitlements(path: Path, *, exempt: bool = False) -> dict[str, float]:
    """Reads one entitlement above 0 per agent from a CSV file with the columns `agent` and `entitlement`.

    With `exempt`, as for shares of a load, it may be 0.
    """
    found: dict[str, float] = {}
    for line, row in read(path, ("agent", "entitlement")):
        where = f"{path}, row {line}: "
        name = check_text(f"{where}agent", row["agent"], empty=False)
        if name in found:
            raise ValueError(f"{where}{name!r} appears twice")
        found[name] = number(f"{where}entitlement", row["entitlement"])
        if not found[name] and not exempt:
            raise ValueError(f"{where}entitlement must be above 0, got {row['entitlement']!r}")
    return found
