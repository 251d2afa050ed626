"""Entitlements from files: tables, Slurm's account trees, the fair-tree factor; and names that are nearly the same."""

import re

import pyarrow as pa
import pytest

from bygones._names import alike
from bygones.allocation.settling import settle
from bygones.audit import audit, read_history, read_shares
from bygones.audit.measure.groups import next_steps
from bygones.document.document import OneOf
from bygones.document.terminal import text

SSHARE = """\
Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare
root|||0.000000|1000||
 chem||30|0.75|600|0.6|
  chem|ana|2|0.66|500|0.83|0.5
  chem|ben|1|0.33|100|0.17|0.75
 bio||10|0.25|400|0.4|
  bio|cem|1|0.5|400|1|0.25
  bio|dana|1|0.5|0|0|1.0
"""
"""Chemistry has three quarters and ana two thirds of it; by hand, the factors are dana's 2/4, cem's 1/4, see below."""


@pytest.fixture
def sshare(tmp_path):
    path = tmp_path / "sshare.txt"
    path.write_text(SSHARE)
    return path


def test_shares_are_products_down_the_tree(sshare):
    users = read_shares(sshare)
    assert users.entitlements == pytest.approx({"ana": 0.5, "ben": 0.25, "cem": 0.125, "dana": 0.125})
    accounts = read_shares(sshare, agent="Account")
    assert accounts.entitlements == pytest.approx({"chem": 0.75, "bio": 0.25})


def test_the_fair_tree_factor_is_slurms(sshare):
    # Level 1: chem 0.75 / 0.6 = 1.25, bio 0.25 / 0.4 = 0.625, so chem's users come first.
    # In chem: ana (2/3) / (5/6) = 0.8, ben (1/3) / (1/6) = 2. In bio: cem 0.5 / 1 = 0.5, dana unused.
    tree = read_shares(sshare).tree
    usage = {"ana": 500.0, "ben": 100.0, "cem": 400.0, "dana": 0.0}
    assert tree.factors(usage, by_user=True) == {"ben": 1.0, "ana": 0.75, "dana": 0.5, "cem": 0.25}
    assert tree.factors({"chem": 600.0, "bio": 400.0}, by_user=False) == {"chem": 1.0, "bio": 0.5}
    assert tree.given(by_user=True) == {"ana": 0.5, "ben": 0.75, "cem": 0.25, "dana": 1.0}
    # Nobody has used anything: all are tied.
    assert set(tree.factors({}, by_user=True).values()) == {1.0}


def test_ties_in_the_fair_tree_are_slurms(tmp_path):
    # As in sshare of a live Slurm 22.05: an idle account is tied with the user root, who is a sibling of accounts.
    path = tmp_path / "sshare.txt"
    path.write_text(
        "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare\nroot|||0.0|1264|1.0|\n"
        " root|root|1|0.25|0|0.0|1.0\n class||1|0.25|361|0.3|\n  class|news|1|1.0|361|1.0|0.6\n"
        " idle||1|0.25|0|0.0|\n  idle|lp|1|1.0|0|0.0|1.0\n"
        " lab||1|0.25|902|0.7|\n  lab|games|1|0.5|902|1.0|0.2\n  lab|mail|1|0.5|0|0.0|0.4\n"
    )
    tree = read_shares(path).tree
    usage = {"news": 361.0, "games": 902.0}
    assert tree.factors(usage, by_user=True) == pytest.approx(tree.given(by_user=True))


def test_sacctmgr_names_parents(tmp_path):
    path = tmp_path / "assoc.txt"
    path.write_text(
        "Account|User|Share|Par Name\nroot||1|\nscience||1|root\nchem||3|science\nbio||1|science\n"
        "chem|ana|parent|\nchem|ben|parent|\nbio|ana|1|\n"
    )
    found = read_shares(path)
    assert found.entitlements == pytest.approx({"ana": 0.375 + 0.25, "ben": 0.375})
    assert "2 associations with the shares of the parent count with equal shares of their account." in found.notes
    assert "ana" not in found.tree.factors({"ana": 1.0, "ben": 1.0}, by_user=True)


