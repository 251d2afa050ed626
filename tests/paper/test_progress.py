import itertools
import re
from types import SimpleNamespace

import pytest

from bygones.paper import progress
from bygones.paper.grid import grid
from bygones.paper.progress import Tracker, described, duration, now_and_then, watched

RUNS = grid("quick", horizon=(100,)).runs()


@pytest.fixture(autouse=True)
def a_clock_for_tests(monkeypatch):
    """A millisecond passes between two looks at it."""
    ticks = itertools.count()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 1000))


def test_progress_speaks():
    tracker = Tracker(RUNS, 2, lambda progress: None)
    assert str(tracker.now()) == "2/12 runs, 0.0 of 10.0 million steps, starting"
    tracker.heard(0, 250_000, 0.5)
    tracker.heard(1, 2_000_000, float("nan"))
    now = tracker.now()
    assert now.steps_done == 1_250_000
    assert now.running == (described(RUNS[0]), described(RUNS[1]))
    assert now.gini == {"myopic": 0.5}
    assert now.seconds_left > 0
    assert "left; Gini: myopic 0.50" in str(now)


@pytest.mark.parametrize(("seconds", "text"), [(45, "45 s"), (600, "10 min"), (3 * 3600, "3.0 h")])
def test_durations_in_words(seconds, text):
    assert duration(seconds) == text


def test_lines_come_now_and_then():
    lines = []
    often, rarely = (now_and_then(lines.append, seconds) for seconds in (0.0, 3600.0))
    for tell in (often, often, rarely, rarely):
        tell(Tracker(RUNS, 0, lambda progress: None).now())
    assert len(lines) == 3


def far_enough(tell):
    tracker = Tracker(RUNS, 2, tell)
    for steps in (100_000, 250_000):
        tracker.heard(0, steps, 0.5)
    tell(tracker.now())


def test_a_file_gets_plain_lines(capsys):
    with watched() as tell:
        far_enough(tell)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("2/12 runs, 0.2 of 10.0 million steps")
    assert "\x1b" not in line


def test_a_terminal_sees_the_runs_and_the_ginis(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with watched() as tell:
        far_enough(tell)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    for part in ("2 of 12 runs", "steps per second", "now: egalitarian additive, myopic, T = 100, seed 0", "0.50"):
        assert part in shown
