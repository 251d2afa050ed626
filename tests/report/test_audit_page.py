"""An audit as a page: everything it says is there, and every name is text."""

import re
from datetime import datetime, timedelta

import pyarrow as pa
import pytest

from bygones.audit import audit, read_history
from bygones.cli import program
from bygones.report.audit.audit_charts import half_life_chart
from bygones.report.audit.audit_page import audit_page, write_audit
from bygones.report.page import Chart, render
from support.browser import DESKTOP, PHONE, complaints, opened, overflow

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
    for chart in charts:
        for trace in chart.figure["data"]:
            assert "<script" not in trace["name"]
            assert not [text for text in trace.get("customdata", []) if "<" in text]


def test_everything_the_audit_says_is_on_the_page(found):
    page = audit_page(found)
    assert [section.title for section in page.sections] == [
        "Where everybody stands", "Over time", "What depends on the half-life", "If the allocator had decided",
        "Data and method",
    ]  # fmt: skip
    html = render(page)
    for words in (
        "Gini coefficient", "Egalitarian welfare", "Nash welfare", "entitled", "owed most, since", "step numbers",
        "from the first period", "Holds at all of the given half-lives", "Depends on the half-life", "pairs of agents",
    ):  # fmt: skip
        assert words in html, words


def test_many_agents_are_shown_in_part(tmp_path):
    table = pa.table({"agent": [f"agent {i}" for i in range(100)], "time": [0] * 100, "utility": list(range(100))})
    html = write_audit(audit(read_history(table), ["inf"]), tmp_path / "audit.html").read_text()
    assert "The table shows the 15 most owed and the 15 furthest ahead" in html
    assert "agent 0" in html
    assert '<th scope="row">agent 50</th>' not in html


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
    assert "a and 1 other are owed most, since 0" in html
    assert "a and b are owed most at a half-life of 10." in html


def test_an_even_history_is_described_in_whole_sentences_and_without_colour():
    table = pa.table({"agent": ["a", "b"], "time": [3, 3], "utility": [1.0, 1.0]})
    page = audit_page(audit(read_history(table), ["10", "inf"]))
    assert page.lede == (
        "Nobody is owed anything at any half-life from 10 to inf. "
        "The two keep their order at all of the given half-lives."
    )
    html = render(page)
    assert '<td class="number ">0</td>' in html
    assert "pairs of agents" not in html
    chart = next(block for block in page.sections[1].blocks if isinstance(block, Chart))
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
    assert "nobody is owed" in html


def test_the_command_writes_a_page(tmp_path, capsys):
    path, page = tmp_path / "history.csv", tmp_path / "audit.html"
    path.write_text("agent,time,utility\nana,2026-01-01,1\nben,2026-01-02,2\n")
    program.main(["audit", str(path), "--page", str(page)])
    assert f"wrote {page}" in capsys.readouterr().out
    assert "Times without a time zone were read as UTC" in page.read_text()
    program.main(["audit", str(path), "--page", str(page), "--json"])
    assert "wrote" not in capsys.readouterr().out


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
        summaries = page.locator("details.standing > summary")
        summaries.nth(1).click()
        assert page.locator("details.standing").nth(1).locator("tbody tr").first.is_visible()
        assert complaints(page) == []
