"""`bygones allocate` and `bygones ledger decide` read the same tables, refuse them alike, and tell decisions alike."""

import json
import re

import pytest

from support import command_line

AGENTS = ["Zoë", "O'Brien, Ben", '"Cem"', "=Dana"]


@pytest.fixture
def both(capsys, tmp_path):
    """Runs both commands on a table; nothing is remembered, so that both must decide the same."""
    ledger = tmp_path / "team.db"
    command_line.run(capsys, "ledger", "new", ledger, "--half-life", "7d", "--began", "2026-01-01")
    command_line.run(capsys, "ledger", "join", ledger, *AGENTS, "--at", "2026-01-01")

    def run(text, *options, how=command_line.run):
        table = tmp_path / "needs.csv"
        table.write_text(text, encoding="utf-8")
        at = ("--at", "2026-01-02")
        return (
            how(capsys, "allocate", table, "--half-life", 7, "--seed", 0, *options),
            how(capsys, "ledger", "decide", ledger, table, *at, *options, *(() if "--json" in options else ("--yes",))),
        )

    return run


FORMS = {
    "needs": ("agent;need\nZoë;2,5\nO'Brien, Ben;0\n\"\"\"Cem\"\"\";1\n'=Dana;0\n", ["-k", "3"]),
    "wide": ("agent;früh;spät\nZoë;2,5;\nO'Brien, Ben;;1,5\n\"\"\"Cem\"\"\";;\n'=Dana;;0\n", []),
    "long": (
        "agent;item;utility\nZoë;früh;2,5\nO'Brien, Ben;spät;1,5\nO'Brien, Ben;früh;\n"
        "\"\"\"Cem\"\"\";früh;\n'=Dana;spät;0\n",
        [],
    ),
    "amount": ("agent;rate;cap\nZoë;1;2,5\nO'Brien, Ben;1;\n\"\"\"Cem\"\"\";0;\n'=Dana;0;\n", ["--amount", "4"]),
}  # fmt: skip
GETS = {
    "needs": {"Zoë": "a place (need 2.5)", '"Cem"': "a place"},
    "wide": {"Zoë": "früh", "O'Brien, Ben": "spät"},
    "long": {"Zoë": "früh", "O'Brien, Ben": "spät"},
    "amount": {"Zoë": "2 of 4", "O'Brien, Ben": "2 of 4"},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_table_is_understood_by_both(both, form):
    text, options = FORMS[form]
    allocated, decided = (json.loads(printed) for printed in both(text, *options, "--json"))
    assert allocated["gets"] == decided["gets"] == GETS[form]
    assert set(allocated) <= set(decided)
    differ = {key for key in allocated if allocated[key] != decided[key]}
    assert differ <= {"memory", "elapsed", "time_unit", "utilities", "past_kept", "reasons", "explanation"}
    assert decided["utilities"] == {
        name: utility for name, utility in zip(allocated["agents"], allocated["utilities"], strict=True) if utility
    }


@pytest.mark.parametrize("form", FORMS)
def test_both_tell_it_in_the_same_order_and_terms(both, form):
    text, options = FORMS[form]
    allocated, decided = both(text, *options)
    # A ledger also knows the date, when each agent was last served, and that a seed for a draw was ready.
    known_to_ledgers = ("No tie, so no draw was needed.", "Recorded.")
    lines = [re.sub(" +(last time|never)( +<-)? *$", r"\2", line) for line in decided.splitlines()]
    lines = [line for line in lines if line not in known_to_ledgers]
    printed = " ".join(" ".join(lines).replace(" on 2 January 2026", "").replace("7 days", "7 steps").split())
    assert re.sub("─+", "─", printed) == re.sub("─+", "─", " ".join(allocated.split()))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("agent;need\nZoë;1\nZoë;1\n", (), "needs.csv, row 3: column 'agent' has 'Zoë' a second time (first in row 2)"),
        ("agent;früh\nZoë;1\nZoë;\n", (), "needs.csv, row 3: column 'agent' has 'Zoë' a second time"),
        ("agent;item;utility\nZoë;früh;1\nZoë;früh;2\n", (), "row 3: agent 'Zoë' and item 'früh' are in row 2 already"),
        ("agent;need\nZoë;1.000,5\n", (), "row 2: column 'need' must be a finite number of at least 0, got '1.000,5'"),
        ('agent,need\nZoë,"2,5"\n', (), "row 2: column 'need' must be a finite number of at least 0, got '2,5'"),
        ("agent;früh\nZoë;ja\n", (), "row 2: column 'früh' must be a finite number of at least 0, got 'ja'"),
        ("agent;früh\nZoë;\n", (), "no agent may take any of the items 'früh'"),
        ("agent;needs\nZoë;1\n", (), "has a column 'needs': did you mean 'need'?"),
        ("agent;rate;cap\nZoë;1;1\n", (), "has the columns 'rate', 'cap': give the amount to divide"),
        ("agent;need;cap\nZoë;1;1\n", ("--amount", 4), "has a column 'cap' next to 'need'"),
        ("agent;früh\nZoë;1\n", ("-k", 1), "k cannot be used with"),
        ("agent;need\nZoë;1\n", ("--capacity", 1), "capacity cannot be used with"),
        ("agent;rate\nZoë;1\n", ("--amount", 0), "amount must be a finite number above 0"),
        ("agent;früh\nZoë;1\n", ("--capacity", 0), "capacity must be a whole number of at least 1"),
    ],
)
def test_both_refuse_alike(both, text, options, message):
    allocated, decided = both(text, *options, how=command_line.refused)
    assert message in allocated
    assert allocated == decided


def test_a_decision_divided_is_written_as_csv(capsys, tmp_path):
    table, out = tmp_path / "needs.csv", tmp_path / "decision.csv"
    table.write_text("agent,rate\nana,1\n=ben,1\n")
    command_line.run(capsys, "allocate", table, "--half-life", 7, "--amount", 4, "--out", out)
    assert out.read_text() == (
        "agent,amount,utility,remembered_before,remembered_after\nana,2.0,2.0,0.0,2.0\n'=ben,2.0,2.0,0.0,2.0\n"
    )
