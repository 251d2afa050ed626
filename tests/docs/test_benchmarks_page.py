"""The page of benchmarks repeats figures of other pages, each with a date, a machine and a command that exists."""

import re

import pytest

from support.guides import DOCS

ROOT = DOCS.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (DOCS / "benchmarks.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and "[" in line
]


def test_there_is_a_row_for_what_has_a_peer():
    assert len(ROWS) >= 8


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_figures_are_those_of_the_page_that_explains_them(row):
    _, result, machine, date, command = row
    (target,) = re.findall(r"\]\(([^)#]+)[^)]*\)", result)
    explained = " ".join((DOCS / target).resolve().read_text("utf-8").split())
    for figure in re.findall(r"\d[\d,.]*\d", result.partition("([")[0]):
        assert figure in explained, figure
    assert re.fullmatch(r"\d{1,2} \w+ 2\d{3}", date)
    assert machine
    module = re.search(r"benchmarks[./](\w+)", command)[1]
    assert (ROOT / "benchmarks" / f"{module}.py").exists()
