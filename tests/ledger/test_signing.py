"""A ledger that was rewritten with all its hashes is found by heads that were signed and kept elsewhere."""

import json
import os
import stat

import pytest
import sqlalchemy as sa

from bygones.allocation import ChooseK
from bygones.ledger import Ledger, LedgerError
from bygones.ledger.proof import signing
from bygones.ledger.proof.anchors import read_anchors, table
from bygones.ledger.storage.store import read_url
from support.forgery import rewrite


@pytest.fixture
def signed(new_path, tmp_path):
    """A ledger whose head was signed twice; its path, key and anchors."""
    path, key, anchors = new_path(), tmp_path / "team.key", tmp_path / "anchors.jsonl"
    signing.new_key(key)
    with Ledger.new(path, began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ana", 8, at="2026-01-02")
        signing.sign(ledger, key, anchors)
        ledger.decide(ChooseK({"ana": 1, "ben": 1}), at="2026-01-03")
        signing.sign(ledger, key, anchors)
        ledger.record("ben", 1, at="2026-01-04")
    return path, key, anchors


def public(key):
    out = key.with_suffix(".pub")
    out.write_text(signing.public_text(key))
    return signing.read_public_key(out)


def problems(path, key, anchors):
    with Ledger.open(path) as ledger:
        return signing.verify(ledger, read_anchors(anchors), public(key)).problems


def test_every_signed_head_is_in_the_chain(signed):
    assert problems(*signed) == ()
    assert [anchor.seq for anchor in read_anchors(signed[2]).entries] == [4, 6]


def test_a_rewritten_ledger_looks_right_and_is_found(signed):
    path, _, anchors = signed
    rewrite(path, lambda event: event._replace(agent="ben") if event.seq == 4 else event)
    with Ledger.open(path) as ledger:
        (problem,) = ledger.verify().problems  # only the decision that was based on it tells
        assert problem.startswith("decision 5 does not follow from the events before it")
    heads = [anchor.head for anchor in read_anchors(anchors).entries]
    rewritten = [problem for problem in problems(*signed) if not problem.startswith("decision")]
    assert rewritten == [
        f"event {seq} no longer has the hash {head}: the events up to it have changed"
        for seq, head in zip((4, 6), heads, strict=True)
    ]


def test_a_rewritten_ledger_is_not_signed_over(signed):
    path, key, anchors = signed
    rewrite(path, lambda event: event._replace(author="somebody else") if event.seq == 2 else event)
    before = anchors.read_bytes()
    with Ledger.open(path) as ledger:
        assert ledger.verify().ok
        with pytest.raises(
            LedgerError, match="was not signed, since it did not pass verification: event 4 no longer has the hash"
        ):
            signing.sign(ledger, key, anchors)
    assert anchors.read_bytes() == before


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("seq", 5, "line 1: the signature does not match"),
        ("head", "0" * 64, "line 1: the signature does not match"),
        ("time", "2026-01-01T00:00:00Z", "line 1: the signature does not match"),
        ("ledger", "0" * 64, "line 1: the signature does not match"),
        ("signature", "AAAA", "line 1: the signature does not match"),
        ("previous", "0" * 64, "line 1: the signature does not match"),
        ("root", "0" * 64, "line 1: the signature does not match"),
        ("proof", "0" * 64, "line 1: the signature does not match"),
        ("key", "0" * 16, "line 1: signed with the key 0000000000000000, not with"),
    ],
)
def test_an_anchor_that_was_edited_is_found(signed, field, value, sentence):
    anchors = signed[2]
    lines = anchors.read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {field: value})
    anchors.write_text("\n".join(lines) + "\n")
    assert any(f"anchors.jsonl, {sentence}" in problem for problem in problems(*signed))


def test_anchors_of_another_key_another_ledger_or_out_of_order(signed, new_path, tmp_path):
    path, key, anchors = signed
    other = tmp_path / "other.key"
    signing.new_key(other)
    assert [problem.split(",")[0] for problem in problems(path, other, anchors)] == ["anchors.jsonl"] * 2
    lines = anchors.read_text().splitlines()
    anchors.write_text("\n".join(reversed(lines)) + "\n")
    assert problems(path, key, anchors) == tuple(
        f"anchors.jsonl, line {line}: does not follow the head signed before it: one is missing or was moved"
        for line in (1, 2)
    )
    elsewhere = tmp_path / "elsewhere.jsonl"
    with Ledger.new(new_path()) as ledger:
        for place in (elsewhere, anchors):
            with pytest.raises(LedgerError, match="line 1: belongs to another ledger"):
                signing.sign(ledger, key, place)
        signing.sign(ledger, key, elsewhere, new_ledger=True)
    assert "belongs to another ledger" in problems(path, key, elsewhere)[0]


def test_anchors_without_a_head_prove_nothing_and_are_refused(signed):
    anchors = signed[2]
    anchors.write_text("")
    with pytest.raises(LedgerError, match=r"anchors\.jsonl has no signed head, so nothing can be checked"):
        problems(*signed)


def test_a_last_line_without_an_end_is_ended(signed):
    path, key, anchors = signed
    anchors.write_text(anchors.read_text().rstrip("\n"))
    with Ledger.open(path) as ledger:
        signing.sign(ledger, key, anchors)
    assert (len(anchors.read_text().splitlines()), problems(*signed)) == (3, ())


