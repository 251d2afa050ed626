"""What notebooks are shown is safe and readable, whatever it is about."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones import _html
from bygones._text import printable
from support.reading_html import HOSTILE, Read


@given(st.text(max_size=50))
def test_any_text_is_shown_as_it_is(text):
    parts = [
        _html.note(text),
        _html.heading(text),
        _html.bullets([text, text]),
        _html.table([text], [[text], [1.5]]),
        _html.curves({text: [(0.0, 1.0), (1.0, 0.5)]}, text, text),
    ]
    shown = Read(_html.card(text, _html.beside(*parts), name=text))
    assert shown.open == []
    assert set(shown.tags) <= {"div", "span", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"} | {
        "svg", "polyline", "text",
    }  # fmt: skip
    assert shown.text.count(printable(text)) >= 7


def test_markup_in_a_name_is_text():
    shown = _html.table(["agent"], [[HOSTILE]]).html
    assert "<script" not in shown
    assert "<img" not in shown
    assert HOSTILE in Read(shown).text


def test_what_hides_or_turns_text_round_is_spelled_out():
    assert _html.escaped("a\u202eb\x1b") == "a\\u202eb\\x1b"


def test_numbers_stand_to_the_right_and_words_to_the_left():
    rows = [["ana", 1234.5, "+3.5", "", 1], ["ben", float("nan"), "-1", None, 12345], ["cem", 2, "on hold", "", 0]]
    cells = re.findall(r"<td style=\"[^\"]*text-align:(\w+)[^\"]*\">(.*?)</td>", _html.table(list("abcde"), rows).html)
    sides = [side for side, _ in cells]
    assert sides == ["left", "right", "right", "left", "right"] * 3
    assert [text for _, text in cells][1::5] == ["1,234", "", "2"]
    assert [text for _, text in cells][4::5] == ["1", "12,345", "0"]


def test_a_column_without_a_heading_has_no_empty_one():
    table = _html.table(["agent", ""], [["Ana", _html.bar(0.5)]]).html
    assert table.count("<th ") == 1
    assert table.count("<td ") == 3


def test_where_there_is_little_room_numbers_stay_whole_and_long_names_break():
    cells = re.findall(r"<td style=\"([^\"]*)\"", _html.table(["agent", "n"], [["Ana", 1], ["x" * 99, 2]]).html)
    assert ["min-width:4ch" in cells[0], "min-width:17ch" in cells[2]] == [True, True]
    assert ["overflow-wrap:anywhere" in cell for cell in cells] == [True, False] * 2
    assert ["white-space:nowrap" in cell for cell in cells] == [False, True] * 2


@pytest.mark.parametrize(("rows", "shown", "left"), [(5, 5, ""), (6, 4, "and 2 more rows"), (0, 0, "")])
def test_of_many_rows_the_first_are_shown_and_the_others_counted(rows, shown, left):
    table = _html.table(["n"], [[str(i)] for i in range(rows)], most=5).html
    assert table.count("<td") == shown
    assert ("more row" in table) == bool(left)
    assert left in table


@pytest.mark.parametrize(("share", "width"), [(0.5, "50.0%"), (-1, "0.0%"), (3, "100.0%"), (0, "0.0%")])
def test_a_bar_is_as_long_as_the_share(share, width):
    assert f"width:{width}" in _html.bar(share).html


def test_a_curve_goes_from_the_upper_left_to_the_lower_right_and_fits():
    line = {"a": [(0.0, 1.0), (4.0, 0.5), (8.0, 0.0)]}
    shown = _html.curves(line, "fading", "steps").html
    *_, points = re.findall(r'points="([^"]*)" fill="none" stroke="#', shown)
    (x0, y0), (x1, y1), (x2, y2) = [tuple(map(float, point.split(","))) for point in points.split()]
    assert x0 < x1 < x2
    assert y0 < y1 < y2
    assert (x1 - x0, y1 - y0) == pytest.approx((x2 - x1, y2 - y1))
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', shown).groups())
    assert x2 < width
    assert y2 < height
    assert "8 steps ago" in shown


def test_colours_are_those_of_the_text_around_and_one_that_both_backgrounds_show():
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for background in ("#FFFFFF", "#111111"):
        lighter, darker = sorted((luminance(_html.BLUE), luminance(background)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) > 3
