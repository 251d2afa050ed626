"""An audit as a page: everything in it is there, and every name is text."""

import csv
import json
import re
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from bygones.audit import audit, read_history
from bygones.audit.measure.audit_charts import half_life_chart
from bygones.cli import program
from bygones.document import terminal
from bygones.document.document import Bullets, Chart, Section
from bygones.report.page import document_page, render, write
from support.browser import DESKTOP, PHONE, complaints, opened, overflow, until

NASTY = [
    "<script>window.ran = 1</script>",
    '<img src=x onerror="window.ran = 1">',
    "=cmd()",
    'O\'Brien & "Co" 🌙',
    "</title>",
]


def page_of(answer):
    return render(document_page(answer.document()))


def written(answer, path):
    return write(document_page(answer.document()), path)


def charts_of(blocks):
    for block in blocks:
        if isinstance(block, Section):
            yield from charts_of(block.blocks)
        elif isinstance(block, Chart):
            yield block


@pytest.fixture(scope="module")
def audited():
    rows = [
        (name, day, 1.0 + (day * 7 + row) % 5, (day + row) % 3 == 0)
        for day in range(40)
        for row, name in enumerate(NASTY)
    ]
    agents, times, needs, served = zip(*rows, strict=True)
    table = pa.table({"agent": agents, "time": times, "need": needs, "served": served})
    return audit(read_history(table, needs="need", served="served"), ["2", "10", "inf"], newcomers="mean")


def test_names_are_text_on_the_page(audited):
    html = page_of(audited)
    body = re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
    assert "<script>window.ran" not in html
    assert "<img src=x" not in html
    assert "&lt;script&gt;window.ran = 1&lt;/script&gt;" in body
    assert body.count("</title>") == 1
    charts = list(charts_of(audited.document().blocks))
    assert charts
    for chart in charts:
        for trace in chart.figure["data"]:
            assert "<script" not in trace["name"]
            assert not [text for text in trace.get("customdata", []) if "<" in text]
        assert not [text for text in chart.figure["layout"]["yaxis"].get("ticktext", []) if "<" in text]


def test_every_chart_has_axes_with_titles(audited):
    for chart in charts_of(audited.document().blocks):
        layout = chart.figure["layout"]
        assert layout["xaxis"]["title"]["text"]
        assert layout["yaxis"].get("ticktext") or layout["yaxis"]["title"]["text"]


def test_everything_in_the_audit_is_on_the_page(audited):
    page = document_page(audited.document())
    assert [section.title for section in page.sections] == [
        "What to do next", "Conclusions", "Where everyone stands", "What depends on the half-life", "Over time",
        "If the rule had decided", "Data", "Method", "Words",
    ]  # fmt: skip
    html = render(page)
    for words in (
        "Gini coefficient", "egalitarian welfare", "Nash welfare", "entitled", "step numbers", "from the first period",
        "Holds at every half-life", "Depends on the half-life", "pairs of agents", "equal shares are assumed",
        "no conclusion is drawn from them", "comes before",
    ):  # fmt: skip
        assert words in html, words


def test_conclusions_are_not_folded_away(audited):
    """Those that hold at every half-life are what people take to a meeting."""
    conclusions = next(
        section for section in audited.document().blocks if getattr(section, "title", "") == "Conclusions"
    )
    html = page_of(audited)
    for group in conclusions.blocks:
        (bullets,) = group.blocks
        assert isinstance(bullets, Bullets)
        first = len(bullets.sentences[: bullets.most])
        assert 0 < first <= 10
        listing = html[html.index(f"<h3>{group.title}</h3>") :]
        assert listing.index("<li>") < listing.index("</ul>")
        assert listing[: listing.index("</ul>")].count("<li>") == first


