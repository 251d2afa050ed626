"""`bygones example` writes the files of the start pages, and the commands that it names run on them."""

import json
import re
import shlex

import pytest

from bygones.cli.example_commands import SUBJECTS
from support import command_line
from support.extras import ROOT


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_files_are_written_and_the_command_runs_on_them(subject, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "Wrote 2 files." in command_line.run(capsys, "example", subject)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(SUBJECTS[subject][0])
    told = json.loads(command_line.run(capsys, "example", subject, "--json"))
    assert told["files"] == list(SUBJECTS[subject][0])
    assert {"ana", "ben", "cem"} <= set(
        re.findall(r"\w+", command_line.run(capsys, *shlex.split(told["command"])[1:]).lower())
    )


@pytest.mark.parametrize(("subject", "page"), [("shifts", "shifts.md"), ("cluster", "cluster.md")])
def test_the_files_are_those_of_the_start_pages(subject, page, tmp_path, capsys):
    command_line.run(capsys, "example", subject, "--out", str(tmp_path))
    text = (ROOT / "docs" / "start" / page).read_text(encoding="utf-8")
    assert f"bygones example {subject}" in text
    shown = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    same = [name for name in SUBJECTS[subject][0] if name in shown]
    assert same
    for name in same:
        assert (tmp_path / name).read_text(encoding="utf-8") == shown[name]


def test_files_of_ones_own_are_not_replaced(tmp_path, capsys):
    (tmp_path / "shift.csv").write_text("mine")
    assert "this file exists already" in command_line.refused(capsys, "example", "shifts", "--out", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["shift.csv"]
