"""No password is ever shown, and none has to be on the command line."""

import json
import shutil
import sys

import psycopg
import pytest

from bygones._secrets import redacted, secrets_in
from bygones.audit import read_history
from bygones.cli import program
from bygones.ledger import Ledger
from bygones.ledger.storage.store import LedgerError, Store
from bygones.paper import provenance
from support.servers import new_database, postgres  # noqa: F401 (fixtures)

PASSWORD = "s3cret-pass"
URLS = [
    f"postgresql://u:{PASSWORD}@127.0.0.1:9/db",
    f"postgresqlx://u:{PASSWORD}@127.0.0.1:9/db",
    f"postgresql://:{PASSWORD}@127.0.0.1:9/db",
    f"postgresql://127.0.0.1:9/db?user=u&password={PASSWORD}",
    f"postgresql://127.0.0.1:9/db?user=u&pass%77ord={PASSWORD}",
    f"postgresql://127.0.0.1:9/db?sslpassword={PASSWORD}&user=u",
    f"postgres://u:{PASSWORD}@127.0.0.1:x/db",
    f"postgresql://u:{PASSWORD}",
    f"postgresql://u:{PASSWORD}/db",
    f"postgresql+psycopg://u:{PASSWORD}",
    f"postgresql:///u:{PASSWORD}",
    f"postgresql://[::1]:{PASSWORD}",
    f"postgresql://u@127.0.0.1:{PASSWORD}/db",
    f"postgresql://u:x@127.0.0.1:{PASSWORD}/db",
    f"postgresql:/u:{PASSWORD}@127.0.0.1/db",
    f"postgresql:u:{PASSWORD}@127.0.0.1",
]


@pytest.mark.parametrize("url", [*URLS, f"postgresql://u:{PASSWORD}@b/c?d@127.0.0.1:9/db"])
def test_a_url_is_shown_without_its_password(url):
    shown = redacted(f"the ledger {url!r} cannot be opened")
    assert PASSWORD not in shown
    assert "***" in shown
    assert shown.startswith("the ledger 'postgres")
    assert shown.endswith(" cannot be opened")


def test_everything_else_is_shown():
    for text in (
        "postgresql://ana@host/db?sslmode=require", "postgresql://host:5432/db", "(postgresql://host:5432).",
        "postgresql://host:5432, row 3", "http://host:80: refused", "postgresql://[::1]:5432/db", "file:///C:/ana/a.db",
        "sqlite:///C:\\ana\\a.db", "C:\\ana@work\\a.db", "at 10:30, ana@example.org", "git@host:ana/a.git", "a=b",
        "monkey=1", "x://y",
    ):  # fmt: skip
        assert redacted(text) == text


def test_a_long_text_takes_no_longer_than_it_is_long():
    for text in (
        "z" * 1_000_000, "%" * 1_000_000, "a=" * 500_000, "a://" + "b" * 1_000_000, "a://b:1/" * 100_000,
        "a://[" * 200_000, "a://%" * 200_000,
    ):  # fmt: skip
        assert redacted(text) == text
        assert not secrets_in(text)
    assert redacted("a://" * 200_000 + "@" + "b" * 200_000) == "a://a:***@" + "b" * 200_000


def test_a_password_is_recognised_wherever_it_is_repeated():
    found = secrets_in("postgresql://u:a%20long one@h/db?token=in%2Bquery")
    assert {"a long one", "a%20long one", "in+query", "in%2Bquery"} <= found
    assert redacted("invalid: a long one", found) == "invalid: ***"
    assert secrets_in("not a url: password=x") == set()
    assert (
        redacted("'pw' is no port, as a password is", secrets_in("postgresql://u:pw"))
        == "'***' is no port, as a password is"
    )
    assert redacted("no port: a long one", secrets_in("postgresql://u:a long one/db")) == "no port: ***"