def test_all_agents_are_on_the_page(tmp_path):
    table = pa.table({"agent": [f"agent {i}" for i in range(100)], "time": [0] * 100, "utility": list(range(100))})
    html = written(audit(read_history(table), ["10", "inf"]), tmp_path / "audit.html").read_text()
    assert "the first 50 of 100" in html
    listing = json.loads(re.search(r'id="standings-2-rows">(.*?)</script>', html, re.DOTALL)[1])
    assert listing["choices"] == ["half-life 10", "perfect recall (inf)"]
    for rows in listing["tables"]:
        assert {row[0]["text"] for row in rows} == set(table["agent"].to_pylist())


def test_the_terminal_and_the_page_have_the_same_columns(audited):
    html = page_of(audited)
    table = html[html.index('id="standings-2-caption"') :]
    headings = re.findall(r'data-column="\d+">(.*?)</button>', table[: table.index("</thead>")])
    assert headings == ["agent", "received", "recent total", "share", "entitled", "owed", "owed since"]
    printed = terminal.text(audited.document(), 200)
    header = next(line for line in printed.splitlines() if line.startswith(" agent "))
    assert re.split(r" {2,}", header.strip()) == headings


def test_a_page_that_is_shared_names_the_file_without_its_folders(tmp_path, capsys):
    path = tmp_path / "history.csv"
    rows = "".join(
        f"{name},2026-01-{day:02},2,{int(name == 'ana')}\n" for day in range(1, 9) for name in ("ana", "ben")
    )
    path.write_text(f"agent,time,need,served\n{rows}")
    for command in ("audit", "what-if", "advise"):
        page = tmp_path / f"{command}.html"
        columns = ["--needs", "need", "--served", "served"]
        program.main([command, str(path), *columns, "--half-life", "2d,inf", "--page", str(page)])
        assert f"wrote {page}" in capsys.readouterr().out
        assert "history.csv" in page.read_text()
        assert str(tmp_path) not in page.read_text()


def half_life_axis(rows, half_lives):
    agents, times, utilities = zip(*rows, strict=True)
    result = audit(read_history(pa.table({"agent": agents, "time": times, "utility": utilities})), half_lives)
    return half_life_chart(result).figure["layout"]["xaxis"]


def test_the_axis_of_half_lives_has_landmarks_and_ends_where_nothing_more_happens():
    # a and b end with the same in all: a tie with perfect recall, which has no place on a logarithmic axis.
    rows = [("a", 0, 4), ("b", 2, 2), ("a", 4, 1), ("b", 10, 3)]
    axis = half_life_axis(rows, ["2", "10", "inf"])
    assert axis["ticktext"] == ["2", "10", "inf", "100"]
    assert axis["tickvals"][2] == pytest.approx(3 * 640)
    days = [(name, datetime(2026, 1, 1) + timedelta(days=day), amount) for name, day, amount in rows]
    assert half_life_axis(days, ["2d", "10d", "inf"])["ticktext"] == ["2d", "10d", "inf", "30d", "90d", "365d"]


def test_dots_of_one_row_do_not_hide_each_other(audited):
    (chart, *_) = charts_of(audited.document().blocks)
    mark, *dots = chart.figure["data"]
    assert mark["y"] == list(range(len(NASTY)))
    for places in zip(*(trace["y"] for trace in dots), strict=True):
        assert len(set(places)) == len(places) == 3


def test_two_who_are_owed_alike_are_named_together():
    table = pa.table({"agent": ["a", "b", "c"], "time": [0, 0, 0], "utility": [1.0, 1.0, 3.0]})
    html = page_of(audit(read_history(table), ["10"]))
    assert "serve first any of a and b, who are tied (owed 0.667 each)" in html
    assert "a and b are owed most at a half-life of 10." in html


