"""Answers are shown alike in terminals and notebooks, and are safe and readable, whatever they are about."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones._text import decimals_of, plural, printable
from bygones.document import notebook, terminal
from bygones.document.document import (
    Answer,
    Bar,
    Bullets,
    Chart,
    Column,
    Command,
    Curves,
    Document,
    Faint,
    Section,
    Share,
    Signed,
    Table,
    Trend,
)
from support.reading_html import HOSTILE, Read


def every_block(text):
    """A document with the text in every place."""
    table = Table(text, [text], [[text], [1.5], [Faint(text)]], note=text)
    curves = Curves({text: [(0.0, 1.0), (1.0, 0.5)]}, text, text)
    blocks = [text, Bullets([text, text]), table, Command(text, text), curves, Chart({}, text, text)]
    return Document(text, [Section(text, blocks)], text)


def table_html(*args, **options):
    return notebook.html(Document("", [Table("", *args, **options)]))


def table_text(table, width=100):
    return terminal.text(Document("", [table]), width)


class TestNotebook:
    @given(st.text(max_size=50))
    def test_any_text_is_shown_unchanged(self, text):
        shown = Read(notebook.html(every_block(text)))
        assert shown.open == []
        assert set(shown.tags) <= {
            "div", "span", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "svg",
            "polyline", "text",
        }  # fmt: skip
        assert shown.text.count(printable(text)) >= 12

    def test_markup_in_a_name_is_text(self):
        shown = notebook.html(every_block(HOSTILE))
        assert "<script" not in shown
        assert "<img" not in shown
        assert HOSTILE in Read(shown).text

    def test_what_hides_or_turns_text_round_is_spelled_out(self):
        assert notebook.escaped("a\u202eb\x1b") == "a\\u202eb\\x1b"

    def test_numbers_stand_to_the_right_and_words_to_the_left(self):
        rows = [
            ["ana", 1234.5, Signed(3.5), "", 1],
            ["ben", float("nan"), Signed(-1.0), None, 12345],
            ["cem", 2.0, Faint("on hold"), "", 0],
        ]
        cells = re.findall(r"<td style=\"[^\"]*text-align:(\w+)[^\"]*\">(.*?)</td>", table_html(list("abcde"), rows))
        assert [side for side, _ in cells] == ["left", "right", "right", "left", "right"] * 3
        assert [text for _, text in cells][1::5] == ["1,234", "", "2"]
        assert [text for _, text in cells][2::5] == ["+3.50", "-1.00", "on hold"]
        assert [text for _, text in cells][4::5] == ["1", "12,345", "0"]

    def test_the_rows_that_an_answer_is_about_stand_out(self):
        shown = table_html(["agent"], [["Ana"], ["Ben"]], chosen=frozenset({1}))
        cells = re.findall(r"<td style=\"([^\"]*)\"", shown)
        assert ["font-weight:600" in cell for cell in cells] == [False, True]

    def test_a_column_without_a_heading_has_no_empty_one(self):
        table = table_html(["agent", ""], [["Ana", Bar(0.5)]])
        assert table.count("<th ") == 1
        assert table.count("<td ") == 3

    def test_where_there_is_little_room_numbers_stay_whole_and_long_names_break(self):
        cells = re.findall(r"<td style=\"([^\"]*)\"", table_html(["agent", "n"], [["Ana", 1], ["x" * 99, 2]]))
        assert ["min-width:4ch" in cells[0], "min-width:17ch" in cells[2]] == [True, True]
        assert ["overflow-wrap:anywhere" in cell for cell in cells] == [True, False] * 2
        assert ["white-space:nowrap" in cell for cell in cells] == [False, True] * 2

    @pytest.mark.parametrize(("rows", "shown", "left"), [(20, 20, ""), (21, 19, "and 2 more rows"), (0, 0, "")])
    def test_a_long_table_is_cut_and_the_other_rows_are_counted(self, rows, shown, left):
        table = table_html(["n"], [[str(i)] for i in range(rows)])
        assert table.count("<td") == shown
        assert ("more row" in table) == bool(left)
        assert left in table

    def test_long_lists_are_cut_and_the_other_sentences_are_counted(self):
        shown = notebook.html(Document("", [Bullets(["one", "two", "three"], most=1, more=4)]))
        assert re.findall("<li>(.*?)</li>", shown) == ["one", "and 6 more"]

    @pytest.mark.parametrize(("share", "width"), [(0.5, "50.0%"), (-1, "0.0%"), (3, "100.0%"), (0, "0.0%")])
    def test_a_bar_is_as_long_as_the_share(self, share, width):
        assert f"width:{width}" in notebook.bar(share)

    def test_a_trend_is_a_row_of_columns(self):
        heights = re.findall(r'<rect [^>]*height="([\d.]+)"', table_html([""], [[Trend((0.0, 1.0, 2.0))]]))
        assert [float(height) for height in heights] == [1, 7.5, 14]

    def test_a_curve_goes_from_the_upper_left_to_the_lower_right_and_fits(self):
        line = {"a": [(0.0, 1.0), (4.0, 0.5), (8.0, 0.0)]}
        shown = notebook.html(Document("", [Curves(line, "fading", "steps")]))
        *_, points = re.findall(r'points="([^"]*)" fill="none" stroke="#', shown)
        (x0, y0), (x1, y1), (x2, y2) = [tuple(map(float, point.split(","))) for point in points.split()]
        assert x0 < x1 < x2
        assert y0 < y1 < y2
        assert (x1 - x0, y1 - y0) == pytest.approx((x2 - x1, y2 - y1))
        width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', shown).groups())
        assert x2 < width
        assert y2 < height
        assert "8 steps ago" in shown

    def test_colours_are_those_of_the_text_around_and_one_that_both_backgrounds_show(self):
        def luminance(colour):
            parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
            red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue

        for background in ("#FFFFFF", "#111111"):
            lighter, darker = sorted((luminance(notebook.BLUE), luminance(background)), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) > 3


class TestTerminal:
    @given(st.text(max_size=50))
    def test_nothing_in_a_text_is_markup_or_moves_the_cursor(self, text):
        shown = terminal.text(every_block(text), width=10_000)
        assert printable(shown.replace("\n", "")) == shown.replace("\n", "")
        lines = printable(text).split()
        assert not lines or shown.count(lines[0]) >= 8

    def test_names_are_not_markup(self):
        assert "[bold]Ana[/bold]" in table_text(Table("", ["agent"], [["[bold]Ana[/bold]"]]))

    def test_a_document_is_its_headline_and_its_blocks(self):
        document = Document(
            "Ana is next.", ["Why.", Bullets(["one", "two"], 1), Section("More", [Command("Go on", "x")])]
        )
        assert terminal.text(document).splitlines() == [
            "Ana is next.", "Why.", "- one", "- and 1 more: --page and --json list them",
            "", "More", "", "Go on:", "  x",
        ]  # fmt: skip

    def test_long_sentences_continue_indented(self):
        assert terminal.text(Document("x", ["a b c d"]), width=5).splitlines() == ["x", "a b c", "  d"]

    def test_chosen_rows_have_an_arrow(self):
        lines = table_text(Table("", ["agent", "n"], [["Ana", 1], ["Ben", 2]], frozenset({1}))).splitlines()
        assert [line.split() for line in lines if "Ana" in line or "Ben" in line] == [["Ana", "1"], ["Ben", "2", "<-"]]

    def test_columns_give_way_in_their_order_and_are_named(self):
        columns = ["agent", Column("first to go", 1), Column("second to go", 2), "n"]
        table = Table("", columns, [["Ana", "x" * 12, "y" * 12, 1]])
        assert "A wider terminal" not in table_text(table)
        assert "A wider terminal also shows: first to go." in table_text(table, 32).replace("\n  ", " ")
        assert "A wider terminal also shows: first to go, second to go." in table_text(table, 18).replace("\n  ", " ")

    def test_a_table_without_rows_is_not_shown(self):
        assert table_text(Table("Title", ["a"], [])) == ""

    def test_bars_and_trends_are_drawn(self):
        shown = table_text(Table("", ["", "trend"], [[Bar(1.0), Trend((0.0, 1.0))], [Bar(0.5), Trend(())]]))
        assert "██████" in shown
        assert "▁█" in shown

    def test_a_command_is_quoted(self):
        assert terminal.command_line(["ledger", "my team.db"]) == "bygones ledger 'my team.db'"


class TestTable:
    def test_the_numbers_of_a_measure_have_as_many_decimals(self):
        columns = [Column("a", measure="h"), Column("b", measure="h"), "c"]
        texts = Table("", columns, [[3.2, 13.2, 5.0], [4.75, 21.0, 7.0]]).texts()
        assert texts == [["3.2", "13.2", "5"], ["4.8", "21.0", "7"]]

    def test_empty_columns_are_left_out(self):
        table = Table("", ["a", "b", "c"], [["x", "", None], ["y", None, 0.0]]).without_empty()
        assert [column.name for column in table.headings] == ["a", "c"]

    @pytest.mark.parametrize(
        ("values", "decimals"),
        [
            ([3.1498, 4.812, 11.0], 1), ([0.0017, 9.0], 3), ([1.0, 2.0], 0), ([], 0), ([123456.0, 1e-5], None),
            ([1.5, 1.52, 1.54], 2), ([13.21, 13.24], 2), ([float("nan"), 2.0], 0), ([1e9, 0.5], None),
        ],
    )  # fmt: skip
    def test_as_many_decimals_as_matter(self, values, decimals):
        assert decimals_of(values) == decimals

    @pytest.mark.parametrize(
        ("cell", "text"),
        [
            (Share(0.1234), "12.3%"), (Share(0.0012), "0.1%"), (Share(float("nan")), ""), (Signed(0.0), "0"),
            (True, "yes"),
        ],
    )  # fmt: skip
    def test_cells_as_text(self, cell, text):
        assert Table("", ["a"], [[cell]]).texts() == [[text]]


def test_an_answer_is_shown_in_a_notebook():
    class Next(Answer):
        def document(self):
            return Document("Ana is next.")

    assert "Ana is next." in Next()._repr_html_()


def test_plurals():
    nouns = ("dose", "batch", "delivery", "day", "bus")
    assert [plural(noun) for noun in nouns] == ["doses", "batches", "deliveries", "days", "buses"]
    assert plural("dose", 1) == "dose"


class TestWidths:
    def test_less_important_columns_go_before_a_name_breaks(self):
        columns = [Column("agent", folds=True), Column("takes"), Column("last", gives_way=1)]
        table = Table("", columns, [["Nord-Straße-West", "x" * 12, "y" * 8]])
        assert "Nord-Straße-West" in table_text(table, 40)
        assert "A wider terminal also shows: last." in table_text(table, 40)
        assert "Nord-Straße-West" in table_text(table, 50)

    def test_amounts_that_were_entered_are_not_rounded(self):
        rows = [[11.25, 11.25], [100.0, 100.0], [float("nan"), 1.5]]
        assert Table("", [Column("load", exact=True), "recent"], rows).texts() == [
            ["11.25", "11"], ["100", "100"], ["", "2"],
        ]  # fmt: skip
        third = Table("", [Column("load", exact=True)], [[100 / 3], [11.25]]).texts()
        assert third == [["33.3"], ["11.2"]]  # one precision where not all are short
