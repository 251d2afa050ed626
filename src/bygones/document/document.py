"""The parts of an answer, before anyone decides how it looks: a headline, sentences, tables, charts and commands.

Every answer that people read has a `document()`, and three modules show it: `terminal` on a screen or as plain text,
`notebook` in the output of a cell, and `bygones.report.page` as a web page. They know nothing about its subject, and
the code that makes a document knows nothing about them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from bygones._text import decimals_of, exact, is_exact, rounded

if TYPE_CHECKING:
    import plotly.graph_objects


class Signed(NamedTuple):
    """A number that is good above zero and bad below, such as what someone is owed."""

    value: float


class Share(NamedTuple):
    """A share of one, shown in percent."""

    value: float


class Bar(NamedTuple):
    """A bar as long as a share of the longest."""

    share: float


class Trend(NamedTuple):
    """How a number went over time, drawn as small columns."""

    values: tuple[float, ...]


class Faint(NamedTuple):
    """A word in place of a number, such as `on hold`."""

    text: str


Cell: TypeAlias = str | int | float | Signed | Share | Bar | Trend | Faint | None
"""The content of a cell. The numbers of a column are shown with the same number of decimals."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: its heading; empty for bars and the like.
        gives_way: the order in which columns are left out where there is no room, beginning with 1; 0 stays.
        folds: whether long texts continue on the next line; otherwise a cell is never broken.
        measure: what its numbers measure; columns of one measure have the same number of decimals.
        exact: whether its numbers are amounts as they were entered, which are not rounded.
    """

    name: str
    gives_way: int = 0
    folds: bool = False
    measure: str = ""
    exact: bool = False


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        title: its subject; empty where the sentence before names it.
        columns: the columns, or only their headings.
        rows: the cells.
        chosen: the rows that the answer is about; they stand out.
        note: the meaning of the columns.
        most: of more rows than this, terminals and notebooks show some, and pages let people search and sort them.
        ends: whether the last rows are as important as the first.
    """

    title: str
    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Cell]]
    chosen: frozenset[int] = frozenset()
    note: str = ""
    most: int | None = None
    ends: bool = False

    @property
    def headings(self) -> list[Column]:
        """The columns, with all that there is to know of them."""
        return [Column(column) if isinstance(column, str) else column for column in self.columns]

    def texts(self) -> list[list[str]]:
        """The cells as text, row by row; bars and trends are empty."""
        by_measure: dict[str, list[float]] = {}
        measures = [column.measure or f"column {j}" for j, column in enumerate(self.headings)]
        for row in self.rows:
            for measure, cell in zip(measures, row, strict=True):
                number = cell.value if isinstance(cell, Signed) else cell
                by_measure.setdefault(measure, []).extend([number] if isinstance(number, float) else [])
        decimals = {measure: decimals_of(numbers) for measure, numbers in by_measure.items()}
        unrounded = [
            column.exact and all(is_exact(cell) for row in self.rows if isinstance(cell := row[j], float))
            for j, column in enumerate(self.headings)
        ]
        return [
            [
                exact(cell)
                if unrounded[j] and isinstance(cell, float) and cell == cell
                else cell_text(cell, decimals[measure])
                for j, (measure, cell) in enumerate(zip(measures, row, strict=True))
            ]
            for row in self.rows
        ]

    def is_numeric(self, j: int) -> bool:
        """Whether the cells of a column are numbers, or words in place of numbers."""
        cells = [row[j] for row in self.rows]
        return any(isinstance(cell, NUMBERS) and not isinstance(cell, bool) for cell in cells)

    def without_empty(self) -> Table:
        """The table without the columns in which no row has anything."""
        kept = [j for j in range(len(self.columns)) if any(row[j] not in (None, "") for row in self.rows)]
        rows = [[row[j] for j in kept] for row in self.rows]
        return replace(self, columns=[self.columns[j] for j in kept], rows=rows)

    def shown_rows(self, most: int | None = None) -> tuple[list[int], list[int]]:
        """The rows that are shown where there is room for some: the first, and those at the end.

        Args:
            most: how many there is room for; by default the table's own `most`.
        """
        most = min((limit for limit in (most, self.most) if limit is not None), default=len(self.rows))
        if len(self.rows) <= most:
            return list(range(len(self.rows))), []
        first = (most + 1) // 2 if self.ends else most
        return list(range(first)), list(range(len(self.rows) - (most - first), len(self.rows)))


@dataclass(frozen=True)
class Chart:
    """A picture, which pages draw and people can point at; other places leave it out.

    Attributes:
        figure: a Plotly figure, or the same as a dictionary with `data` and `layout`. Names that come from users must
            be passed through `bygones.document.charts.label`.
        alt: what the figure shows, in a sentence or two, for those who cannot see it.
        caption: the text below it.
        height: in pixels.
    """

    figure: plotly.graph_objects.Figure | Mapping[str, object]
    alt: str
    caption: str
    height: int = 380