def test_an_even_history_is_described_in_whole_sentences_and_without_colour():
    table = pa.table({"agent": ["a", "b"], "time": [3, 3], "utility": [1.0, 1.0]})
    page = document_page(audit(read_history(table), ["10", "inf"]).document())
    assert page.lede == "Nobody is owed anything at any half-life from 10 to inf."
    assert page.opening[1].startswith("No entitlements were given, so equal shares are assumed: each of the 2 agents")
    assert "would receive 50.0% of the total" in page.opening[1]
    html = render(page)
    assert '<td class="number">0</td>' in html
    assert "pairs of agents" not in html
    over_time = next(section for section in page.sections if section.title == "Over time")
    chart = next(charts_of(over_time.blocks))
    assert chart.figure["layout"]["xaxis"]["range"] == [2, 4]


def test_the_page_states_how_exactly_half_lives_are_known():
    table = pa.table({"agent": ["a", "b", "a"], "time": [0, 20, 30], "fare": [10.0, 6.0, 0.0]})
    for refine, words in ((False, "known only to lie between"), (True, "accurate to one part in a thousand")):
        html = page_of(audit(read_history(table, utility="fare"), ["2", "inf"], refine=refine))
        assert words in html
        assert "Amounts are in fare." in html


def test_those_who_are_away_and_an_even_history_can_be_shown():
    table = pa.table({"agent": ["a", "b", "a"], "time": [0, 0, 100], "utility": [1.0, 1.0, 1.0]})
    html = page_of(audit(read_history(table), ["10"], gone_after="20"))
    assert '<td class="number faint">away</td>' in html
    assert "Only one agent takes part, so there is no one to compare with." in html


def test_the_command_writes_a_page(tmp_path, capsys):
    path, page = tmp_path / "history.csv", tmp_path / "audit.html"
    path.write_text("agent,time,utility\nana,2026-01-01,1\nben,2026-01-02,2\n")
    program.main(["audit", str(path), "--page", str(page), "--title", "Ours"])
    assert f"wrote {page}" in capsys.readouterr().out
    assert "Times without a time zone were read as UTC" in page.read_text()
    assert "<h1>Ours</h1>" in page.read_text()
    program.main(["audit", str(path), "--page", str(page), "--json"])
    assert "wrote" not in capsys.readouterr().out


@pytest.mark.soak
def test_the_table_can_be_searched_sorted_and_downloaded(chromium, tmp_path):
    names = [f"agent {i:03}" for i in range(99)] + ["Łódź Ünïted"]
    table = pa.table({"agent": names, "time": [0] * 100, "utility": [float(i * 37 % 100) for i in range(100)]})
    path = written(audit(read_history(table), ["10", "inf"]), tmp_path / "audit.html")
    with opened(chromium, path) as page:
        listing = page.locator("#standings .listing")
        rows = listing.locator("tbody tr")
        assert rows.count() == 50
        listing.get_by_role("button", name="Show all 100").click()
        assert rows.count() == 100
        listing.get_by_role("button", name="received").click()
        assert rows.first.locator("td").first.text_content() == "99"
        listing.locator("[data-part=search]").fill("unite")
        assert rows.count() == 1
        with page.expect_download() as downloading:
            listing.get_by_role("button", name="Download").click()
        text = Path(downloading.value.path()).read_text(encoding="utf-8-sig")
        lines = list(csv.reader(text.splitlines()))
        assert lines[0] == [
            "half-life", "agent", "received", "recent total", "share", "entitled", "owed", "owed since",
        ]  # fmt: skip
        assert len(lines) == 201


@pytest.mark.soak
def test_charts_are_drawn_before_a_capture_of_the_whole_page(chromium, audited, tmp_path):
    with opened(chromium, written(audited, tmp_path / "audit.html")) as page:
        charts = page.locator("[data-chart]")
        assert charts.count() > 0
        until(lambda: page.locator("[data-chart] svg.main-svg").count() >= charts.count())


@pytest.mark.soak
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(chromium, audited, tmp_path, viewport, scheme):
    path = written(audited, tmp_path / "audit.html")
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
        page.locator("#standings [data-part=choice]").select_option("1")
        assert "half-life 10" in page.locator("#standings [data-part=caption]").text_content()
        assert complaints(page) == []
