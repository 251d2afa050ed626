"""One look for all our pages: what it shows, what it escapes, and that it needs nothing but itself."""

import base64
import gzip
import hashlib
import itertools
import json
import math
import os
import re
from html.parser import HTMLParser

import plotly.graph_objects as go
import pytest
from markupsafe import Markup

from bygones.document.charts import label
from bygones.document.document import (
    Bar,
    Bullets,
    Chart,
    Command,
    Curves,
    Document,
    OneOf,
    Section,
    Signed,
    Table,
    Terms,
)
from bygones.report import page as p

NASTY = '<script>alert("1")</script> \' & </td> <!-- 🎂 <b>Ana</b>'


class Read(HTMLParser):
    """The elements of a document with their attributes, and the text between them, by element."""

    def __init__(self, document):
        super().__init__()
        self.elements, self.texts, self._open = [], [], []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self._open[-1] if self._open else "", data))

    def attributes(self, tag):
        return [attributes for found, attributes in self.elements if found == tag]

    def text(self, tag):
        return [data for found, data in self.texts if found == tag]


def contrast(one, other):
    """How many times as bright the brighter colour is, as the Web Content Accessibility Guidelines count."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def page(**changes):
    table = Table("Hours so far", ["person", "hours"], [["Ana", 8.0], ["Ben", 6], ["Cem", None]])
    chart = Chart(go.Figure(go.Scatter(x=[1, 2], y=[3, 5])), alt="It rises.", caption="Over time")
    sections = [Section("Who is ahead", ["Ana is.", table]), Section("Over time", [chart])]
    return p.Page(**{"title": "Shifts", "lede": "Who works when.", "sections": sections, **changes})


def test_a_page_holds_what_it_was_given_in_its_order():
    document = p.render(page())
    read = Read(document)
    assert read.text("title") == ["Shifts"]
    assert read.text("h2") == ["Who is ahead", "Over time"]
    assert [a["href"] for a in read.attributes("a")] == ["#content", "#who-is-ahead", "#over-time"]
    assert read.text("td") == ["8", "6"]
    assert document.index("Who works when.") < document.index("Ana is.") < document.index("Hours so far")


def test_charts_carry_their_figure_and_an_alternative_in_words():
    read = Read(p.render(page()))
    (chart,) = [a for a in read.attributes("div") if "data-chart" in a]
    assert (chart["role"], chart["aria-label"]) == ("img", "It rises.")
    figures = [json.loads(text) for text in read.text("script") if text.startswith('{"data"')]
    assert figures[0]["data"][0]["y"] == [3, 5]
    assert "template" not in figures[0]["layout"]


def test_a_figure_may_be_a_dictionary():
    figure = {"data": [{"y": [1, math.nan]}], "layout": {}}
    assert json.loads(p.as_json(figure)) == {"data": [{"y": [1, None]}], "layout": {}}


def test_text_is_shown_and_never_run():
    table = Table(NASTY, [NASTY], [[NASTY]])
    chart = Chart({"data": [{"name": NASTY}], "layout": {}}, alt=NASTY, caption=NASTY)
    sections = [Section(NASTY, [NASTY, table, chart])]
    made = p.Page(NASTY, NASTY, sections, kicker=NASTY, footer=NASTY, data={"names": [NASTY]})
    read = Read(p.render(made))
    for tag in ("title", "h1", "h2", "caption", "th", "figcaption", "p"):
        assert NASTY in read.text(tag)
    assert not read.attributes("b")
    embedded = [json.loads(text) for text in read.text("script") if text[0] in "[{"]
    assert [NASTY] in embedded
    assert {"data": [{"name": NASTY}], "layout": {}} in embedded


def test_html_is_let_through_only_from_templates():
    made = page(lede=Markup("<em>So</em>"), sections=[Section("One", [Markup("<b>bold</b>"), "<b>not</b>"])])
    read = Read(p.render(made))
    assert read.text("em") == ["So"]
    assert read.text("b") == ["bold"]


def test_nothing_is_loaded_from_elsewhere():
    read = Read(p.render(page()))
    for _, attributes in read.elements:
        for name in ("src", "href", "srcset", "data", "action"):
            assert (attributes.get(name) or "#").startswith("#")


def test_only_the_pages_own_scripts_may_run():
    document = p.render(page(scripts=["console.log('own');"]))
    (policy,) = [a["content"] for a in Read(document).attributes("meta") if "http-equiv" in a]
    for directive in ("default-src", "base-uri", "form-action"):  # the last two do not follow from the first
        assert f"{directive} 'none'" in policy
    assert "unsafe-eval" not in policy
    packed = re.search(r'id="plotly">(.*?)</script>', document)[1]
    sources = [gzip.decompress(base64.b64decode(packed)).decode()]
    sources += re.findall(r"<script>(.*?)</script>", document, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() for source in sources]
    assert len(sources) == 3
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes


@pytest.mark.parametrize("source", ["let a = '</script>';", "let a = '<!--';", "let a = '</SCRIPT>';"])
def test_a_script_that_would_end_its_element_is_refused(source):
    with pytest.raises(ValueError, match="must not contain"):
        p.render(page(scripts=[source]))


def test_plotly_is_there_once_and_only_where_something_is_drawn():
    assert p.render(page()).count('id="plotly"') == 1
    assert 'id="plotly"' not in p.render(page(sections=[Section("One", ["text"])]))
    assert 'id="plotly"' in p.render(page(sections=[Section("One", ["text"])], plotly=True))
    assert len(p.render(page())) < 2_200_000


def test_sections_of_one_name_have_links_of_their_own():
    read = Read(p.render(page(sections=[Section("One", []), Section("One", []), Section("…", [])])))
    assert [a["id"] for a in read.attributes("section")] == ["one", "one-2", "section"]


def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    path = p.write(page(), tmp_path / "new" / "page.html")
    before = path.read_text(encoding="utf-8")
    assert before == p.render(page())

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        p.write(page(title="other"), path)
    assert path.read_text(encoding="utf-8") == before
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


@pytest.mark.parametrize("theme", [p.LIGHT, p.DARK])
def test_text_can_be_read_on_its_ground(theme):
    for ground in ("paper", "panel"):
        for text in ("ink", "muted", "link", "holds", "fails"):
            assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
        assert contrast(theme["line"], theme[ground]) >= 3.0


def test_the_colours_of_charts_can_be_seen_and_told_apart_in_the_dark():
    colours = [p.BY_NIGHT.get(colour, colour) for colour in p.PALETTE]
    for colour in colours:
        assert min(contrast(colour, p.DARK[ground]) for ground in ("paper", "panel")) >= 3.0
    channels = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours]
    assert min(math.dist(*pair) for pair in itertools.combinations(channels, 2)) >= 60


def test_labels_for_plotly_are_text():
    assert label("<b>A & B</b>") == "&lt;b&gt;A &amp; B&lt;/b&gt;"


def test_numbers_of_a_column_have_the_same_decimals():
    document = p.render(page(sections=[Section("One", [Table("T", ["a", "b"], [["x", 1.23456], ["y", None]])])]))
    assert Read(document).text("td") == ["1.23"]


def test_every_kind_of_block_is_on_the_page():
    blocks = [
        "A paragraph that names --half-life.",
        Bullets(["one", "two", NASTY], most=2, more=4),
        OneOf("half-life", {"1d": Table("T1", ["agent", "", "owed"], [["Ana", Bar(0.5), Signed(-2.0)]], most=1),
                            "7d": Table("T7", ["agent", "", "owed"], [["Ana", Bar(0.25), Signed(3.0)]], most=1)}),
        Curves({"memory": [(0.0, 1.0), (3.0, 0.5)]}, "It halves.", "d"),
        Terms({"owed": NASTY}),
        Command("To begin", "bygones ledger new team.db --half-life 7d"),
        Section("Deeper", ["The end."]),
    ]  # fmt: skip
    made = p.document_page(Document("It is so.", ["Opening.", Section("All", blocks)], "Answer", "Title"), "Made.")
    html = p.render(made)
    read = Read(html)
    assert read.text("h1") == ["Title"]
    assert "It is so." in read.text("p")
    assert html.index("Opening.") < html.index("<h2")
    assert [text for text in read.text("code") if text.startswith("--")] == ["--half-life"]
    assert read.text("li")[-3:] == ["one", "two", NASTY]
    assert read.text("summary") == ["5 more"]
    assert read.text("option") == ["1d", "7d"]
    assert '<span class="bar" style="width:50.0%">' in html
    assert '<td class="number bad">−2</td>' in html
    assert {"role": "img", "aria-label": "It halves."}.items() <= read.attributes("svg")[0].items()
    assert read.text("dd") == [NASTY]
    assert read.text("h3") == ["Deeper"]
    listing = json.loads(re.search(r'id="all-3-rows">(.*?)</script>', html, re.DOTALL)[1])
    assert [[cell["value"] for cell in row] for row in listing["tables"][1]] == [["Ana", None, 3.0]]
    assert html.count("sha256-") == 2


def test_only_long_tables_and_choices_can_be_searched():
    short, rows = Table("T", ["a"], [["x"]], most=1), [[f"agent {i}"] for i in range(60)]
    assert "data-listing" not in p.render(page(sections=[Section("One", [short])]))
    html = p.render(page(sections=[Section("One", [Table("T", ["a"], rows, most=5)])]))
    assert html.count('<th scope="row"') == p.LISTED
    assert "T, the first 50 of 60" in html
