"""Anchors survive clocks, crashes and several signers, and a key signs nothing without what it signed before."""

import json
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from bygones.cli import program
from bygones.ledger import Ledger
from bygones.ledger.proof import signing
from bygones.ledger.storage.store import read_url
from support.forgery import rewrite

HERE = Path(__file__).parent


@pytest.fixture(params=["file", "sqlite", "postgresql"])
def anchors(request, tmp_path):
    """A place for anchors that does not exist yet."""
    if request.param == "postgresql":
        return request.getfixturevalue("new_database")()
    return str(tmp_path / "anchors.jsonl") if request.param == "file" else f"sqlite:///{tmp_path / 'anchors.db'}"


@pytest.fixture
def call(capsys):
    """The exit code of a command of the ledger, and what it printed."""

    def call(*words):
        code = 0
        try:
            program.main(["ledger", *map(str, words)])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return call


class Ward:
    """A ledger, its key and the commands about its anchors."""

    def __init__(self, call, folder, name="ward"):
        self.call, self.path, self.key = call, folder / f"{name}.db", folder / f"{name}.key"
        self.public = folder / f"{name}.pub"
        Ledger.new(self.path, began="2026-01-01").close()
        with Ledger.open(self.path) as ledger:
            ledger.join_all(["ana", "ben"], at="2026-01-01")
        call("key", "new", self.key)
        call("key", "public", self.key, "--out", self.public)

    def record(self):
        with Ledger.open(self.path) as ledger:
            ledger.record("ana", 1, at="2026-01-02")

    def sign(self, anchors, *options):
        return self.call("sign", self.path, "--key", self.key, "--anchor", anchors, *options)

    def verify(self, anchors, *options):
        words = ["verify", self.path, "--anchor", anchors, "--public-key", self.public, *options]
        return self.call(*words)

    def count(self, anchors):
        """How many signed heads are verified."""
        code, text = self.verify(anchors, "--json")
        assert code == 0, text
        return json.loads(text)["anchors"]


@pytest.fixture
def ward(call, tmp_path):
    return Ward(call, tmp_path)


# ------------------------------------------------------------------------------------------- clocks and signers


def test_the_clock_does_not_matter(ward, anchors, monkeypatch):
    assert ward.sign(anchors)[0] == 0
    at = signing.now()
    monkeypatch.setattr(signing, "now", lambda: at - 60_000_000)
    ward.record()
    assert ward.sign(anchors)[0] == 0
    assert ward.count(anchors) == 2
    assert ward.sign(anchors)[0] == 0
    assert ward.count(anchors) == 3


def sign_meanwhile(ward, key, anchors, monkeypatch, elsewhere=None):
    """Signs, and while the ledger is being verified lets another signer record and sign with `key`."""
    started, verify = [], Ledger.verify

    def other():
        with Ledger.open(ward.path) as ledger:
            ledger.record("ben", 1, at="2026-01-02")
            signing.sign(ledger, key, elsewhere or anchors)

    def slowly(self, *arguments, **options):
        found = verify(self, *arguments, **options)
        if not started:
            started.append(threading.Thread(target=other))
            started[0].start()
            started[0].join(0.5)  # if it has to wait, this one goes first
        return found

    monkeypatch.setattr(Ledger, "verify", slowly)
    assert ward.sign(anchors)[0] == 0
    started[0].join()


def test_two_signers_at_once(ward, anchors, monkeypatch):
    sign_meanwhile(ward, ward.key, anchors, monkeypatch)
    assert ward.count(anchors) == 2
    assert ward.sign(anchors)[0] == 0
    assert ward.count(anchors) == 3


def test_two_signers_at_once_in_two_places(ward, anchors, monkeypatch, tmp_path):
    second = tmp_path / "second.jsonl"
    sign_meanwhile(ward, ward.key, anchors, monkeypatch, second)
    for place in (anchors, second):
        assert ward.sign(place)[0] == 0
    assert (ward.count(anchors), ward.count(second)) == (3, 4)


