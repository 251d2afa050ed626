"""Keeping and signing a ledger from the command line."""

import json
import sys

import pytest

from bygones.cli import program
from support.command_line import STRANGE, refused, run


@pytest.fixture
def ward(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(capsys, "ledger", "new", "ward.db", "--began", "2026-01-01", "--author", "Mary")
    run(capsys, "ledger", "join", "ward.db", *STRANGE, "--at", "2026-01-01")
    return tmp_path / "ward.db"


def test_copy_backup_restore_and_rebuild_say_the_same_head(ward, capsys):
    head = json.loads(run(capsys, "ledger", "verify", ward, "--json"))["head"]
    for command in (
        ["backup", ward, "backup.db"],
        ["restore", "backup.db", "restored.db"],
        ["copy", "restored.db", "copy.db"],
    ):
        assert json.loads(run(capsys, "ledger", *command, "--json")) == {"events": 6, "agents": 5, "head": head}
    assert json.loads(run(capsys, "ledger", "rebuild", "copy.db", "--json")) == {"agents": 5}
    assert run(capsys, "ledger", "verify", "copy.db") == f"Verified 6 events of 5 agents.\nHead: {head}\n"


def test_what_cannot_be_kept_is_refused_in_one_sentence(ward, capsys):
    other = ward.with_name("other.db")
    other.write_text("mine")
    assert "other.db already exists" in refused_below_a_bar(capsys, "ledger", "copy", ward, other)
    assert "other.db already exists" in refused_below_a_bar(capsys, "ledger", "backup", ward, other)
    assert "is not a backup that can be read" in refused(capsys, "ledger", "restore", other, "new.db")
    assert "absent.db does not exist" in refused(capsys, "ledger", "restore", "absent.db", "new.db")
    assert "absent.db does not exist" in refused(capsys, "ledger", "rebuild", "absent.db")
    assert "cannot be written" in refused_below_a_bar(capsys, "ledger", "backup", ward, "no/folder.db")
    assert other.read_text() == "mine"


def refused_below_a_bar(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        program.main([*map(str, arguments)])
    assert stop.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_a_head_is_signed_and_checked(ward, capsys):
    made = json.loads(run(capsys, "ledger", "key", "new", "ward.key", "--json"))["key"]
    public = run(capsys, "ledger", "key", "public", "ward.key")
    assert public.startswith("-----BEGIN PUBLIC KEY-----")
    run(capsys, "ledger", "key", "public", "ward.key", "--out", "ward.pub")
    assert "ward.pub already exists" in refused(capsys, "ledger", "key", "public", "ward.key", "--out", "ward.pub")
    signed = json.loads(run(capsys, "ledger", "sign", ward, "--key", "ward.key", "--anchor", "anchors.jsonl", "--json"))
    assert (signed["seq"], signed["key"]) == (6, made)
    check = ["ledger", "verify", ward, "--anchor", "anchors.jsonl", "--public-key", "ward.pub"]
    assert run(capsys, *check).startswith("Verified 6 events of 5 agents and 1 signed head.\nHead: ")
    told = json.loads(run(capsys, *check, "--json"))
    assert (told["ok"], told["anchors"]) == (True, 1)
    assert "belong together" in refused(capsys, "ledger", "verify", ward, "--anchor", "anchors.jsonl")
    run(capsys, "ledger", "key", "new", "other.key")
    run(capsys, "ledger", "key", "public", "other.key", "--out", "other.pub")
    with pytest.raises(SystemExit) as stop:
        program.main([*map(str, check[:-1]), "other.pub"])
    assert stop.value.code == 1
    assert capsys.readouterr().out.startswith(f"anchors.jsonl, line 1: signed with the key {made}, not with ")


def test_the_author_is_shown(ward, capsys, monkeypatch):
    assert " by Mary\n" in run(capsys, "ledger", "explain", ward, "1")
    monkeypatch.setenv("BYGONES_AUTHOR", "the desk")
    recorded = json.loads(run(capsys, "ledger", "record", ward, STRANGE[0], "1", "--json"))
    assert recorded[0]["author"] == "the desk"
    assert run(capsys, "ledger", "export", ward).splitlines()[-1].count("the desk") == 1
    every = ["rules", "join", "leave", "hold", "resume", "record", "offset", "import", "decide", "correct", "new"]
    for command in every:
        with pytest.raises(SystemExit):
            program.main(["ledger", command, "--help"])
        assert "--author" in capsys.readouterr().out


def test_a_missing_package_names_its_extra(ward, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "bygones.ledger.proof.signing", raising=False)
    monkeypatch.delattr("bygones.ledger.proof.signing", raising=False)
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    assert "pip install 'bygones[sign]'" in refused(capsys, "ledger", "key", "new", "ward.key")