def test_a_key_is_its_owners_alone_and_replaces_nothing(signed, tmp_path):
    path, key, anchors = signed
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    for taken in (key, path):
        before = taken.read_bytes()
        with pytest.raises(LedgerError, match="already exists: give a new key a new file"):
            signing.new_key(taken)
        assert taken.read_bytes() == before
    key.chmod(0o640)
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match="can be read by others"):
        signing.sign(ledger, key, anchors)
    assert os.fspath(key)


def test_files_that_are_something_else_are_refused(signed, tmp_path):
    path, key, anchors = signed
    text, binary = tmp_path / "text", tmp_path / "binary"
    text.write_text("agent,amount\n")
    text.chmod(0o600)
    binary.write_bytes(bytes(range(256)))
    with Ledger.open(path) as ledger:
        for bad_key, bad_anchors, sentence in [
            (text, anchors, "is not a key"),
            (key, text, "line 1: not an anchor"),
            (key, binary, "is not a file of anchors"),
            (key, path, "is the ledger itself"),
            (path, anchors, "is the ledger itself"),
        ]:
            with pytest.raises(LedgerError, match=sentence):
                signing.sign(ledger, bad_key, bad_anchors)
    with pytest.raises(LedgerError, match="is not a public key"):
        signing.read_public_key(key)


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_anchors_are_not_kept_in_a_part_of_a_database(signed, tmp_path, new_path, monkeypatch, ending):
    path, key, _ = signed
    os.symlink(path, tmp_path / "link.db")
    monkeypatch.chdir(path.parent)
    names = [
        path,
        path.name,
        tmp_path / "link.db",
        *([] if ending else [f"sqlite:///{path.name}", f"sqlite:///{path}"]),
    ]
    with Ledger.open(path) as ledger:
        for name in names:
            with pytest.raises(ValueError, match=r"is the ledger itself: keep|is part of a SQLite database"):
                signing.sign(ledger, key, f"{name}{ending}")
        other = new_path()
        Ledger.new(other).close()
        with pytest.raises(ValueError, match="is part of a SQLite database"):
            signing.sign(ledger, key, f"{other}{ending}")
        assert ledger.verify().ok
    assert not [file for file in path.parent.iterdir() if file.name.endswith(("-wal", "-shm", "-journal"))]


class TestAnchorsInATable:
    """Anchors in another database, which others hold."""

    @pytest.fixture(params=["sqlite", "postgresql"])
    def elsewhere(self, request):
        if request.param == "postgresql":
            return request.getfixturevalue("new_database")()
        return f"sqlite:///{request.getfixturevalue('new_path')()}"

    def test_a_rewritten_ledger_is_found(self, signed, elsewhere):
        path, key, _ = signed
        with Ledger.open(path) as ledger:
            for _ in range(2):
                signing.sign(ledger, key, elsewhere)
                ledger.record("ana", 1, at="2026-01-05")
        assert [anchor.seq for anchor in read_anchors(elsewhere).entries] == [4, 6, 7, 8]
        with Ledger.open(path) as ledger:
            assert signing.verify(ledger, read_anchors(elsewhere), public(key)).ok
        rewrite(path, lambda event: event._replace(author="somebody else") if event.seq == 2 else event)
        with Ledger.open(path) as ledger:
            found = signing.verify(ledger, read_anchors(elsewhere), public(key))
            assert len(found.problems) == 4
            with pytest.raises(LedgerError, match="was not signed"):
                signing.sign(ledger, key, elsewhere)

    def test_whoever_signs_may_only_append(self, signed, new_database):
        path, key, _ = signed
        url = new_database()
        with Ledger.open(path) as ledger:
            signing.sign(ledger, key, url)
            engine = sa.create_engine(read_url(url))
            with engine.begin() as connection:
                connection.execute(sa.text("CREATE ROLE signer LOGIN"))
                connection.execute(sa.text(f"GRANT SELECT, INSERT ON {table.name} TO signer"))
            engine.dispose()
            signer = url.replace("postgres@", "signer@", 1)
            signing.sign(ledger, key, signer)
        assert [anchor.seq for anchor in read_anchors(url).entries] == [4, 6, 7, 7]
        engine = sa.create_engine(read_url(signer))
        with engine.connect() as connection, pytest.raises(sa.exc.ProgrammingError, match="permission denied"):
            connection.execute(table.delete())
        engine.dispose()

    def test_what_is_not_there_or_not_apart_is_refused(self, new_path, new_database, tmp_path):
        key, url = tmp_path / "k", new_database()
        signing.new_key(key)
        with pytest.raises(LedgerError, match="there is no table bygones_anchors"):
            read_anchors(url)
        with Ledger.new(url) as ledger:
            for same in (url, url.replace("postgres@", "somebody@", 1)):
                with pytest.raises(LedgerError, match="keep anchors apart"):
                    signing.sign(ledger, key, same)
        with pytest.raises(LedgerError, match="bygones_anchors in") as refused:
            read_anchors("postgresql://ana:geheim@127.0.0.1:1/none")
        assert "geheim" not in str(refused.value)