def test_two_signers_at_once_on_two_machines(ward, anchors, monkeypatch, tmp_path):
    """Their keys are the same, but neither sees what is noted beside the other's."""
    other = tmp_path / "other.key"
    shutil.copy(ward.key, other)
    sign_meanwhile(ward, other, anchors, monkeypatch)
    assert ward.count(anchors) == 2
    for key in (other, ward.key, other):
        with Ledger.open(ward.path) as ledger:
            signing.sign(ledger, key, anchors)
    assert ward.count(anchors) == 5


# ------------------------------------------------------------------------------------------ what was interrupted


@pytest.fixture
def torn(ward, tmp_path):
    """A function that leaves so much of the second of two anchors, and gives the file."""

    def torn(kept):
        anchors = tmp_path / "anchors.jsonl"
        ward.sign(anchors)
        ward.record()
        ward.sign(anchors)
        first, second, _ = anchors.read_bytes().split(b"\n")
        anchors.write_bytes(first + b"\n" + kept(second))
        return anchors

    return torn


PARTS = {
    "one letter": lambda line: line[:1],
    "half": lambda line: line[: len(line) // 2],
    "all but one letter": lambda line: line[:-1],
    "zeros of a power cut": lambda line: line[:40] + bytes(400),
    "zeros only": lambda line: bytes(400),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_torn_last_line_is_told_and_repaired(ward, torn, part):
    anchors = torn(PARTS[part])
    before = anchors.read_bytes()
    code, text = ward.verify(anchors)
    assert (code, text.count("anchors.jsonl, line 2: is unfinished")) == (1, 1)
    code, text = ward.sign(anchors)
    assert code == 2
    assert "anchors.jsonl, line 2: is unfinished" in text
    assert "sign with --repair" in text
    assert anchors.read_bytes() == before
    code, text = ward.sign(anchors, "--repair")
    assert code == 0
    assert "Added 1 head signed before, which anchors.jsonl did not have." in text
    assert "Removed an unfinished line: " in text
    assert ward.count(anchors) == 3


def test_a_torn_line_of_which_nothing_is_known_elsewhere(ward, torn):
    anchors = torn(PARTS["half"])
    signing.record_of(ward.key).unlink()
    code, text = ward.sign(anchors, "--repair")
    assert code == 0
    assert "Noted 1 signed head of anchors.jsonl in ward.key.signed" in text
    assert ward.count(anchors) == 2


def test_a_torn_record_of_the_key(ward, torn):
    anchors = torn(lambda line: line)
    record = signing.record_of(ward.key)
    record.write_bytes(record.read_bytes()[:-10])
    assert "ward.key.signed, line 2: is unfinished" in ward.sign(anchors)[1]
    assert ward.sign(anchors, "--repair")[0] == 0
    assert ward.count(anchors) == ward.count(record) == 3


def test_repairing_leaves_other_files_alone(ward, tmp_path):
    table = tmp_path / "table.csv"
    for text in ("agent,amount\nana,1", "agent,amount\n", "agent,amount", '{"agent": "ana"}'):
        table.write_text(text)
        code, told = ward.sign(table, "--repair")
        assert (code, table.read_text()) == (2, text)
        assert "line 1: not an anchor" in told


@pytest.mark.parametrize(
    ("field", "value"),
    [("seq", 0), ("seq", True), ("seq", "3"), ("head", "AB" * 32), ("previous", "00"), ("previous", None),
     ("root", None), ("proof", "0" * 63), ("proof", None), ("key", 1), ("time", "now"), ("signature", "?"),
     ("colour", "red")],
)  # fmt: skip
def test_a_line_that_is_no_anchor_is_refused(ward, tmp_path, field, value):
    anchors = tmp_path / "anchors.jsonl"
    ward.sign(anchors)
    anchors.write_text(json.dumps(json.loads(anchors.read_text()) | {field: value}) + "\n")
    code, text = ward.verify(anchors)
    assert code == 2
    assert "line 1: not an anchor that `bygones ledger sign` wrote" in text


def test_a_full_disk_leaves_no_part_of_a_line(ward, tmp_path, monkeypatch):
    anchors = tmp_path / "anchors.jsonl"
    ward.sign(anchors)
    before = anchors.read_bytes()
    full = OSError(28, "No space left on device")

    def fail(descriptor):
        raise full

    with monkeypatch.context() as patch:
        patch.setattr("bygones.ledger.proof.anchors.os.fsync", fail)
        assert "No space left" in ward.sign(anchors)[1]
    assert anchors.read_bytes() == before
    assert ward.sign(anchors)[0] == 0
    assert ward.count(anchors) == 2


# ------------------------------------------------------------------------------------------------ several ledgers


def test_one_place_serves_several_ledgers(ward, call, tmp_path, anchors):
    other = Ward(call, tmp_path, "other")
    shared = Ward(call, tmp_path, "shared")
    shutil.copy(ward.key, shared.key)
    shutil.copy(ward.public, shared.public)
    assert ward.sign(anchors)[0] == 0
    for each in (other, shared):
        code, text = each.sign(anchors)
        assert code == 2
        assert "belongs to another ledger" in text
        assert each.sign(anchors, "--new-ledger")[0] == 0
    for each in (ward, other, shared, ward):
        each.record()
        assert each.sign(anchors)[0] == 0
    assert [each.count(anchors) for each in (ward, other, shared)] == [3, 2, 2]
    told = json.loads(call("anchors", anchors, "--public-key", ward.public, "--json")[1])
    assert (told["ok"], sorted(told["ledgers"].values()), told["anchors"]) == (True, [4, 5], 5)


def test_another_ledger_in_place_of_the_old_one_is_not_signed(ward, tmp_path, anchors):
    ward.sign(anchors)
    ward.path.unlink()
    with Ledger.new(ward.path, began="2025-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2025-01-01")
    for place in (anchors, tmp_path / "new.jsonl"):
        code, text = ward.sign(place)
        assert code == 2
        assert "belongs to another ledger" in text
    code, text = ward.verify(anchors)
    assert code == 1
    assert "belongs to another ledger" in text


# -------------------------------------------------------------------------------------------- forks and old copies


def cut(anchors, number):
    """Takes away the last anchors of a place."""
    if "://" not in anchors:
        lines = Path(anchors).read_text().splitlines(keepends=True)
        Path(anchors).write_text("".join(lines[: len(lines) - number]))
        return
    engine = sa.create_engine(read_url(anchors))
    with engine.begin() as connection:
        connection.execute(sa.text(
            f"DELETE FROM bygones_anchors WHERE id IN (SELECT id FROM bygones_anchors ORDER BY id DESC LIMIT {number})"
        ))  # fmt: skip
    engine.dispose()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_fork_is_not_signed_though_the_anchors_are_cut(ward, anchors, number):
    for _ in range(3):
        ward.record()
        ward.sign(anchors)
    cut(anchors, number)
    rewrite(ward.path, lambda event: event._replace(agent="ben") if event.seq == 6 else event)
    assert ward.call("verify", ward.path)[0] == 0  # by itself it looks right
    code, text = ward.sign(anchors)
    assert code == 2
    assert "event 6 no longer has the hash" in text


def test_anchors_that_were_cut_are_completed_and_this_is_told(ward, anchors):
    for _ in range(3):
        ward.record()
        ward.sign(anchors)
    cut(anchors, 2)
    code, text = ward.sign(anchors)
    assert code == 0
    assert "Added 2 heads signed before, which " in text
    assert ward.count(anchors) == 4
    assert "Added" not in ward.sign(anchors)[1]


@pytest.mark.parametrize("gone", [False, True])
def test_a_ledger_from_an_older_backup_is_not_signed(ward, anchors, tmp_path, gone):
    ward.sign(anchors)
    backup = tmp_path / "backup.db"
    ward.call("backup", ward.path, backup)
    ward.record()
    ward.sign(anchors)
    ward.path.unlink()
    ward.call("restore", backup, ward.path)
    if gone:
        cut(anchors, 2)
    code, text = ward.sign(anchors)
    assert code == 2
    assert "the ledger ends with event 3, but event 4 was signed before" in text
    assert "restored from an older backup" in text
    if not gone:
        code, text = ward.verify(anchors)
        assert (code, text.count("the ledger ends with event 3, but event 4 was signed before")) == (1, 1)


def test_a_second_place_gets_all_that_was_signed(ward, anchors, tmp_path):
    second = tmp_path / "second.jsonl"
    for place in (anchors, second, anchors, second):
        ward.record()
        assert ward.sign(place)[0] == 0
    assert (ward.count(anchors), ward.count(second)) == (3, 4)


def test_two_places_that_did_not_know_of_each_other_are_told_apart(ward, tmp_path):
    """The key was copied, and both copies signed."""
    first, second, other = tmp_path / "first.jsonl", tmp_path / "second.jsonl", tmp_path / "other.key"
    shutil.copy(ward.key, other)
    ward.sign(first)
    ward.record()
    with Ledger.open(ward.path) as ledger:
        signing.sign(ledger, other, second)
    before = second.read_bytes()
    code, text = ward.sign(second)
    assert code == 2
    assert "has a head of event 4 where ward.key.signed has another, of event 3" in text
    assert second.read_bytes() == before


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_anchors_are_not_kept_in_a_part_of_the_ledger(ward, ending):
    with Ledger.open(ward.path) as ledger:
        ledger.standing()
        part = Path(f"{ward.path}{ending}")
        existed = part.exists()
        code, text = ward.sign(part)
        assert (code, part.exists()) == (2, existed), text
        assert ledger.verify().ok


def test_anchors_are_kept_apart_from_the_key_and_its_record(ward, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for place in (ward.key, signing.record_of(ward.key), folder, "/dev/null"):
        assert ward.sign(place)[0] == 2
    for url in (f"sqlite:///{ward.path}", "sqlite://", "sqlite:///:memory:"):
        assert ward.sign(url)[0] == 2
    assert not signing.record_of(ward.key).exists()


def test_a_database_of_anchors_that_is_not_there_is_not_made_by_looking(ward, tmp_path):
    code, text = ward.verify(f"sqlite:///{tmp_path / 'typo.db'}")
    assert code == 2
    assert "there is no table bygones_anchors" in text
    assert not (tmp_path / "typo.db").exists()


# ------------------------------------------------------------------------------------------- without the ledger


def test_anchors_are_checked_without_the_ledger(ward, call, tmp_path):
    anchors, copy = tmp_path / "anchors.jsonl", tmp_path / "copy.jsonl"
    check = ["anchors", anchors, "--public-key", ward.public]
    for number in range(5):
        ward.sign(anchors)
        for _ in range(number):
            ward.record()
        if number == 2:
            shutil.copy(anchors, copy)
    ward.path.unlink()
    code, text = call(*check, "--earlier", copy)
    assert code == 0
    assert "Checked 5 signed heads. Each extends the one before it." in text
    lines = anchors.read_text().splitlines(keepends=True)
    anchors.write_text("".join(lines[:2]))
    assert call(*check)[0] == 0  # what was cut off at the end is known only to those who have a copy
    code, text = call(*check, "--earlier", copy)
    assert code == 1
    assert "copy.jsonl, line 3: this head, of event 4, is not in anchors.jsonl" in text
    anchors.write_text("".join([*lines[:2], *lines[3:]]))
    code, text = call(*check)
    assert code == 1
    assert "anchors.jsonl, line 3: does not follow the head signed before it" in text
    anchors.write_text("".join(lines[:2]) + lines[2][:50])
    assert "line 3: is unfinished" in call(*check)[1]
    ward.call("key", "new", tmp_path / "k")
    ward.call("key", "public", tmp_path / "k", "--out", tmp_path / "k.pub")
    code, text = call("anchors", anchors, "--public-key", tmp_path / "k.pub")
    assert code == 1
    assert "has no head that was signed with the key" in text


def test_whoever_has_the_key_cannot_link_a_rewritten_ledger(ward, call, tmp_path, monkeypatch):
    """Without any check of its own, `sign` makes a proof that fails, since the earlier head is not in the new tree."""
    anchors = tmp_path / "anchors.jsonl"
    for _ in range(3):
        ward.record()
        ward.sign(anchors)
    rewrite(ward.path, lambda event: event._replace(agent="ben") if event.seq == 4 else event)
    ward.record()
    compare = signing._compare
    with monkeypatch.context() as patch:
        patch.setattr(signing, "_compare", lambda *found: (*compare(*found)[:2], []))
        assert ward.sign(anchors)[0] == 0
    code, text = call("anchors", anchors, "--public-key", ward.public)
    assert code == 1
    assert text == "anchors.jsonl, line 4: has another event 6 than the head signed before\n"


def test_a_root_of_other_events_is_found_by_those_who_have_the_ledger(ward, tmp_path, monkeypatch):
    """A dishonest signer may sign a tree that has the earlier heads, but it is then not that of the ledger."""
    anchors = tmp_path / "anchors.jsonl"
    ward.sign(anchors)
    ward.record()
    compare = signing._compare

    def invent(*found):
        _, head, problems = compare(*found)
        leaves = list(ledger.hashes())
        return signing.HashTree([*leaves[:-1], bytes(32)], watched=3), head, problems

    with Ledger.open(ward.path) as ledger, monkeypatch.context() as patch:
        patch.setattr(signing, "_compare", invent)
        ward.sign(anchors)
    assert ward.call("anchors", anchors, "--public-key", ward.public)[0] == 0
    code, text = ward.verify(anchors)
    assert code == 1
    assert text == "anchors.jsonl, line 2: was signed for other events than those up to event 4\n"


def test_a_new_key_does_not_take_over_what_an_earlier_one_has_signed(ward, tmp_path):
    ward.sign(tmp_path / "anchors.jsonl")
    ward.key.unlink()
    code, text = ward.call("key", "new", ward.key)
    assert code == 2
    assert "ward.key.signed has the heads signed with an earlier key of this name" in text


# ------------------------------------------------------------------------------------- anchors of earlier versions


@pytest.fixture
def old(call, tmp_path):
    """A ledger and anchors of version 1, frozen here for ever; two signers wrote at once, and a clock was set back."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    ward = object.__new__(Ward)
    ward.call, ward.path, ward.key, ward.public = call, tmp_path / "old.db", tmp_path / "old.key", tmp_path / "old.pub"
    connection = sqlite3.connect(ward.path)
    connection.executescript((HERE / "ledger_version_1.sql").read_text(encoding="utf-8"))
    connection.close()
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    ward.key.touch(0o600)
    ward.key.write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
    call("key", "public", ward.key, "--out", ward.public)
    return ward


def test_linked_anchors_stay_valid(old, call, tmp_path):
    """Two of version 1 and two of version 2, frozen for ever."""
    anchors = tmp_path / "anchors.jsonl"
    shutil.copy(HERE / "anchors_version_2.jsonl", anchors)
    assert old.count(anchors) == 4
    told = json.loads(call("anchors", anchors, "--public-key", old.public, "--json")[1])
    assert (told["ok"], told["anchors"], told["older"]) == (True, 4, 2)
    assert old.sign(anchors)[0] == 0
    assert old.count(anchors) == 5


def as_version_1(anchors):
    """Puts the frozen anchors into a place, as version 1 did."""
    text = (HERE / "anchors_version_1.jsonl").read_text(encoding="utf-8")
    if "://" not in anchors:
        Path(anchors).write_text(text)
        return
    number = "INTEGER NOT NULL" if anchors.startswith("sqlite") else "SERIAL NOT NULL"
    engine = sa.create_engine(read_url(anchors))
    with engine.begin() as connection:
        connection.execute(sa.text(
            f"CREATE TABLE bygones_anchors (id {number}, ledger TEXT NOT NULL, seq BIGINT NOT NULL, head TEXT NOT "
            "NULL, time TEXT NOT NULL, key TEXT NOT NULL, signature TEXT NOT NULL, PRIMARY KEY (id))"
        ))  # fmt: skip
        for line in text.splitlines():
            columns = json.loads(line)
            values = ", ".join(f":{name}" for name in columns)
            connection.execute(
                sa.text(f"INSERT INTO bygones_anchors ({', '.join(columns)}) VALUES ({values})"), columns
            )
    engine.dispose()


def test_anchors_of_version_1_stay_valid_and_the_next_is_linked_to_them(old, call, anchors):
    as_version_1(anchors)
    assert old.count(anchors) == 3
    code, text = old.sign(anchors)
    assert code == 0
    assert "Noted 3 signed heads of" in text
    assert old.sign(anchors)[0] == 0
    assert old.count(anchors) == 5
    told = json.loads(call("anchors", anchors, "--public-key", old.public, "--json")[1])
    assert (told["ok"], told["anchors"], told["older"]) == (True, 5, 3)
    assert (
        "An earlier version signed 3 heads without linking them to each other."
        in call("anchors", anchors, "--public-key", old.public)[1]
    )


def test_two_places_of_version_1_become_one_chain(old, tmp_path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    lines = (HERE / "anchors_version_1.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    first.write_text(lines[0])
    second.write_text("".join(lines[1:]))
    for place in (first, second, first):
        assert old.sign(place)[0] == 0
    assert (old.count(first), old.count(second)) == (4, 5)


def test_without_version_1_the_link_to_it_is_missed(old, tmp_path):
    anchors = tmp_path / "anchors.jsonl"
    as_version_1(str(anchors))
    old.sign(anchors)
    lines = anchors.read_text().splitlines(keepends=True)
    anchors.write_text(lines[0] + lines[3])
    code, text = old.verify(anchors)
    assert (code, text.count("line 2: does not follow the head signed before it")) == (1, 1)


def test_an_anchor_of_version_1_after_linked_ones_is_found(old, tmp_path):
    """Whoever has the key could sign as version 1 did, so as not to link the head of a rewritten ledger."""
    anchors = tmp_path / "anchors.jsonl"
    as_version_1(str(anchors))
    lines = anchors.read_text().splitlines(keepends=True)
    anchors.write_text(lines[0])
    old.sign(anchors)
    anchors.write_text(anchors.read_text() + lines[2])
    for code, text in (old.verify(anchors), old.call("anchors", anchors, "--public-key", old.public)):
        assert (code, text.count("line 3: is not linked to the head signed before it")) == (1, 1)


def test_a_table_of_version_1_is_brought_up_to_date_by_its_owner(old, new_database):
    url = new_database()
    as_version_1(url)
    engine = sa.create_engine(read_url(url))
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE ROLE only_signs LOGIN"))
        connection.execute(sa.text("GRANT SELECT, INSERT ON bygones_anchors TO only_signs"))
        connection.execute(sa.text("GRANT USAGE ON SEQUENCE bygones_anchors_id_seq TO only_signs"))
    signer = url.replace("postgres@", "only_signs@", 1)
    assert old.count(signer) == 3
    code, text = old.sign(signer)
    assert code == 2
    statements = text.partition("only its owner can bring it up to date: run ")[2].strip()
    assert statements.count("ALTER TABLE bygones_anchors ADD COLUMN") == 3
    with engine.begin() as connection:
        connection.execute(sa.text(statements))
    engine.dispose()
    assert old.sign(signer)[0] == 0
    assert old.count(signer) == 4
