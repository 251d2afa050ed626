"""Files are written completely or not at all, never over a ledger or an input."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from bygones._files import PRIVATE, UNFINISHED, check_output, make_private, replacing, replacing_text, write_text
from bygones.cli import program
from bygones.ledger import Ledger


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "team.db"
    with Ledger.new(path, began="2026-01-01") as new:
        new.join("ana", at="2026-01-01")
        new.record("ana", 1, at="2026-01-02")
    return path


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def refused(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        program.main([str(word) for word in words])
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_content_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "page.html"
    write_text(path, "old")
    with replacing_text(path) as file:
        file.write("new\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == b"new\n"
    assert os.listdir(path.parent) == ["page.html"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "page.html"
    write_text(path, "old")

    def half():
        with replacing(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_the_name_in_between_is_random_and_no_link_is_followed(tmp_path):
    path, victim = tmp_path / "page.html", tmp_path / "victim"
    victim.write_text("precious")
    for name in (".page.html.unfinished", "page.html.part"):
        (tmp_path / name).symlink_to(victim)
    names = set()
    for _ in range(3):
        with replacing(path) as file:
            file.write(b"x")
            names.update(tmp_path.glob(UNFINISHED))
    assert len(names) == 3
    assert victim.read_text() == "precious"


def test_permissions_of_a_replaced_file_are_kept(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("old")
    path.chmod(0o640)
    write_text(path, "new", private=True)
    assert (path.read_text(), mode(path)) == ("new", 0o640)


def test_new_files_follow_the_umask_unless_they_are_private(tmp_path):
    before = os.umask(0o022)
    try:
        write_text(tmp_path / "page.html", "x")
        write_text(tmp_path / "events.csv", "x", private=True)
    finally:
        os.umask(before)
    assert mode(tmp_path / "page.html") == 0o644
    assert mode(tmp_path / "events.csv") == PRIVATE


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, how: False)  # the superuser may write everything
    with pytest.raises(PermissionError) as error:
        write_text(path, "new")
    assert error.value.filename == str(path)
    assert path.read_text() == "old"


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "latest.html"
    link.symlink_to(tmp_path / "there" / "page.html")
    write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "there" / "page.html").read_text() == "new"


def test_pipes_and_devices_are_written_to(tmp_path):
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join()
    assert got == ["through"]
    assert pipe.is_fifo()


def test_standard_output_is_appended_to(tmp_path):
    log = tmp_path / "log"
    log.write_text("before\n")
    code = "from bygones._files import write_text; write_text('/dev/stdout', 'after\\n')"
    with log.open("a") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert log.read_text() == "before\nafter\n"


def test_an_error_names_the_file_that_was_wanted(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory") as error:
        write_text(tmp_path / "file" / "page.html", "x")
    assert "file" in str(error.value.filename)
    with pytest.raises(ValueError, match="is a folder"):
        write_text(tmp_path, "x")
    with pytest.raises(ValueError, match="NUL"):
        write_text("a\0b", "x")


def test_a_long_name_fits(tmp_path):
    long = tmp_path / ("n" * 255)
    write_text(long, "x")
    assert long.read_text() == "x"
    assert list(tmp_path.iterdir()) == [long]


def test_no_spelling_of_an_input_is_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, folder = tmp_path / "data.csv", tmp_path / "folder"
    data.write_text("agent\n")
    folder.mkdir()
    (folder / "part.parquet").write_text("")
    os.link(data, tmp_path / "hard")
    (tmp_path / "soft").symlink_to("data.csv")
    for output in (data, "data.csv", "./folder/../data.csv", "hard", "soft"):
        for given in (data, "data.csv", "*.csv", "sqlite:///data.csv", f"duckdb://{data}", f"file:{data}?mode=ro"):
            with pytest.raises(ValueError, match="is an input of this command"):
                check_output(output, ["no such file", given])
    with pytest.raises(ValueError, match="is an input of this command"):
        check_output(folder / "part.parquet", [folder])
    check_output("new.csv", [data, folder])
    check_output("/dev/null", [data])


def test_a_ledger_is_never_overwritten(ledger, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(ledger)
    os.link(ledger, tmp_path / "hard")
    before = ledger.read_bytes()
    for name in ("team.db", "link", "hard", "team.db-wal", "team.db-journal", "team.db-shm"):
        with pytest.raises(ValueError, match="SQLite database, which may be a ledger"):
            write_text(tmp_path / name, "x")
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(before[:700])
    with pytest.raises(ValueError, match="may be a ledger"):
        write_text(damaged, "x")
    assert ledger.read_bytes() == before


def test_no_command_writes_over_a_ledger_or_its_input(ledger, tmp_path, capsys):
    history, other = tmp_path / "history.csv", tmp_path / "other.db"
    history.write_text("agent,time,utility\nana,1,1\nben,2,2\n")
    needs = tmp_path / "needs.csv"
    needs.write_text("agent,need\nana,1\nben,2\n")
    other.write_bytes(ledger.read_bytes())
    for out in ("newcomers.png", "table-1.csv"):
        (tmp_path / out).write_bytes(ledger.read_bytes())
    commands = [
        ("ledger", "export", ledger, "--out", ledger),
        ("ledger", "export", ledger, "--out", other),
        ("ledger", "export", f"sqlite:///{ledger}", "--out", other, "--json"),
        ("ledger", "newcomers", ledger, "--agent", "zed", "--out", tmp_path),
        ("audit", ledger, "--page", ledger),
        ("audit", history, "--page", history),
        ("audit", history, "--page", other),
        ("audit", f"{tmp_path}/hist*.csv", "--page", history),
        ("audit", history, "--entitlements", needs, "--page", needs),
        ("allocate", needs, "--half-life", "3", "--out", needs),
        ("allocate", needs, "--half-life", "3", "--history", history, "--out", history),
        ("report", history, "--out", history),
        ("report", "--out", other),
        ("results", tmp_path, "--csv", history),
        ("table", "1", "--out", tmp_path),
    ]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for words in commands:
        error = refused(capsys, *words)
        assert "choose another file" in error, words
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_ledgers_and_exports_can_be_read_by_their_owner_only(ledger, tmp_path, capsys):
    needs, page = tmp_path / "needs.csv", tmp_path / "page.html"
    needs.write_text("agent,need\nana,1\nben,2\n")
    before = os.umask(0o022)
    try:
        program.main(["ledger", "new", str(tmp_path / "new.db")])
        program.main(["ledger", "export", str(ledger), "--out", str(tmp_path / "events.csv")])
        program.main(["allocate", str(needs), "--half-life", "3", "--out", str(tmp_path / "decision.csv")])
        program.main(["audit", str(ledger), "--page", str(page)])
    finally:
        os.umask(before)
    for name in ("new.db", "events.csv", "decision.csv"):
        assert mode(tmp_path / name) == PRIVATE, name
    assert mode(page) == 0o644


def test_a_private_file_that_exists_is_left_alone(tmp_path):
    path = tmp_path / "a"
    path.write_text("x")
    make_private(path)
    assert path.read_text() == "x"


def test_an_export_reaches_standard_output_and_devices(ledger, capsys):
    program.main(["ledger", "export", str(ledger), "--out", "/dev/null"])
    assert capsys.readouterr().out == "wrote /dev/null\n"
    program.main(["ledger", "export", str(ledger)])
    assert capsys.readouterr().out.startswith("seq,kind,")
