"""The page about rules: its example runs, and its table is what was measured."""

import json
import re
from pathlib import Path

from support.guides import DOCS
from support.walkthrough import walk_through

PAGE = DOCS / "rules.md"
MEASURED = Path(__file__).parents[2] / "evidence" / "rules" / "long-run.json"


def test_the_example_decides_and_explains_as_it_says(tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    reason = walk_through(PAGE, tmp_path)["reason"]
    assert reason in " ".join(page.split())


def test_the_table_is_what_was_measured():
    rows = [row for row in json.loads(MEASURED.read_text(encoding="utf-8")) if row["needs"] == "the paper's needs"]
    measured = {(row["welfare"], row["gamma"]): row for row in rows}
    columns = [(welfare, gamma) for welfare in ("egalitarian", "nash") for gamma in (1.0, 0.99, 0.9)]
    table = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(table) == 8
    for rule, cells in table:
        assert cells.split(" | ") == [f"{100 * measured[column][rule]:.1f}%" for column in columns]


def test_prices_reach_what_was_promised():
    rows = json.loads(MEASURED.read_text(encoding="utf-8"))
    least = {1.0: 0.98, 0.99: 0.98, 0.9: 0.96}
    paper = [row for row in rows if row["needs"] == "the paper's needs" and row["welfare"] == "egalitarian"]
    assert len(paper) == 3
    for row in paper:
        assert row["prices"] >= least[row["gamma"]]