@pytest.mark.parametrize("url", URLS)
def test_no_error_shows_a_password(url, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = [("ledger", "standing", url), ("ledger", "new", url), ("audit", url), ("what-if", url), (url,)]
    commands += [("audit", "missing.csv", "--page", url), ("decay", "--half-life", url), ("ledger", url)]
    for words in commands:
        with pytest.raises(SystemExit) as stop:
            program.main(list(words))
        assert stop.value.code == 2
        captured = capsys.readouterr()
        assert PASSWORD not in captured.out + captured.err, words
    for call in (lambda: Ledger.open(url, timeout=2), lambda: read_history(url)):
        with pytest.raises(ValueError) as error:  # noqa: PT011 (the text is what is tested)
            call()
        assert PASSWORD not in str(error.value)


def test_a_bug_is_reported_without_a_password(capsys, monkeypatch):
    def broken(words):
        raise TypeError(f"no driver for {words[1]}, {PASSWORD}")

    monkeypatch.setattr(program, "_run", broken)
    with pytest.raises(SystemExit) as stop:
        program.main(["audit", URLS[0]])
    err = capsys.readouterr().err
    assert stop.value.code == 1
    assert "TypeError: no driver for postgresql://u:***@127.0.0.1:9/db, ***" in err
    assert err.endswith("bygones: this is a bug in bygones: please report the lines above\n")


def test_a_file_is_not_named_after_a_password(tmp_path):
    with pytest.raises(LedgerError, match=r"password=\*\*\*"):
        Store(f"host=h password={PASSWORD}")


def test_commands_are_kept_without_passwords(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["bygones", "reproduce", "--address", URLS[0]])
    assert PASSWORD not in provenance.here("cpu").command


def test_a_ledger_is_named_in_the_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BYGONES_LEDGER", "team.db")
    (tmp_path / "needs.csv").write_text("agent,need\nana,1\nben,1\n")
    for words in (
        "ledger new --began 2026-01-01",
        "ledger join ana ben --at 2026-01-01",
        "ledger join team.db cem --at 2026-01-01",
        "ledger record ana 8 --at 2026-01-02",
        "ledger hold --at 2026-01-03 cem",
        "ledger decide needs.csv --yes",
        "ledger explain ana",
        "ledger correct 5 6",
        "ledger standing",
    ):
        program.main(words.split())
    capsys.readouterr()
    program.main(["ledger", "standing", "--json"])
    assert {row["agent"] for row in json.loads(capsys.readouterr().out)["agents"]} == {"ana", "ben", "cem"}
    with pytest.raises(SystemExit):
        program.main(["ledger", "leave"])
    assert "AGENT is missing" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "missing"), [("key new", "FILE"), ("restore backup.db", "TARGET")])
def test_the_ledger_in_the_environment_is_not_put_where_something_else_belongs(words, missing, monkeypatch, capsys):
    monkeypatch.setenv("BYGONES_LEDGER", "team.db")
    with pytest.raises(SystemExit):
        program.main(["ledger", *words.split()])
    assert capsys.readouterr().err.startswith(f"bygones: {missing} is missing; see")


def test_without_a_default_the_ledger_is_missing(monkeypatch, capsys):
    monkeypatch.delenv("BYGONES_LEDGER", raising=False)
    with pytest.raises(SystemExit):
        program.main(["ledger", "standing"])
    assert "LEDGER is missing" in capsys.readouterr().err


@pytest.fixture
def guarded(new_database):  # noqa: F811
    """A database whose server asks a user for a password."""
    url = new_database()
    folder, name = url.rpartition("host=")[2], url.partition("@/")[2].partition("?")[0]
    rules = f"{folder}/data/pg_hba.conf"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
        connection.execute(f"GRANT ALL ON SCHEMA public TO {name}")
        shutil.copy(rules, f"{rules}.before")
        with open(f"{rules}.before") as file:
            before = file.read()
        with open(rules, "w") as file:
            file.write(f"local all {name} scram-sha-256\n{before}")
        connection.execute("SELECT pg_reload_conf()")
    yield f"postgresql://{name}@/{name}?host={folder}"
    with open(rules, "w") as file:
        file.write(before)


def test_libpq_finds_the_password(guarded, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(LedgerError, match="password"):
        Ledger.new(guarded)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with Ledger.new(guarded, began="2026-01-01") as ledger:
        ledger.join("ana", at="2026-01-01")
        ledger.record("ana", 1, at="2026-01-02")
    monkeypatch.delenv("PGPASSWORD")
    passwords = tmp_path / ".pgpass"
    passwords.write_text(f"*:*:*:*:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    with Ledger.open(guarded) as ledger:
        assert ledger.standing().names == ("ana",)
    with read_history(guarded) as history:
        assert PASSWORD not in history.source.label
        assert history.n_events
