"""The documents of commands fit a terminal of any usual width, and no cell of their tables is cut."""

import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bygones
from bygones.cli import program
from bygones.document import terminal
from bygones.document.document import Column, Document, OneOf, Section, Table

LONG = "Dr. Maximiliane Freifrau von Hohenstein-Wolkenkuckucksheim"

FIRST, SECOND, THIRD = (f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}" for days in (10, 11, 12))

REQUESTS = [
    f"{name},2026-02-{day:02},{1 + (day + place) % 3},{int(day % 3 == place)}"
    for day in range(1, 29)
    for place, name in enumerate(("Ana", LONG, "Cem"))
]

JOBS = [
    f"{i}|{user}|physics|COMPLETED|{day}T0{i % 4}:00:00|{day}T0{1 + i % 4}:30:00|{day}T09:00:00|08:00:00|cpu=8"
    for i, day in enumerate(f"2026-01-0{1 + i // 4}" for i in range(24))
    for user in [("ana", "a-user-with-a-rather-long-name-on-this-cluster")[i % 2]]
]

FILES = {
    "shift.csv": f"agent,need\nAna,8\n{LONG},8\nCem,8.5",
    "items.csv": f"agent,evening,night on the intensive care ward\nAna,4,10\n{LONG},4,10\nCem,4,",
    "dates.csv": f"date,agent,need\n{FIRST},Ana,8\n{FIRST},{LONG},8\n{SECOND},Cem,8\n{SECOND},{LONG},8",
    "past.csv": f"agent,time,utility,note\nAna,2026-01-05,8,at short notice\nAna,2026-01-12,8,\n{LONG},2026-01-06,40,",
    "history.csv": "\n".join(["agent,time,need,served", *REQUESTS]),
    "queue.txt": "\n".join(["JobID|User|Account|State|Submit|Start|End|Elapsed|AllocTRES", *JOBS]),
}

COMMANDS = [
    "ledger new w.db --kind burden --half-life 30d --began 2026-01-01 --thing shift --unit h",
    f"ledger join w.db Ana '{LONG}' Cem --at 2026-01-01",
    "ledger import w.db past.csv --dry-run",
    "ledger import w.db past.csv",
    "ledger record w.db Cem 8 --at 2026-02-01",
    "ledger rules w.db --half-life 14d --at 2026-02-28",
    "ledger rules w.db",
    "ledger decide w.db shift.csv --at 2026-03-02 --yes",
    "ledger decide w.db items.csv --at 2026-03-03 --yes",
    "ledger standing w.db --at 2026-03-05 --ahead 7d",
    "ledger explain w.db 10",
    "ledger explain w.db 10 --why-not Ana",
    f"ledger explain w.db '{LONG}'",
    "ledger newcomers w.db --agent Dilek --at 2026-03-06",
    "ledger plan w.db dates.csv --publish",
    "ledger planned w.db",
    "ledger record w.db Ana 8 --length 8h",
    "ledger now w.db",
    f"ledger hold w.db Cem --at {SECOND}",
    "ledger replan w.db",
    "ledger record w.db Ana 90 --at 2026-02-28",
    "ledger redecide w.db --from 2026-03-01 --until 2026-03-04",
    "ledger verify w.db",
    "ledger key new key.pem",
    "ledger sign w.db --key key.pem --anchor anchors.jsonl",
    "ledger key public key.pem --out key.pub",
    "ledger anchors anchors.jsonl --public-key key.pub",
    "allocate shift.csv -k 2 --kind burden --unit h --half-life 7",
    "audit history.csv --utility need --needs need --served served --half-life 3d,inf",
    "what-if history.csv --needs need --served served --half-life 1d,7d --rule one-step,prices",
    "what-if queue.txt --half-life 1d,7d --resource cpu",
    "advise history.csv --needs need --served served --kind good",
    "advise past.csv --kind burden",
    "scenarios",
    "scenarios donut",
    "decay --half-life 7",
    "table 1",
    "table 2",
    "example cluster --out examples",
]

ELSEWHERE = {
    "stability", "examples", "results", "judgements", "evaluated_policy", "simulation_comparison", "leaderboard",
    "learning_commands", "reproduce_commands", "view", "memory_card", "remade",
}  # fmt: skip
"""The modules whose documents are in `tests/report/test_answers_fit.py`, take a training, or have no wide table."""


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """The documents that the commands print, and the modules that made them."""
    printed, modules = {}, set()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("documents"))
        made = Document.__init__

        def noted(self, *args, **options):
            modules.add(Path(sys._getframe(1).f_code.co_filename).stem)
            made(self, *args, **options)

        patch.setattr(Document, "__init__", noted)
        for name, content in FILES.items():
            Path(name).write_text(f"{content}\n")
        for command in COMMANDS:
            patch.setattr(
                "bygones.cli.console.show",
                lambda document, _, command=command: printed.update({command: document}),
            )
            program.main(shlex.split(command))
    return printed, modules


def tables_of(blocks):
    for block in blocks:
        match block:
            case Table():
                yield block
            case OneOf(_, tables):
                yield from tables.values()
            case Section() if not block.is_for_pages:
                yield from tables_of(block.blocks)


def fits(table, width):
    """Whether a table stays within a width and shows all of its words that fit, but for columns that give way."""
    shown = terminal.text(Document("", [table]), width)
    assert max(map(len, shown.splitlines()), default=0) <= width
    first, last = table.shown_rows()
    assert shown.count("…") == bool(last) + sum(text.count("…") for row in table.texts() for text in row)
    for i in (*first, *last):
        for column, cell in zip(table.headings, table.texts()[i], strict=True):
            if not column.gives_way:
                assert all(word in shown for word in cell.split() if len(word) <= 10)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_document_is_cut(documents, width):
    printed, _ = documents
    for document in printed.values():
        for table in tables_of(document.blocks):
            fits(table, width)


def test_every_module_with_a_document_is_tried(documents):
    _, modules = documents
    source = Path(bygones.__file__).parent
    found = {path.stem for path in source.rglob("*.py") if "Document(" in path.read_text(encoding="utf-8")}
    assert found - modules == ELSEWHERE


WORDS = st.lists(st.text("abcdefghij-", min_size=1, max_size=14), min_size=1, max_size=4).map(" ".join)


@given(st.data(), st.integers(40, 120))
def test_a_table_of_any_size_is_split_before_it_is_cut(data, width):
    n = data.draw(st.integers(1, 9))
    columns = [
        Column(data.draw(WORDS), data.draw(st.sampled_from([0, 0, 1, 2])) if j else 0, data.draw(st.booleans()))
        for j in range(n)
    ]
    rows = data.draw(st.lists(st.lists(WORDS, min_size=n, max_size=n), min_size=1, max_size=4))
    fits(Table("", columns, rows, frozenset({0}) if data.draw(st.booleans()) else frozenset()), width)


def test_a_table_too_wide_continues_below_with_its_first_column():
    columns = ["agent", *(f"quantity number {number}" for number in range(4))]
    shown = terminal.text(Document("", [Table("Title", columns, [["Ana", *range(4)]])]), 60)
    assert shown.count("Title") == 1
    assert [line.split() for line in shown.splitlines() if "Ana" in line] == [["Ana", "0", "1"], ["Ana", "2", "3"]]
