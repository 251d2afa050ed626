"""Charts of answers, and which rows of a long table are shown where there is little room."""

import math
import re

from bygones._files import file_name
from bygones.document.charts import MUTED, Dots, Line, dot_chart, line_chart, some_rows, tick_format
from bygones.document.document import Bar, Chart, Document, OneOf, Section, Table, Terms
from bygones.document.notebook import html
from bygones.document.terminal import text

NASTY = "<b>Ana & Ben</b>"


def test_dots_of_a_row_stand_below_each_other_and_what_they_are_compared_with_is_grey():
    dots = [Dots("share", [0.5, 0.5], look="mark"), Dots("actual", [1.0, 2.0], look="grey"), Dots(NASTY, [1.0, None])]
    chart = dot_chart([NASTY, "Cem"], dots, "h", alt="", caption="")
    mark, actual, other = chart.figure["data"]
    assert mark["y"] == [0, 1]
    assert actual["y"][0] < 0 < other["y"][0]
    assert actual["y"][1] == 1  # alone in its row
    assert actual["marker"]["color"] == MUTED != other["marker"]["color"]
    assert chart.figure["layout"]["yaxis"]["ticktext"][0] == other["name"] == "&lt;b&gt;Ana &amp; Ben&lt;/b&gt;"
    assert dot_chart(["a"] * 9, [Dots("d", [1.0] * 9)], "h", alt="", caption="").height > chart.height


def test_bars_of_uncertainty_go_to_both_ends():
    chart = dot_chart(["a"], [Dots("d", [2.0], [(1.5, 4.0)])], "h", alt="", caption="")
    bars = chart.figure["data"][0]["error_x"]
    assert (bars["arrayminus"], bars["array"]) == ([0.5], [2.0])


def test_a_long_title_of_an_axis_fits_on_a_phone():
    title = "received by the worst-off quarter per 14d"
    chart = dot_chart(["a"], [Dots("d", [2.0])], title, alt="", caption="")
    lines = chart.figure["layout"]["xaxis"]["title"]["text"].split("<br>")
    assert " ".join(lines) == title
    assert max(map(len, lines)) <= 26


def test_lines_differ_by_dash_and_have_titles():
    lines = [Line("a", [1, 2, 3], [0.1, math.nan, 0.3]), Line("b", [1, 2, 3], [0.2, 0.2, 0.2], ["1d", "2d", "3d"])]
    chart = line_chart(lines, {"title": {"text": "day"}}, "share", alt="", caption="", numbers=".1%")
    one, two = chart.figure["data"]
    assert one["y"] == [0.1, None, 0.3]
    assert one["line"]["dash"] != two["line"]["dash"]
    assert "%{customdata}" in two["hovertemplate"]
    assert chart.figure["layout"]["yaxis"]["title"]["text"] == "share"


def test_ticks_of_small_shares_have_the_digits_that_tell_them_apart():
    assert tick_format([[0.5, None]], ".1%") == ".0%"
    assert tick_format([[0.0004, -0.0001]], "+.1%") == "+.3%"
    assert tick_format([[0.5]], ",.4g") == ""


def test_of_many_rows_those_at_both_ends_are_drawn():
    assert some_rows([3, 1, 2], 4) == [3, 1, 2]
    assert some_rows(range(10), 4) == [0, 1, 8, 9]


def test_a_long_table_is_cut_where_it_matters_least():
    rows = [[f"agent {i}", float(i)] for i in range(30)]
    whole, first, both = (Table("T", ["agent", "h"], rows, most=most, ends=ends)
                          for most, ends in ((None, False), (4, False), (5, True)))  # fmt: skip
    assert whole.shown_rows() == (list(range(30)), [])
    assert first.shown_rows() == ([0, 1, 2, 3], [])
    assert both.shown_rows() == ([0, 1, 2], [28, 29])
    printed = text(Document("So.", [both]))
    assert re.search(r"agent 2 .*\n … 25 more.*\n agent 28", printed)
    assert "and 26 more: --page and --json list them" in text(Document("So.", [first]))
    shown = html(Document("So.", [both]))
    assert shown.index("agent 2<") < shown.index("… 25 more") < shown.index("agent 28<")
    assert "agent 3<" not in shown


def test_only_pages_show_background_terms_and_charts():
    chart = Chart({"data": [], "layout": {}}, "alt", "caption")
    blocks = [
        Section("Charts", [chart]),
        Section("Method", ["Exact."], background=True),
        Section("W", [Terms({"a": "b"})]),
    ]
    for shown in (text(Document("So.", blocks)), html(Document("So.", blocks))):
        assert not any(word in shown for word in ("Charts", "Method", "Exact", ">W<", "caption"))


def test_a_terminal_shows_all_tables_of_a_choice():
    tables = {day: Table(f"After {day}", ["agent", ""], [["Ana", Bar(1.0)]]) for day in ("1d", "7d")}
    for shown in (text(Document("So.", [OneOf("half-life", tables)])), html(Document("So.", [OneOf("h", tables)]))):
        assert shown.index("After 1d") < shown.index("After 7d")


def test_the_name_of_a_file_has_no_folders():
    assert file_name("/home/ana/usage.csv") == "usage.csv"
    assert file_name("C:\\data\\usage.csv and 2 other files") == "usage.csv and 2 other files"
    assert file_name("postgresql://host/db") == "postgresql://host/db"
