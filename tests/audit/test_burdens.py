"""Audits of burdens: the same sums as of goods, in other words."""

import json

import pytest

from bygones.audit import audit, read_history
from bygones.audit.measure.groups import next_steps
from bygones.cli import program
from bygones.ledger import Ledger, Rules
from bygones.report.page import document_page, write

HISTORY = "agent,time,utility\nana,2026-01-01,12\nben,2026-01-02,4\ncem,2026-01-20,8\nben,2026-01-25,4\n"


@pytest.fixture
def shifts(tmp_path):
    path = tmp_path / "shifts.csv"
    path.write_text(HISTORY)
    return path


def audited(path, **options):
    with read_history(str(path)) as history:
        return audit(history, ["7d", "inf"], **options)


def test_the_sums_are_those_of_goods(shifts):
    goods, burdens = (audited(shifts, kind=kind).to_dict() for kind in ("good", "burden"))
    assert (goods["kind"], burdens["kind"]) == ("good", "burden")
    for good, burden in zip(goods["half_lives"], burdens["half_lives"], strict=True):
        assert good["agents"] == burden["agents"]
        assert list(good["over_time"]) == ["at", "gini", "egalitarian", "nash", "mean"]
        # Of burdens the worst-off carries most, and a product of loads has no meaning.
        assert list(burden["over_time"]) == ["at", "gini", "heaviest", "mean"]
        assert good["over_time"]["gini"] == burden["over_time"]["gini"]
    assert burdens["half_lives"][1]["over_time"]["heaviest"][-1] == 12


def test_the_sentences_speak_of_who_is_due(shifts):
    found = audited(shifts, kind="burden").conclusions
    claims = [each.claim for each in found.found]
    assert "ana is due next" in claims
    assert "ana is due" in claims
    assert "cem is ahead" in claims
    assert "ana is due before cem" in claims
    assert not any("owed" in claim for claim in claims)
    text = " ".join(each.sentence(str) for each in found.found)
    assert "owed" not in text
    assert "beyond that" in text


def test_the_exempt_are_left_out(shifts):
    found = audited(shifts, kind="burden", entitlements={"ana": 0, "ben": 0.5}, others=1)
    stood = {row["agent"]: row for row in found.to_dict()["half_lives"][1]["agents"]}
    assert stood["ana"]["owed"] is None
    assert stood["ana"]["received"] == 12
    # Ben and Cem carried 8 each; of their 16, Ben's share is a third.
    assert stood["ben"]["owed"] == pytest.approx(16 / 3 - 8)
    assert stood["cem"]["entitled_share"] == pytest.approx(2 / 3)
    assert found.notes[-1] == "Left out, since exempt from the load: ana."
    with pytest.raises(ValueError, match="entitlement of 'ana' must be a finite number above 0"):
        audited(shifts, entitlements={"ana": 0})


def test_a_ledger_says_what_it_is_about(tmp_path):
    with Ledger.new(tmp_path / "nights.db", Rules(kind="burden"), began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.join("cem", at="2026-01-01", entitlement=0)
        ledger.record("ana", 8, at="2026-01-02")
    with read_history(str(tmp_path / "nights.db")) as history:
        found = audit(history, ["inf"])
    assert found.kind == "burden"
    assert "ben is due next" in [each.claim for each in found.conclusions.found]


def test_the_command_and_the_page(shifts, tmp_path, capsys):
    shares = tmp_path / "shares.csv"
    shares.write_text("agent,entitlement\nana,1\nben,1\ncem,1\ndana,0\n")
    options = ["audit", str(shifts), "--half-life", "7d,inf", "--kind", "burden", "--entitlements", str(shares)]
    program.main([*options, "--page", str(tmp_path / "audit.html")])
    printed = capsys.readouterr().out
    assert "Due: how far below (+) or above (-) the share of the load of the recent work." in printed
    assert "due since" in printed
    assert "worked" in printed
    assert "carried" not in printed
    assert "owed" not in printed
    assert "received" not in printed
    assert "heaviest" in printed
    assert "Nash" not in printed
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    assert "Who is due what" in page
    assert "Left out, since exempt from the load: dana." in page
    assert ">worked</button></th>" in page
    program.main([*options, "--json"])
    assert json.loads(capsys.readouterr().out)["kind"] == "burden"


def test_decisions_are_replayed_as_burdens(tmp_path):
    path = tmp_path / "asked.csv"
    rows = [(day, name, hours) for day in (1, 2) for name, hours in (("ana", 12), ("ben", 2), ("cem", 4))]
    lines = [
        f"{name},2026-01-0{day},{hours},{hours if name == 'ana' else 0},{name == 'ana'}" for day, name, hours in rows
    ]
    path.write_text("\n".join(["agent,time,need,utility,served", *lines]))
    options = {"needs": "need", "served": "served"}
    with read_history(str(path), **options) as history:
        actual, instead = audit(history, ["inf"], kind="burden").what_if.courses
    # Twice the 12 hours went to Ana; Ben carries 2 and then, with 4 against Cem's 4, 2 again by leximin.
    assert instead.differ.low == 2
    assert actual.received.tolist() == [24, 0, 0]
    assert instead.received.tolist() == [0, 4, 0]
    document = audit_of(path, options).document()
    page = write(document_page(document), tmp_path / "page.html").read_text(encoding="utf-8")
    assert "total worked" in page
    assert ">heaviest</th>" in page
    assert "Nash" not in page


def test_those_who_are_tied_are_due_the_same_per_unit(tmp_path):
    path = tmp_path / "shifts.csv"
    path.write_text("agent,time,utility\nana,0,4\nben,0,2\ncem,0,12\n")
    with read_history(str(path)) as history:
        (unequal,) = next_steps(audit(history, ["inf"], kind="burden", entitlements={"ana": 1, "ben": 0.5, "cem": 1}))
        (equal,) = next_steps(audit(history, ["inf"], entitlements={"ana": 2, "ben": 1, "cem": 2}))
    # Together 18 for shares that add up to 2.5: 7.2 a unit, of which ana and ben have 4.
    assert "any of ana and ben, who are tied (due 3.2 per unit)" in unequal
    assert "any of ana and ben, who are tied (owed 1.6 per unit)" in equal


def audit_of(path, options):
    with read_history(str(path), **options) as history:
        return audit(history, ["inf"], kind="burden")
