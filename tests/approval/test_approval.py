"""What `make approve` compares: recordings are read as they were written, and what differs is said once."""

import subprocess
import sys

import pytest

from approval import recordings, scenes
from approval.recordings import Entry, differences, entry, grouped, report
from approval.stage import REPOSITORY, Output

PLAY = """
import sys, tempfile
from pathlib import Path
from approval.stage import Stage, set_up
set_up()
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "equal.csv").write_text("agent\\nAna\\nBen\\nCem\\n")
    stage = Stage(Path(folder), "2026-03-16T09:00")
    stage.run(["ledger", "new", "team.db", "--began", "2026-03-01"])
    stage.run(["ledger", "join", "team.db", "Ana", "Ben", "Cem", "--at", "2026-03-01"])
    sys.stdout.write(stage.rehearse(["ledger", "decide", "team.db", "equal.csv", "--yes", "--json"]).out)
    sys.stdout.write(stage.run(["ledger", "export", "team.db"]).out)
"""


def test_no_scene_brings_bygones_along_before_the_stage_is_set():
    code = "import sys; from approval import scenes; scenes.scenes(); sys.exit('bygones' in sys.modules)"
    environment = {"PYTHONPATH": ":".join([str(REPOSITORY / "src"), str(REPOSITORY / "tests")])}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_an_output_is_told_line_by_line_without_hashes_and_control_characters():
    output = Output(2, "a\x1bb\n\nhead " + "0af" * 21 + "1\n", "no\n", (("new.csv", "x,0.1234567890123456\n"),))
    told = entry("$ bygones x\ny", output)
    assert told.command == r"$ bygones x\ny"
    assert told.lines == (
        r"| a\x1bb", "|", "| head <sha256>", "! no", "exit 2", "file new.csv", "> x,0.1234567890123456",
    )  # fmt: skip
    assert "| head " + "0af" * 21 + "1" in entry("$ x", output, hashes=True).lines


def test_a_recording_is_read_as_it_was_written(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "FOLDER", tmp_path)
    told = [Entry("$ a", ("| 1", "|", "| 2")), Entry("$ b", ()), Entry("$ a", ("exit 1",))]
    recordings.write("some/scene", told)
    assert recordings.read("some/scene") == told
    assert recordings.read("other") == []


def test_what_differs_is_found_command_by_command():
    before = [Entry("$ bygones a", ("| 1", "| 2")), Entry("$ bygones a", ("| 3",)), Entry("$ bygones gone", ())]
    now = [Entry("$ bygones a", ("| 1", "| 2")), Entry("$ bygones a", ("| 4",)), Entry("$ bygones new", ("| 5",))]
    assert list(differences(before, before)) == []
    assert list(differences(before, now)) == [
        ("$ bygones a", ("- | 3", "+ | 4")),
        ("$ bygones gone", ("- (the command is no longer run)",)),
        ("$ bygones new", ("+ (a new command)", "+ | 5")),
    ]


def test_what_differs_alike_is_said_once_for_each_kind_of_command():
    lines = ("- | place", "+ | seat")
    found = [(f"scene {i}", f"$ bygones ledger decide {i}.db", lines) for i in range(5)]
    told = list(report(grouped([*found, ("other", "$ bygones decay --gamma 1", lines)])))
    assert [line for line in told if line.startswith("==")] == [
        "== decay: 1 output differs", "== ledger decide: 5 outputs differ",
    ]  # fmt: skip
    assert told.count("    - | place") == 2
    assert "and 2 more" in told


def test_every_scene_is_recorded_and_every_recording_has_a_scene():
    kept = {str(path.relative_to(recordings.FOLDER).with_suffix("")) for path in recordings.FOLDER.rglob("*.txt")}
    assert kept == set(scenes.scenes())


@pytest.mark.skipif(sys.platform == "win32", reason="the recorder needs POSIX")
def test_on_the_stage_a_draw_is_the_same_every_time_and_rehearsals_leave_no_trace():
    command = [sys.executable, "-c", PLAY]
    environment = {"PYTHONPATH": ":".join([str(REPOSITORY / "src"), str(REPOSITORY / "tests")])}
    first, second = (subprocess.run(command, check=True, capture_output=True, env=environment).stdout for _ in "ab")
    assert first == second
    assert b'"recorded": true' in first
    assert b"2026-03-16T09:00:01Z" in first
    assert b"decision" not in first[first.index(b"seq,") :]
