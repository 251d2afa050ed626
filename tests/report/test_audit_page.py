"""An audit as a page: everything it says is there, and every name is text."""

import csv
import json
import re
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from bygones.report.audit.audit_charts import half_life_chart
from bygones.report.audit.audit_page import audit_page, write_audit

from bygones.audit import audit, read_history
from bygones.cli import program
from bygones.report.page import Chart, render
from support.browser import DESKTOP, PHONE, complaints, opened, overflow, until

NASTY = [
    "<script>window.ran = 1</script>",
    '<img src=x onerror="window.ran = 1">',
    "=cmd()",
    'O\'Brien & "Co" 🌙',
    "</title>",
]


@pytest.fixture(scope="module")
def found():
    rows = [
        (name, day, 1.0 + (day * 7 + row) % 5, (day + row) % 3 == 0)
        for day in range(40)
        for row, name in enumerate(NASTY)
    ]
    agents, times, needs, served = zip(*rows, strict=True)
    table = pa.table({"agent": agents, "time": times, "need": needs, "served": served})
    return audit(read_history(table, needs="need", served="served"), ["2", "10", "inf"], newcomers="mean")


def test_names_are_text_on_the_page(found):
    html = render(audit_page(found))
    body = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert "<script>window.ran" not in html
    assert "<img src=x" not in html
    assert "&lt;script&gt;window.ran = 1&lt;/script&gt;" in body
    assert body.count("</title>") == 1
    charts = [block for section in audit_page(found).sections for block in section.blocks if isinstance(block, Chart)]
    assert charts
    for chart in charts:
        for trace in chart.figure["data"]:
            assert "<script" not in trace["name"]
            assert not [text for text in trace.get("customdata", []) if "<" in text]


def test_everything_the_audit_says_is_on_the_page(found):
    page = audit_page(found)
    assert [section.title for section in page.sections] == [
        "In short", "Where everybody stands", "What depends on the half-life", "Over time",
        "If the rule had decided", "Data and method", "Words",
    ]  # fmt: skip
    html = render(page)
    for words in (
        "Gini coefficient", "Egalitarian welfare", "Nash welfare", "entitled", "What to do next", "step numbers",
        "from the first period", "Holds at every half-life", "Depends on the half-life", "pairs of agents",
        "Equal shares are assumed", "a tie is no conclusion", "comes before",
    ):  # fmt: skip
        assert words in html, words


def test_all_agents_are_on_the_page(tmp_path):
    table = pa.table({"agent": [f"agent {i}" for i in range(100)], "time": [0] * 100, "utility": list(range(100))})
    html = write_audit(audit(read_history(table), ["inf"]), tmp_path / "audit.html").read_text()
    assert "The first 50 of 100 agents" in html
    rows = json.loads(re.search(r'id="data-standings">(.*?)</script>', html, re.DOTALL)[1])["rows"]
    assert {row["agent"] for row in rows[0]} == set(table["agent"].to_pylist())


def half_life_axis(rows, half_lives):
    agents, times, utilities = zip(*rows, strict=True)
    found = audit(read_history(pa.table({"agent": agents, "time": times, "utility": utilities})), half_lives)
    return found, half_life_chart(found).figure["layout"]["xaxis"]


def test_the_axis_of_half_lives_has_landmarks_and_ends_where_nothing_more_happens():
    # a and b end with the same in all: a tie if nothing fades, which is no place on the axis.
    rows = [("a", 0, 4), ("b", 2, 2), ("a", 4, 1), ("b", 10, 3)]
    _, axis = half_life_axis(rows, ["2", "10", "inf"])
    assert axis["ticktext"] == ["2", "10", "∞", "100"]
    assert axis["tickvals"][2] == pytest.approx(3 * 640)
    days = [(name, datetime(2026, 1, 1) + timedelta(days=day), amount) for name, day, amount in rows]
    assert half_life_axis(days, ["2d", "10d", "inf"])[1]["ticktext"] == ["2d", "10d", "∞", "30d", "90d", "365d"]


def test_two_who_are_owed_alike_are_told_together():
    table = pa.table({"agent": ["a", "b", "c"], "time": [0, 0, 0], "utility": [1.0, 1.0, 3.0]})
    html = render(audit_page(audit(read_history(table), ["10"])))
    assert "serve first any of a and b, who are tied (owed 0.667 each)" in html
    assert "a and b are owed most at a half-life of 10." in html


def test_an_even_history_is_described_in_whole_sentences_and_without_colour():
    table = pa.table({"agent": ["a", "b"], "time": [3, 3], "utility": [1.0, 1.0]})
    page = audit_page(audit(read_history(table), ["10", "inf"]))
    assert page.lede == (
        "Equal shares are assumed, because no entitlements were given: each of the 2 agents would receive 50.0% of the "
        "total. Nobody is owed anything at any half-life from 10 to inf. Their order is the same at every half-life."
    )
    html = render(page)
    assert '<td class="number ">0</td>' in html
    assert "pairs of agents" not in html
    over_time = next(section for section in page.sections if section.title == "Over time")
    chart = next(block for block in over_time.blocks if isinstance(block, Chart))
    assert chart.figure["layout"]["xaxis"]["range"] == [2, 4]


