"""Entitlements for unknown agents, and for only some, are refused with all their names, unless `others` says more."""

import re

import pytest

from bygones.ledger import Ledger, Rules
from support.command_line import refused, run


@pytest.fixture
def tables(tmp_path):
    needs, shares = tmp_path / "needs.csv", tmp_path / "shares.csv"
    needs.write_text("agent,need\na,1\nb,1\nc,1\n", encoding="utf-8")
    shares.write_text("agent,entitlement\na,2\n", encoding="utf-8")
    return needs, shares


def test_a_partial_file_is_refused_naming_everybody_who_is_missing(tables, capsys):
    needs, shares = tables
    command = ("allocate", needs, "--half-life", "3", "--entitlements", shares)
    assert "2 of 3 agents in the table of needs have no entitlement: b and c" in refused(capsys, *command)
    assert re.search(r"^ a +2 ", run(capsys, *command, "--others", "1"), re.MULTILINE)
    assert "others must be a number here" in refused(capsys, *command, "--others", "proportional")
    assert "others is for --entitlements" in refused(capsys, "allocate", needs, "--half-life", "3", "--others", "1")


def test_entitlements_of_unknown_agents_are_refused_naming_all_of_them(tables, capsys):
    needs, shares = tables
    shares.write_text("agent,entitlement\na,2\nb,1\nc,1\ny,1\nz,1\n", encoding="utf-8")
    message = refused(capsys, "allocate", needs, "--half-life", "3", "--entitlements", shares)
    assert "'y' and 'z' are not in the table of needs" in message


def test_a_ledger_refuses_the_same(tables, tmp_path, capsys):
    _, shares = tables
    path = tmp_path / "team.db"
    with Ledger.new(path, Rules(), began="2026-01-01") as ledger:
        ledger.join_all(["a", "b", "c"], at="2026-01-01")
        with pytest.raises(ValueError, match=r"entitlements: 'zz' is not in the ledger"):
            ledger.change_rules(entitlements={"a": 2.0, "zz": 3.0})
        assert "'zz' is not in the ledger" in refused(capsys, "ledger", "rules", path, "--entitlement-of", "zz=3")
        command = ("ledger", "rules", path, "--entitlements", shares)
        assert "2 of 3 agents in the ledger have no entitlement: b and c" in refused(capsys, *command)
        run(capsys, *command, "--others", "0.5")
        assert dict(ledger.rules().entitlements) == {"a": 2.0, "b": 0.5, "c": 0.5}
        assert "others is for --entitlements" in refused(capsys, "ledger", "rules", path, "--others", "1")


def test_nobody_can_have_a_capacity_of_nothing(tmp_path, capsys):
    table = tmp_path / "items.csv"
    table.write_text("agent,i1,i2\na,1,1\nb,1,1\n", encoding="utf-8")
    path = tmp_path / "team.db"
    with Ledger.new(path, Rules(), began="2026-01-01") as ledger:
        ledger.join_all(["a", "b"], at="2026-01-01")
    for command in (("allocate", table, "--half-life", "3"), ("ledger", "decide", path, table)):
        assert "capacity must be a whole number of at least 1" in refused(capsys, *command, "--capacity", "0")
