"""`docs/decisions.md` is what the docstrings cite it for, and what it says of the code is true."""

import ast
import dataclasses
import importlib
import inspect
import re

import pytest

from bygones import decay
from bygones.envs.problem import FairProblem
from bygones.envs.scenarios.allocation import Allocation
from bygones.learn.settings import Settings
from bygones.paper.claims import CLAIMS
from support.guides import DOCS

PAGE = (DOCS / "decisions.md").read_text(encoding="utf-8")
SOURCES = DOCS.parent / "src"
CLASSES = {"FairProblem": FairProblem, "Settings": Settings}
SWITCH = re.compile(r"`(\w+)`\s+of\s+((?:`[\w.]+`(?:\s+and\s+)?)+),\s+default\s+`([^`]+)`")


def sections():
    """The text of each row, by its number."""
    parts = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    titles = zip(parts[1::2], parts[2::2], strict=True)
    return {int(row[1]): text for title, text in titles if (row := re.match(r"Row (\d+): ", title))}


def switches():
    """Every switch that the page names: its row, its owner's name, its own name and its default."""
    return [
        (row, owner, name, ast.literal_eval(default))
        for row, text in sections().items()
        for name, owners, default in SWITCH.findall(text)
        for owner in re.findall(r"`([\w.]+)`", owners)
    ]


def table(text):
    """The cells of a Markdown table, without its header."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def named(dotted):
    """What a dotted name such as `bygones.decay.half_life` stands for."""
    module, _, name = dotted.rpartition(".")
    try:
        return importlib.import_module(dotted)
    except ModuleNotFoundError:
        return getattr(importlib.import_module(module), name)


def test_there_are_eighteen_rows_and_the_summary_links_to_each():
    assert list(sections()) == list(range(1, 19))
    titles = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    linked = re.findall(r"^\| \[(\d+)\]\(#([^)]+)\)", PAGE, re.MULTILINE)
    assert [int(row) for row, _ in linked] == list(range(1, 19))
    assert {anchor for _, anchor in linked} <= anchors


def test_every_row_cited_in_the_code_exists():
    cited = {
        (path.name, int(row))
        for path in SOURCES.rglob("*.py")
        for row in re.findall(r"\brow (\d+)\b", path.read_text(encoding="utf-8"))
    }
    assert {("problem.py", 6), ("settings.py", 18)} <= cited
    assert {row for _, row in cited} <= set(sections())


def test_rows_cited_for_a_setting_are_about_that_setting():
    entries = re.findall(r"^    (\w+): ((?:.+\n?)(?: {8}.*\n?)*)", inspect.getdoc(FairProblem) + "\n", re.MULTILINE)
    cited = {name: int(row[1]) for name, text in entries if (row := re.search(r"\(row (\d+)", text))}
    assert len(cited) >= 5
    of_needs = re.search(r"`needs`:.*\(row (\d+)\)", " ".join((inspect.getdoc(Allocation) or "").split()))
    cited["needs"] = int(of_needs[1])
    for name, row in cited.items():
        assert f"`{name}`" in sections()[row], f"row {row} does not mention {name}"


@pytest.mark.parametrize(("row", "owner", "name", "default"), switches())
def test_every_switch_exists_and_has_the_default_that_the_page_gives(row, owner, name, default):
    if owner in CLASSES:
        fields = {field.name: field.default for field in dataclasses.fields(CLASSES[owner])}
    else:
        fields = {argument.name: argument.default for argument in inspect.signature(named(owner)).parameters.values()}
    assert fields[name] == default, f"row {row}"


def test_rows_with_a_switch_are_the_ones_that_say_so():
    assert len(SWITCH.findall(PAGE)) == len(re.findall(r"default\s+`", PAGE))
    assert {row for row, *_ in switches()} == {5, 6, 7, 10, 13, 14, 17}
    assert {row for row, text in sections().items() if "**Switch.**" in text} == {5, 6, 7, 10, 13, 14, 17}


def test_every_name_of_the_package_exists():
    dotted = set(re.findall(r"`(bygones(?:\.\w+)+)`", PAGE))
    assert len(dotted) >= 5
    for name in dotted:
        assert named(name) is not None


def test_half_lives_and_windows_are_what_the_code_computes():
    rows = table(sections()[4])
    assert len(rows) == 5
    for gamma, _, half_life, window in rows:
        assert half_life == f"{decay.half_life(gamma=float(gamma)):.2f}"
        assert window == f"{decay.window(gamma=float(gamma)):.1f}"


def test_hyperparameters_are_the_defaults_of_the_settings():
    rows = table(sections()[18])
    assert len(rows) == 13
    for name, default, _ in rows:
        assert getattr(Settings(), name.strip("`")) == ast.literal_eval(default)


def test_the_claims_are_those_that_are_judged():
    claims = re.findall(r"^\| \[(C\d+)\]\(claims\.md\) \| (.*?) \|", PAGE, re.MULTILINE)
    judged = dict.fromkeys(name.strip("abcd") for name in CLAIMS if name.startswith("C"))
    assert [name for name, _ in claims] == list(judged)


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert target.startswith("http") or (page.parent / target).exists(), target
