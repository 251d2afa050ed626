"""Columns of numbers, conditions on rows, weights of columns, and errors that name the row."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import ibis

from bygones._arrays import check_between
from bygones._csv import number_hint, thousands_hint
from bygones.audit.read.sources import Source, check_columns, constant, readable

_CONDITION = re.compile(r"\s*(.+?)\s*(!=|>=|<=|=|>|<)\s*(.*?)\s*", re.DOTALL)
_ORDERS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def only(source: Source, rows: Any, conditions: Sequence[str]) -> Any:
    """The rows that meet all conditions, such as `state=COMPLETED,TIMEOUT`, `user!=root` or `fare>=10`.

    Numbers are compared as numbers, everything else as text, so that dates must be in ISO 8601.
    """
    for condition in conditions:
        match = _CONDITION.fullmatch(condition)
        if match is None:
            raise ValueError(f"where must be a condition such as state=COMPLETED or fare>=10, got {condition!r}")
        name, sign, value = match.groups()
        check_columns(source.columns, [name], source.label)
        column = rows[name]
        if sign in _ORDERS and is_number(value):
            rows = rows.filter(_ORDERS[sign](as_number(column, source, name), constant(float(value))))
            continue
        text = column.cast("string").strip()
        if sign in _ORDERS:
            rows = rows.filter(_ORDERS[sign](text, value))
        else:
            listed = text.isin([each.strip() for each in value.split(",")]).fill_null(False)
            rows = rows.filter(listed if sign == "=" else ~listed)
    return rows


def only_named(source: Source, rows: Any, agent: str = "agent") -> tuple[Any, int]:
    """The rows that name an agent, in that column, and the number of those that do not."""
    is_named = (rows[agent].notnull() & (rows[agent].cast("string").strip() != "")).fill_null(False)
    with readable(source.label):
        return rows.filter(is_named), int(rows.filter(~is_named).count().to_pyarrow().as_py())


def weights_of(text: str, name: str) -> dict[str, float]:
    """Weights by name, from text such as `cpu=1,gpu=40`; a weight that is left out is 1."""
    found: dict[str, float] = {}
    for part in text.split(","):
        what, given, weight = part.partition("=")
        if not what.strip() or (given and not is_number(weight)):
            raise ValueError(f"{name} must be names with weights such as cpu=1,gpu=40, got {text!r}")
        found[what.strip()] = check_weight(what.strip(), float(weight) if given else 1.0)
    return found


def check_weight(name: object, weight: float) -> float:
    """A weight above 0."""
    return float(
        check_between(f"weight of {name}", weight, 0.0, float("inf"), "a number above 0", open_low=True, open_high=True)
    )


def utility_columns(utility: str | Sequence[str] | Mapping[str, float], known: Sequence[str]) -> dict[str, float]:
    """The columns that make up the utility, with their weights: `pfizer=1,moderna=0.5` as text."""
    if isinstance(utility, Mapping):
        return {str(name): check_weight(name, weight) for name, weight in utility.items()}
    if not isinstance(utility, str):
        return dict.fromkeys(utility, 1.0)
    if utility in known or not set(",=") & set(utility):
        return {utility: 1.0}
    return weights_of(utility, "utility")


def utility_of(rows: Any, weights: Mapping[str, float], parts: Mapping[str, Any]) -> dict[str, Any]:
    """The utility of each row: one column as it is, or the weighted sum of several."""
    if not weights:
        return {}
    if len(weights) == 1:
        ((name, weight),) = weights.items()
        return {"utility": rows[name]} if weight == 1 else {"utility": weight * next(iter(parts.values()))}
    terms = [weight * parts[f"utility_{i}"] for i, weight in enumerate(weights.values())]
    # Each term has to be a number: a negative one must not hide behind a positive one.
    bad = [(~(part >= 0)).fill_null(True) for part in parts.values()]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    any_bad = bad[0]
    for each in bad[1:]:
        any_bad = any_bad | each
    return {"utility": ibis.ifelse(any_bad, ibis.literal(math.nan, type="float64"), total)}


def is_number(text: str) -> bool:
    """Whether the text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def refuse(source: Source, rows: Any, what: str, column: str, is_bad: Any, accepted: str, hint: str = "") -> None:
    """Raises for the first row in which a value is bad, if there is one; `hint` says what to do about it."""
    found = _first(source, rows.mutate(bad=is_bad))
    if found is None:
        return
    label, row = source.label, found["row"] + 1
    if source.several and "filename" in found:
        label = found["filename"]
        inside = rows.mutate(bad=is_bad)
        row = (_first(source, inside.filter(inside.filename == label)) or found)["row"] + 1
    where = f"row {row} of those kept" if source.filtered else f"row {row + source.above}"
    value = found.get(f"{what}_raw", found[what])
    if isinstance(value, str) and value.strip() and not hint:
        hint = (source.decimal_comma and thousands_hint(value.strip())) or number_hint(value.strip())
    raise ValueError(f"{label}, {where}: {column} must be {accepted}, got {_quoted(value)}{hint}")


def _first(source: Source, rows: Any) -> dict[str, Any] | None:
    """The first bad row, with its number."""
    numbered = rows.mutate(row=ibis.row_number())
    with readable(source.label):
        found = numbered.filter(numbered.bad).order_by("row").limit(1).to_pyarrow().to_pylist()
    return found[0] if found else None


def as_number(column: Any, source: Source, name: str) -> Any:
    """A column of numbers, from numbers or text; text that is not a number becomes NULL."""
    kind = column.type()
    if kind.is_string():
        text = _with_points(column.strip(), source) if source.decimal_comma else column.strip()
        return text.try_cast("float64") if source.engine == "duckdb" else column.cast("float64")
    if not (kind.is_numeric() or kind.is_boolean()):
        raise ValueError(f"{source.label}: {name} must be numbers, got a column of type {kind}")
    return column.cast("float64")


def _with_points(text: Any, source: Source) -> Any:
    """Numbers with a decimal point for a comma; where there are commas, 1.000 may be a thousand and becomes NULL."""
    clean = text.replace(",", ".")
    with readable(source.label):
        has_commas = text.re_search(r"^[+-]?\d*,\d+$").any().to_pyarrow().as_py()
    if not has_commas:
        return clean
    return ibis.ifelse(text.re_search(r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"), ibis.null("string"), clean)


def _quoted(value: object) -> str:
    return "nothing" if value is None or value == "" else repr(value) if isinstance(value, str) else str(value)
