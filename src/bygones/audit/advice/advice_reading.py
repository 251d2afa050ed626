"""Reads a history for advice: with who asked, if it records that, and otherwise with who received what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bygones._text import listed
from bygones.audit.inputs import formats
from bygones.audit.inputs.engines import open_source
from bygones.audit.inputs.history import History, read_history

NEED, SERVED, UTILITY = "need", "served", "utility"
"""The columns that are looked for."""


def read_for_advice(
    source: Sequence[str],
    *,
    agent: str | None = None,
    time: str | None = None,
    needs: str | None = None,
    served: str | None = None,
    utility: str | None = None,
    table: str | None = None,
    fields: Sequence[str] | None = None,
    format: str = "auto",
    where: Sequence[str] = (),
    skip_unnamed: bool = False,
    time_format: str = "auto",
    timezone: str | None = None,
    resource: str | None = None,
) -> History:
    """Reads a history; arguments as for `read_history`. Columns that are not named are looked for."""
    if utility is not None and (needs is not None or served is not None):
        raise ValueError("give either --utility, or --needs and --served: what was received follows from them")
    files = source[0] if len(source) == 1 else list(source)
    log = format if format in formats.FORMATS else None
    if format == "auto" and time is None and needs is None and utility is None:
        log = formats.recognised(Path(source[0]), fields or ())
    if log is None and format != "ledger":
        opened = open_source(files, table, fields=fields)
        try:
            columns, label = opened.columns, opened.label
            is_ledger = opened.is_ledger() and agent is None and time is None
        finally:
            opened.close()
        if not is_ledger:
            if utility is None:
                needs, served = _who_asked(columns, label, needs, served)
            _check(columns, label, {"agent": agent, "time": time, UTILITY: utility if needs is None else needs})
    return read_history(
        files, agent=agent, time=time, utility=utility, needs=needs, served=served, where=where,
        skip_unnamed=skip_unnamed, time_format=time_format, fields=fields, table=table, format=log or format,
        timezone=timezone, resource=resource,
    )  # fmt: skip


def _who_asked(
    columns: Sequence[str], label: str, needs: str | None, served: str | None
) -> tuple[str | None, str | None]:
    """The columns with needs and with who was served; none if the history has neither."""
    need = needs or (NEED if NEED in columns else None)
    answer = served or (SERVED if SERVED in columns else None)
    if (need is None) == (answer is None):
        return need, answer
    there, flag, what = (need, "--served", "who was served") if need else (answer, "--needs", "each agent's need")
    raise ValueError(
        f"{label} has a column {there!r}, but it is not known which column tells {what}: name it with {flag}; found "
        f"{', '.join(map(repr, columns))}"
    )


def _check(columns: Sequence[str], label: str, named: dict[str, str | None]) -> None:
    """Refuses a history without the columns that were not named, all at once, with the flags that name them."""
    missing = [name for name, given in named.items() if given is None and name not in columns]
    if missing:
        noun, them = ("columns", "them") if len(missing) > 1 else ("column", "it")
        flags = listed([f"--{name} COLUMN" for name in missing])
        or_needs = " (or --needs and --served, if it records who asked)" if UTILITY in missing else ""
        raise ValueError(
            f"{label} has no {noun} called {listed(missing)}: name {them} with {flags}{or_needs}; found "
            f"{', '.join(map(repr, columns)) or 'none'}"
        )