@dataclass(frozen=True)
class Curves:
    """How values between 0 and 1 fall with age, small enough for a card.

    Attributes:
        lines: for each name, pairs of an age and a value, from age 0 on.
        alt: what the curves show, for those who cannot see them.
        unit: that of the ages.
    """

    lines: Mapping[str, Sequence[tuple[float, float]]]
    alt: str
    unit: str


@dataclass(frozen=True)
class Bullets:
    """Sentences that each stand for themselves; of more than `most`, the others are folded away or counted."""

    sentences: Sequence[str]
    most: int | None = None
    more: int = 0
    """How many there are beyond these sentences, which only other programs get."""


class Command(NamedTuple):
    """A command to type next, and what for."""

    purpose: str
    line: str


@dataclass(frozen=True)
class OneOf:
    """Tables with the same columns, such as one for each half-life. A page shows the one that its reader chooses.

    Attributes:
        label: the name of the choice, such as `half-life`.
        tables: the tables, by the name of the choice.
    """

    label: str
    tables: Mapping[str, Table]


@dataclass(frozen=True)
class Terms:
    """Words with their meanings, for the end of a page; other places leave them out."""

    meanings: Mapping[str, str]


@dataclass(frozen=True)
class Section:
    """A part of an answer with a heading.

    Attributes:
        title: the heading.
        blocks: the content.
        name: by which links find it; by default the title in lower case.
        background: whether it explains the method rather than the answer, so only pages show it.
    """

    title: str
    blocks: Sequence[Block]
    name: str = ""
    background: bool = False

    @property
    def anchor(self) -> str:
        """The name that links use."""
        return self.name or re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-") or "section"

    @property
    def is_for_pages(self) -> bool:
        """Whether only a page shows it: it is background, or has nothing but charts and the like."""
        return self.background or all(isinstance(block, Chart | Terms) for block in self.blocks)


Block: TypeAlias = "str | Bullets | Table | OneOf | Chart | Curves | Terms | Command | Section"
"""A part of a document; text is a paragraph."""


@dataclass(frozen=True)
class Document:
    """An answer.

    Attributes:
        headline: the answer in a sentence.
        blocks: what there is to know about it, the most important first.
        label: what kind of answer it is, in a word or two.
        title: the heading of its page; by default the label.
    """

    headline: str
    blocks: Sequence[Block] = ()
    label: str = ""
    title: str = ""

    def and_also(self, blocks: Sequence[Block]) -> Document:
        """The document with more at its end."""
        return replace(self, blocks=[*self.blocks, *blocks])


class Answer(ABC):
    """Something that people read. A notebook shows it if it is the last value of a cell."""

    @abstractmethod
    def document(self) -> Document:
        """The answer as people read it."""

    def _repr_html_(self) -> str:
        from bygones.document.notebook import html

        return html(self.document())


NUMBERS = (int, float, Signed, Share)
"""The cells that are numbers."""

LONGEST_TREND = 12
"""The most columns of a trend."""

_HEIGHTS = "▁▂▃▄▅▆▇█"


def cell_text(cell: Cell, decimals: int | None) -> str:
    """A cell as text; `decimals` are those of the column, None if its numbers differ too much in size."""
    match cell:
        case None | Bar() | Trend():
            return ""
        case Faint(text) | str(text):
            return text
        case bool():
            return "yes" if cell else "no"
        case int():
            return f"{cell:,}"
        case Share(value):
            return "" if value != value else percent(value)
        case Signed(value):
            return "" if value != value else rounded(value, decimals, sign=True)
        case float():
            return "" if cell != cell else rounded(cell, decimals)


def percent(share: float) -> str:
    """A share in percent: one decimal, or one digit where it is small."""
    return f"{100 * share:.1f}%" if abs(share) >= 0.01 else f"{100 * share:.1g}%" if abs(share) > 1e-6 else "0%"


def steps_of(trend: Trend) -> list[float]:
    """The heights of a trend between 0 and 1, at most `LONGEST_TREND`; the highest value is 1."""
    known = [value for value in trend.values if value == value]
    if len(known) > LONGEST_TREND:
        known = [known[round(i * (len(known) - 1) / (LONGEST_TREND - 1))] for i in range(LONGEST_TREND)]
    top = max(known, default=0.0)
    return [max(0.0, value) / top if top > 0 else 0.0 for value in known]


def trend_text(trend: Trend) -> str:
    """A trend as characters of different heights."""
    return "".join(_HEIGHTS[round(step * (len(_HEIGHTS) - 1))] for step in steps_of(trend))


def tone_of(cell: Cell, text: str) -> Literal["good", "bad", "faint", ""]:
    """Whether a cell is shown as good, as bad, or as less important."""
    if isinstance(cell, Signed) and text not in ("", "0"):
        return "good" if cell.value > 0 else "bad"
    return "faint" if isinstance(cell, Faint) else ""
