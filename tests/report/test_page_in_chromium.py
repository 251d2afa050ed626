"""Our pages in a real browser."""

import plotly.graph_objects as go
import pytest

from bygones.document.charts import label
from bygones.document.document import Chart, Section, Table
from bygones.report.page import Page, write
from support.browser import DESKTOP, PHONE, opened, overflow, until

pytestmark = pytest.mark.soak
NASTY = '<script>window.ran = 1</script><img src=x onerror="window.ran = 1"> & <b>Ana</b> 🎂'


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    figure = go.Figure(go.Scatter(x=[1, 2], y=[3, 5], name=label(NASTY), showlegend=True))
    table = Table(NASTY, ["person", *(f"month {i}" for i in range(20))], [[NASTY, *range(20)]])
    sections = [Section(NASTY, [NASTY, table]), Section("Over time", ["…"] * 80), Section("Chart", [])]
    sections[2] = Section("Chart", [Chart(figure, alt=NASTY, caption=NASTY)])
    page = Page(NASTY, NASTY, sections, data={"names": [NASTY]})
    return write(page, tmp_path_factory.mktemp("page") / "page.html")


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_by_double_click(chromium, path, viewport, scheme):
    with opened(chromium, path, viewport, scheme) as page:
        assert overflow(page) == 0
        assert page.evaluate("window.ran") is None
        assert page.evaluate("window.bygones.data('names')[0]") == NASTY


def test_a_chart_is_drawn_before_it_comes_into_view(chromium, path):
    with opened(chromium, path) as page:
        chart = page.locator("[data-chart]")
        chart.locator("path.point").first.wait_for(state="attached")
        assert page.evaluate("window.scrollY") == 0
        assert chart.locator("path.point").count() == 2
        assert page.locator(".legendtext").text_content() == NASTY


def test_a_chart_follows_the_page_into_the_night(chromium, path):
    with opened(chromium, path) as page:
        page.locator("[data-chart]").scroll_into_view_if_needed()
        page.locator("path.point").first.wait_for()
        colour = "getComputedStyle(document.querySelector('.legendtext')).fill"
        by_day = page.evaluate(colour)
        page.emulate_media(color_scheme="dark")
        until(lambda: page.evaluate(colour) != by_day)


def test_printing_draws_everything(chromium, path):
    with opened(chromium, path) as page:
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.locator("path.point").first.wait_for()
        assert page.locator("path.point").count() == 2


def test_a_browser_that_cannot_unpack_the_figures_says_so(chromium, path):
    with opened(chromium, path) as page:
        assert not page.locator("#no-figures").is_visible()
    context = chromium.new_context()
    context.add_init_script("delete window.DecompressionStream")
    page = context.new_page()
    page.goto(path.as_uri())
    page.locator("#no-figures").wait_for()
    context.close()


def test_the_keyboard_skips_to_the_content(chromium, path):
    with opened(chromium, path) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        until(lambda: page.evaluate("document.activeElement.id") == "content")
