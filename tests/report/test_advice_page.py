"""Advice as a page: readable without a screen reader and with one, on any screen."""

import re
from datetime import date, timedelta

import pytest

from bygones.audit import advise, read_history
from bygones.report.page import document_page, render, write
from support.browser import DESKTOP, PHONE, complaints, opened, overflow
from support.reading_html import HOSTILE

LONG = "bygones what-if " + " ".join(f"--where column-{i}=value" for i in range(20))
COMMANDS = {"To begin with it": "bygones ledger new team.db --half-life 14d", "To see more": LONG}


def page_of(advice, commands=COMMANDS):
    return render(document_page(advice.document(commands)))


@pytest.fixture(scope="module")
def advices(tmp_path_factory):
    """Advice of each kind: of goods, of burdens, and of a history that does not record who asked."""
    path = tmp_path_factory.mktemp("advice") / "history.csv"
    rows, quoted = ["agent,time,need,served"], HOSTILE.replace('"', '""')
    for day in range(100):
        for agent, name in enumerate(("Ana", "Ben", quoted)):
            at = date(2026, 1, 1) + timedelta(days=day)
            rows.append(f'"{name}",{at},{1 + (7 * day + agent) % 5},{int(agent == day * day % 3)}')
    path.write_text("\n".join(rows), encoding="utf-8")
    with read_history(path, needs="need", served="served") as history:
        quick = {"half_lives": ["7d", "inf"], "period": "14d", "draws": 1}
        replayed = {kind: advise(history, kind=kind, **quick) for kind in ("good", "burden")}
    with read_history(path, utility="need") as history:
        return replayed | {"received": advise(history)}


def test_the_recommended_row_stands_out_and_numbers_stand_to_the_right(advices):
    html = page_of(advices["good"])
    row = re.search(r'<tr class="chosen">(.*?)</tr>', html, re.DOTALL)[1]
    assert "recommended</td>" in row
    assert row.count('class="number"') == 4
    assert html.count('class="chosen"') == 1


def test_sentences_are_a_list_and_options_are_code(advices):
    html = page_of(advices["good"])
    assert html.count('<ul class="sentences">') == 2
    assert "Add <code>--reports</code> normalised, which" in html
    assert '<code>bygones ledger new team.db <span class="option">--half-life</span> 14d</code>' in html
    for reason in advices["good"].reasons():
        assert f"<li>{reason}</li>" in html


def test_the_chart_compares_with_what_happened_and_its_axis_has_a_title(advices):
    (chart,) = advices["good"].charts()
    assert [trace["name"] for trace in chart.figure["data"]] == ["recommended", "actual", "compared"]
    assert "worst-off quarter" in chart.figure["layout"]["xaxis"]["title"]["text"].replace("<br>", " ")
    for places in zip(*(trace["x"] for trace in chart.figure["data"]), strict=True):
        assert sum(x is not None for x in places) == 1


def test_names_are_text(advices):
    advice = advices["received"]
    assert any(HOSTILE in str(cell) for row in advice.table().rows for cell in row) or HOSTILE in str(advice.reasons())
    html = page_of(advice, {HOSTILE: HOSTILE})
    assert "<script>alert" not in html
    assert "<img" not in html


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["good", "burden", "received"])
@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "dark"), (PHONE, "light")])
def test_the_page_in_a_browser(chromium, advices, tmp_path, kind, viewport, scheme):
    path = write(document_page(advices[kind].document(COMMANDS)), tmp_path / "advice.html")
    with opened(chromium, path, viewport, scheme) as page:
        assert overflow(page) == 0
        charts = page.locator("[data-chart]")
        assert charts.count() == (kind != "received")
        for n in range(charts.count()):
            charts.nth(n).scroll_into_view_if_needed()
            charts.nth(n).locator("svg.main-svg").first.wait_for()
        for n in range(len(COMMANDS)):
            command = page.locator("#next pre").nth(n)
            assert command.evaluate("block => block.scrollWidth - block.clientWidth") == 0
        assert complaints(page) == []