def test_the_factors_stand_beside_the_standing(sshare, tmp_path, capsys):
    from bygones.cli import program
    from bygones.report.page import document_page, write

    path = tmp_path / "usage.csv"
    path.write_text(
        "User,time,utility\nana,2026-01-01,500\nben,2026-01-01,100\ncem,2026-01-01,400\ndana,2026-01-01,0\n"
    )
    program.main(["audit", str(path), "--agent", "User", "--entitlements", str(sshare), "--half-life", "7d,inf"])
    out = capsys.readouterr().out
    assert "fair tree" in out
    assert "sshare" in out
    row = next(line for line in out.splitlines() if line.startswith(" ben "))
    assert "1.00" in row
    assert "0.75" in row
    found = audit(read_history(path, agent="User"), ["7d"], entitlements=read_shares(sshare))
    agents = {each["agent"]: each for each in found.to_dict()["half_lives"][0]["agents"]}
    assert (agents["ben"]["fair_tree"], agents["ben"]["sshare"]) == (1.0, 0.75)
    assert ">fair tree<" in write(document_page(found.document()), tmp_path / "page.html").read_text(encoding="utf-8")
    # Dana used nothing, so the audit serves her first; chemistry used less of its share, so the tree serves ben.
    assert next_steps(found)[-2].startswith("With a half-life of 7d, serve dana first")
    assert next_steps(found)[-1].startswith("Slurm's fair tree would serve ben first. It ranks accounts before their")


def test_where_the_fair_tree_agrees_there_is_nothing_to_explain(tmp_path):
    path = tmp_path / "sshare.txt"
    path.write_text("Account|User|RawShares\nroot||\n one||1\n  one|ana|1\n  one|ben|1\n")
    table = pa.table({"User": ["ana", "ben"], "time": [0, 0], "utility": [1.0, 2.0]})
    steps = next_steps(audit(read_history(table, agent="User"), ["5"], entitlements=read_shares(path)))
    assert len(steps) == 1


def test_the_number_by_which_agents_are_ranked_is_shown():
    table = pa.table({"agent": ["ana", "ben", "cem"], "time": [0, 0, 0], "utility": [1.0, 2.0, 27.0]})
    found = audit(read_history(table), ["inf"], entitlements={"ana": 1, "ben": 3, "cem": 2}, unit="h")
    # Of 30 for six units, ana lacks 4 for one unit and ben 13 for three.
    (step, *_) = next_steps(found)
    assert "serve ben first (owed 13 h, 4.33 per unit), then ana (owed 4 h, 4 per unit)" in step
    equal = audit(read_history(table), ["inf"], unit="h")
    assert "per unit" not in next_steps(equal)[0]
    assert "Agents are ranked by the amount owed divided by their entitlement (per unit)." in found.entitlement_note()


def test_the_entitled_share_stays_in_a_narrow_terminal_where_shares_differ():
    names = ["a person with a long name", "ben", "cem"]
    table = pa.table({"agent": names, "time": [0, 0, 9], "utility": [1.0, 200.0, 2700.0]})
    found = audit(read_history(table), ["5"], entitlements=dict(zip(names, [1.0, 2.0, 3.0], strict=True)))
    lines = text(found.document(), 60).splitlines()
    (heading,) = (line for line in lines if line.startswith(" agent"))
    assert "entitled" in heading
    assert "owed since" not in heading


def test_faded_amounts_have_three_digits_of_the_largest():
    # What has almost faded is shown as nothing, not as a power of ten.
    table = pa.table({"agent": ["ana", "ben", "cem"], "time": [0, 99, 100], "utility": [400.0, 3.1788, 7.75]})
    document = audit(read_history(table), ["5"]).document()
    standings = next(block for block in document.blocks if getattr(block, "name", "") == "standings")
    (table_of,) = next(block for block in standings.blocks if isinstance(block, OneOf)).tables.values()
    recent = [row[2] for row in table_of.texts()]
    assert recent == ["0.00", "2.77", "7.75"]
    shown = text(document, 120)
    assert not re.search(r"\de-\d|\d\.\d{4}", shown)