def test_the_page_states_how_exactly_half_lives_are_known():
    table = pa.table({"agent": ["a", "b", "a"], "time": [0, 20, 30], "fare": [10.0, 6.0, 0.0]})
    for refine, words in ((False, "known only to lie between"), (True, "accurate to one part in a thousand")):
        html = render(audit_page(audit(read_history(table, utility="fare"), ["2", "inf"], refine=refine)))
        assert words in html
        assert "Amounts: fare." in html


def test_those_who_are_away_and_an_even_history_can_be_shown(tmp_path):
    table = pa.table({"agent": ["a", "b", "a"], "time": [0, 0, 100], "utility": [1.0, 1.0, 1.0]})
    html = render(audit_page(audit(read_history(table), ["10"], gone_after="20")))
    assert "away" in html
    assert "Only one agent takes part, so there is nobody to compare with." in html


def test_the_command_writes_a_page(tmp_path, capsys):
    path, page = tmp_path / "history.csv", tmp_path / "audit.html"
    path.write_text("agent,time,utility\nana,2026-01-01,1\nben,2026-01-02,2\n")
    program.main(["audit", str(path), "--page", str(page)])
    assert f"wrote {page}" in capsys.readouterr().out
    assert "Times without a time zone were read as UTC" in page.read_text()
    program.main(["audit", str(path), "--page", str(page), "--json"])
    assert "wrote" not in capsys.readouterr().out


@pytest.mark.soak
def test_the_table_can_be_searched_sorted_and_downloaded(chromium, tmp_path):
    names = [f"agent {i:03}" for i in range(99)] + ["Łódź Ünïted"]
    table = pa.table({"agent": names, "time": [0] * 100, "utility": [float(i * 37 % 100) for i in range(100)]})
    path = write_audit(audit(read_history(table), ["10", "inf"]), tmp_path / "audit.html")
    with opened(chromium, path) as page:
        rows = page.locator("#standings tbody tr")
        assert rows.count() == 50
        page.get_by_role("button", name="Show all 100 agents").click()
        assert rows.count() == 100
        page.get_by_role("button", name="received").click()
        assert rows.first.locator("td").last.text_content() == "99"
        page.locator("[data-part=search]").fill("unite")
        assert rows.count() == 1
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Download").click()
        text = Path(downloading.value.path()).read_text(encoding="utf-8-sig")
        lines = list(csv.reader(text.splitlines()))
        assert lines[0] == [
            "half-life",
            "agent",
            "owed",
            "since",
            "share",
            "entitled",
            "remembered",
            "received",
            "unit",
        ]
        assert len(lines) == 201


@pytest.mark.soak
def test_charts_are_drawn_before_a_capture_of_the_whole_page(chromium, found, tmp_path):
    with opened(chromium, write_audit(found, tmp_path / "audit.html")) as page:
        charts = page.locator("[data-chart]")
        assert charts.count() > 0
        until(lambda: page.locator("[data-chart] svg.main-svg").count() >= charts.count())


@pytest.mark.soak
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(chromium, found, tmp_path, viewport, scheme):
    path = write_audit(found, tmp_path / "audit.html")
    with opened(chromium, path, viewport, scheme) as page:
        assert overflow(page) == 0
        charts = page.locator("[data-chart]")
        assert charts.count() == 7
        for n in range(charts.count()):
            charts.nth(n).scroll_into_view_if_needed()
            charts.nth(n).locator("svg.main-svg").first.wait_for()
        page.locator("path.js-line").first.wait_for()
        assert page.locator("path.js-line").count() >= 3 * 3
        assert page.evaluate("window.ran") is None
        ticks = page.locator(".yaxislayer-above").first.text_content()
        assert "<script>window.ran" in ticks
        page.locator("[data-part=half-life]").select_option("1")
        assert "half-life 10" in page.locator("[data-part=count]").text_content()
        assert complaints(page) == []


@pytest.mark.soak
@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, PHONE])
def test_conclusions_about_63_agents_fit_on_a_screen(chromium, tmp_path, viewport):
    rows = [
        (f"{side} {state}", week, 10_000 + 997 * (i * j * (week + 3) % 13), 1.0 + i + j)
        for i, side in enumerate(("North", "South", "East", "West", "New", "Upper", "Lower"))
        for j, state in enumerate(("Carolina", "Dakota", "Rhode Island and Plantations", *"ABCDEF"))
        for week in range(26)
    ]
    agents, times, doses, people = zip(*rows, strict=True)
    table = pa.table({"agent": agents, "time": times, "utility": doses})
    weights = dict(zip(agents, people, strict=True))
    found = audit(read_history(table), ["1", "4", "12", "inf"], entitlements=weights, unit="doses")
    assert len(found.names) == 63
    assert found.conclusions.pairs_flip > 100
    with opened(chromium, write_audit(found, tmp_path / "audit.html"), viewport) as page:
        assert page.locator("#in-short").bounding_box()["height"] <= viewport["height"]
        assert page.locator("#in-short details:not([open])").count() >= 3
        page.locator("[data-part=all]").click()
        assert page.locator("#standings tbody tr").count() == 63
