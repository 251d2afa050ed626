"""Advice as a page: readable as it is, on any screen and without one."""

import re
from datetime import date, timedelta

import pytest
from bygones.report.audit.advice_page import advice_page, write_advice

from bygones.audit import advise, read_history
from bygones.report.page import render
from support.browser import DESKTOP, PHONE, complaints, opened, overflow
from support.reading_html import HOSTILE

LONG = "bygones what-if " + " ".join(f"--where column-{i}=value" for i in range(20))
COMMANDS = {"To begin with it": "bygones ledger new team.db --half-life 14d", "To see more": LONG}


@pytest.fixture(scope="module")
def advices(tmp_path_factory):
    """Advice of each kind: of goods, of burdens, and of a history that does not say who asked."""
    path = tmp_path_factory.mktemp("advice") / "history.csv"
    rows, quoted = ["agent,time,need,served"], HOSTILE.replace('"', '""')
    for day in range(100):
        for agent, name in enumerate(("Ana", "Ben", quoted)):
            at = date(2026, 1, 1) + timedelta(days=day)
            rows.append(f'"{name}",{at},{1 + (7 * day + agent) % 5},{int(agent == day * day % 3)}')
    path.write_text("\n".join(rows), encoding="utf-8")
    with read_history(path, needs="need", served="served") as history:
        quick = {"half_lives": ["7d", "inf"], "period": "14d", "draws": 1}
        found = {kind: advise(history, kind=kind, **quick) for kind in ("good", "burden")}
    with read_history(path, utility="need") as history:
        return found | {"received": advise(history)}


def test_the_recommended_row_stands_out_and_numbers_stand_to_the_right(advices):
    html = render(advice_page(advices["good"], COMMANDS))
    row = re.search(r'<tr class="recommended">(.*?)</tr>', html, re.DOTALL)[1]
    assert "recommended</td>" in row
    assert row.count('class="number"') == 4
    assert html.count('class="recommended"') == 1


def test_sentences_are_a_list_and_options_are_code(advices):
    html = render(advice_page(advices["good"], COMMANDS))
    assert html.count('<ul class="sentences">') == 2
    assert "add <code>--reported</code>, which" in html
    assert '<code>bygones ledger new team.db <span class="option">--half-life</span> 14d</code>' in html
    assert all(f"<li>{reason}</li>" in html for reason in advices["good"].reasons())


def test_names_are_text(advices):
    advice = advices["received"]
    assert any(HOSTILE in cell for row in advice.table().rows for cell in row) or HOSTILE in " ".join(advice.reasons())
    html = render(advice_page(advice, {HOSTILE: HOSTILE}))
    assert "<script>alert" not in html
    assert "<img" not in html


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["good", "burden", "received"])
@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "dark"), (PHONE, "light")])
def test_the_page_in_a_browser(chromium, advices, tmp_path, kind, viewport, scheme):
    path = write_advice(advices[kind], COMMANDS, tmp_path / "advice.html")
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