def test_a_column_of_the_file_or_of_the_history_can_be_named(tmp_path):
    history = tmp_path / "doses.csv"
    history.write_text("state,time,utility,people\nMaine,0,10,1.4\nVermont,0,10,0.6\nMaine,1,5,1.4\n")
    people = tmp_path / "people.csv"
    people.write_text("state,people\nMaine,1.4\nVermont,0.6\n")
    expected = {"Maine": 1.4, "Vermont": 0.6}
    assert read_shares(people, "people", agent="state").entitlements == expected
    read = read_history(history, agent="state")
    assert read.entitlements_in("people") == expected
    assert audit(read, ["inf"], entitlements=read.entitlements_in("people")).entitled.tolist() == pytest.approx(
        [0.7, 0.3]
    )
    history.write_text("state,time,utility,people\nMaine,0,10,1.4\nMaine,1,5,2\n")
    with pytest.raises(ValueError, match=r"people must be one number for 'Maine', got both 1\.4 and 2"):
        read_history(history, agent="state").entitlements_in("people")


def test_those_without_an_entitlement_are_refused_or_get_what_is_said():
    given, received = {"a": 2.0, "b": 1.0}, {"a": 10.0, "b": 20.0, "c": 5.0}
    with pytest.raises(
        ValueError, match=r"1 of 3 agents in x.csv have no entitlement: c; add them, or set theirs with others"
    ):
        settle(given, received, None, "x.csv")
    assert settle(given, received, 1, "x.csv") == {"a": 2, "b": 1, "c": 1}
    proportional = settle(given, received, "proportional", "x.csv")
    assert proportional == {"a": 2, "b": 1, "c": 0.5}
    with pytest.raises(ValueError, match="c received nothing"):
        settle(given, {**received, "c": 0.0}, "proportional", "x.csv")
    with pytest.raises(ValueError, match="others must be a number above 0 or proportional"):
        settle(given, received, "0", "x.csv")


def test_names_that_are_nearly_the_same_are_pointed_out():
    assert alike(["ana", "ben", "Massachusetts", "Vermont", "user1", "user2", "North Dakota", "South Dakota"]) == []
    (note,) = alike(["Ana Müller", "ana muller", "ben"])
    assert note == "Some names are nearly the same and count as different agents: 'Ana Müller' and 'ana muller'."
    assert "'Massachusets' and 'Massachusetts'" in alike(["Massachusetts", "Massachusets"])[0]
    assert "Virginia" in alike(["Virginia", "Virgnia"])[0]


def test_layouts_of_sacctmgr(tmp_path):
    path = tmp_path / "assoc.txt"
    # With ParentName, as a cluster prints it: users have none, and the user root is in the account root.
    path.write_text(
        "ID|User|Account|Cluster|Def QOS|Share|Par ID|Par Name|Partition\n"
        "1||root|tara||1|0||\n2|root|root|tara||1|1||\n"
        "306||intern|tara|intern|1|1|root|\n308|jay|intern|tara|intern|1|306||\n840|nam|intern|tara|intern|3|306||\n"
    )
    found = read_shares(path)
    assert found.entitlements == pytest.approx({"root": 0.5, "jay": 0.125, "nam": 0.375})
    assert len(found.notes) == 1
    # The default columns say nothing of parents; a user has one row per partition, and lines end with a bar.
    path.write_text(
        "Cluster|Account|User|Partition|Share|Priority|\nbrc|root|||1||\nbrc|stat|||1||\nbrc|stat|ana|gpu|1||\n"
        "brc|stat|ana|cpu|1||\nbrc|stat|ben|cpu|2||\nbrc|phys|||3||\nbrc|phys|cem|cpu|1||\n"
    )
    found = read_shares(path)
    assert found.entitlements == pytest.approx({"ana": 0.125, "ben": 0.125, "cem": 0.75})
    assert "does not show which account is below which" in found.notes[-1]
    path.write_text("Cluster|Account|User|Share\na|stat||1\nb|stat||1\n")
    with pytest.raises(ValueError, match=r"several clusters \(a, b\): choose one with cluster=a"):
        read_shares(path)
    path.write_text("Cluster|Account|User|Partition|Share\nbrc|stat|ana|gpu|1\n")
    with pytest.raises(ValueError, match="'stat', which has no row: list all associations, with sshare -a"):
        read_shares(path)
