"""The page about the memory's own objective: its example runs, and its tables are what was measured."""

import json
import math
import re
from pathlib import Path

import pytest
from benchmarks.rules import RULES

from support.guides import DOCS
from support.walkthrough import walk_through

PAGE = DOCS / "own-objective.md"
MEASURED = Path(__file__).parents[2] / "evidence" / "rules" / "own-objective.json"
COLUMNS = [(welfare, gamma) for welfare in ("egalitarian", "nash") for gamma in (0.99, 0.9, 0.5)]


def rows(agents):
    every = json.loads(MEASURED.read_text(encoding="utf-8"))
    return {(row["welfare"], row["gamma"]): row for row in every if row["agents"] == agents}


def share(row, value):
    """Of the upper bound; for Nash welfare, of the geometric mean."""
    if row["welfare"] == "egalitarian":
        return value / row["upper"]
    return math.exp((value - row["upper"]) / row["agents"])


def error(row, name):
    """The standard error of a share."""
    mean, by = row[name]
    return share(row, mean + by) - share(row, mean)


def test_the_example_runs(tmp_path):
    walk_through(PAGE, tmp_path)


@pytest.mark.parametrize(("agents", "title", "names"), [(2, "two", ["best", *RULES]), (10, "ten", list(RULES))])
def test_the_tables_are_what_was_measured(agents, title, names):
    measured, page = rows(agents), PAGE.read_text(encoding="utf-8")
    body = page.partition(f"| {title} agents |")[2].partition("\n\n")[0]
    table = dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", body, re.MULTILINE))
    assert sorted(table) == sorted(names)
    for name, cells in table.items():
        shares = [share(measured[column], measured[column][name][0]) for column in COLUMNS]
        assert cells.split(" | ") == [f"{100 * each:.1f}%" for each in shares], name
    largest = max(error(measured[column], name) for column in COLUMNS for name in names)
    (stated,) = re.findall(r"below\s+([\d.]+)\s+points", page.partition(f"| {title} agents |")[0].rpartition("##")[2])[
        -1:
    ]
    assert 100 * largest < float(stated)


@pytest.mark.parametrize("agents", [2, 10])
def test_no_rule_is_above_the_bound(agents):
    for row in rows(agents).values():
        assert row["upper"] <= row["without fluctuation"]
        for name in RULES:
            mean, by = row[name]
            assert mean <= row["upper"] + 3 * by
        if agents == 2:
            assert row["lower"] <= row["best"][0] <= row["upper"] <= row["foresight"][0] + 3.1 * row["foresight"][1]


@pytest.mark.parametrize("agents", [2, 10])
def test_the_conclusions_follow_from_the_tables(agents):
    for (welfare, gamma), row in rows(agents).items():
        means = {name: row[name][0] for name in RULES}
        if gamma == 0.99:
            assert max(means, key=means.__getitem__) in ("prices", "calibrated")
        if gamma == 0.5:
            assert means["one-step"] > means["prices"]
        if welfare == "egalitarian":
            assert means["proportional-fair"] > means["one-step"]
        assert abs(means["calibrated"] - means["prices"]) < 3 * row["prices"][1]
