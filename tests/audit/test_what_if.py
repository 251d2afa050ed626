"""A history under other half-lives and rules: who would have been served, and which jobs would have started earlier."""

import json

import numpy as np
import pyarrow as pa
import pytest

from bygones.audit import audit, read_history, replay_queue, what_if
from bygones.cli import program


def asked(*rows):
    agents, times, needs, served = zip(*rows, strict=True)
    table = pa.table({"agent": agents, "time": times, "need": needs, "served": served})
    return read_history(table, needs="need", served="served")


def test_one_step_serves_whoever_has_had_least():
    rows = [(name, day, 4.0, name == "ana") for day in range(6) for name in ("ana", "ben")]
    found = what_if(asked(*rows), ["inf", "2"], ["one-step"])
    assert found.decisions == 6
    assert [(course.memory.name, course.rule) for course in found.courses] == [
        ("2", "actual"), ("2", "one-step"), ("inf", "actual"), ("inf", "one-step"),
    ]  # fmt: skip
    actual, fair = found.courses[2:]
    assert actual.received.tolist() == [24, 0]
    assert fair.received.tolist() == [12, 12]
    assert (actual.gini, fair.gini) == ((0.5, 0.5), (0, 0))
    assert fair.differ == (3, 3)
    # In which order they take turns is a tie, and is said to be one.
    assert not any(change.certain for change in fair.changes)
    assert all(change.served == ("ben",) and change.instead_of == ("ana",) for change in fair.changes)


def test_the_replay_agrees_with_that_of_the_audit():
    rng = np.random.default_rng(2)
    rows = [
        (n, d, float(rng.integers(1, 50)) + rng.random(), n == "ana") for d in range(20) for n in ("ana", "ben", "cem")
    ]
    (replay,) = audit(asked(*rows), ["5"]).replays
    fair = what_if(asked(*rows), ["5"]).courses[1]
    np.testing.assert_allclose(fair.received, replay.instead.received)
    assert fair.differ == (replay.differ, replay.differ)
    assert fair.gini.low == pytest.approx(replay.instead.gini)


def test_prices_wait_for_a_need_that_is_worth_it():
    rng = np.random.default_rng(4)
    rows = []
    for day in range(60):
        needs = rng.integers(1, 10, 4).astype(float)
        rows += [(name, day, need, need == needs.max()) for name, need in zip("abcd", needs, strict=True)]
    rows = [
        (name, day, need, served and name == next(n for n, t, _, s in rows if t == day and s))
        for name, day, need, served in rows
    ]
    found = what_if(asked(*rows), ["20"], ["prices", "one-step"], draws=3)
    actual, prices, one_step = found.courses
    assert actual.total.low > prices.total.low > one_step.total.low
    assert actual.gini.low > prices.gini.high
    (text, _) = found.sentences()
    assert text.startswith("With a half-life of 20 and the rule prices, ")
    assert "instead of" in text


def test_entitlements_count():
    rows = [(name, day, 4.0, name == "ana") for day in range(9) for name in ("ana", "ben")]
    fair = what_if(asked(*rows), ["inf"], entitlements={"ana": 2.0, "ben": 1.0}).courses[1]
    assert fair.received.tolist() == [24, 12]


@pytest.fixture
def jobs(tmp_path):
    """Ben used the cluster days ago, ana just now; both have jobs pending when two openings come."""
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|User|Submit|Start|End|Elapsed|AllocCPUS\n"
        "1|ben|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-02T00:00:00|1-00:00:00|20\n"
        "2|ana|2026-01-09T00:00:00|2026-01-09T00:00:00|2026-01-09T12:00:00|12:00:00|10\n"
        "3|ana|2026-01-09T13:00:00|2026-01-09T14:00:00|2026-01-09T15:00:00|01:00:00|1\n"
        "4|ben|2026-01-09T13:00:00|2026-01-09T16:00:00|2026-01-09T17:00:00|01:00:00|1\n"
    )
    return path


def test_jobs_that_would_have_started_earlier(jobs):
    found = replay_queue(read_history(jobs), ["1d", "inf"])
    # If nothing fades ben has used more, so ana goes first, as it was; at 1d his usage has faded.
    assert found.n_earlier == {86_400e6: (1, 1)}
    (moved,) = found.earlier[86_400e6]
    assert (moved.job, moved.agent, moved.certain) == ("4", "ben", True)
    assert moved.before - moved.after == 2 * 3600e6
    assert (found.waits["1d"] / 3600e6).tolist() == [1.5, 0.5]
    assert (found.waits["actual"] / 3600e6).tolist() == [0.5, 1.5]
    assert found.sentences() == [
        "At 1d instead of inf, 1 of 4 jobs would have started earlier; the largest gain: 4 of ben by 2h."
    ]


def test_the_command(jobs, tmp_path, capsys):
    program.main(["what-if", str(jobs), "--half-life", "1d,inf"])
    out = capsys.readouterr().out
    assert "At 1d instead of inf, these would have started earlier:\n- 4 of ben: 2026-01-09 14:00 instead of" in out
    program.main(["what-if", str(jobs), "--half-life", "1d,inf", "--json"])
    assert json.loads(capsys.readouterr().out)["earlier"]["1d"]["jobs"] == [1, 1]
    path = tmp_path / "asked.csv"
    rows = [f"{name},2026-01-0{day},{2 + day},{name == 'ana'}" for day in range(1, 9) for name in ("ana", "ben")]
    path.write_text("\n".join(["agent,time,need,served", *rows]))
    program.main(["what-if", str(path), "--half-life", "3d,7d", "--rule", "prices,one-step"])
    out = capsys.readouterr().out
    assert "8 decisions about 2 agents, replayed 10 times each." in out
    assert "ben instead of ana" in out
    program.main(["what-if", str(path), "--half-life", "3d", "--json"])
    courses = json.loads(capsys.readouterr().out)["courses"]
    assert [course["rule"] for course in courses] == ["actual", "one-step"]


def test_what_cannot_be_replayed_is_refused(jobs, tmp_path):
    plain = read_history(pa.table({"agent": ["a"], "time": [0], "utility": [1.0]}))
    with pytest.raises(ValueError, match="what_if needs to know who asked"):
        what_if(plain, ["inf"])
    with pytest.raises(ValueError, match="does not say when jobs were submitted"):
        replay_queue(plain, ["1", "2"])
    with pytest.raises(ValueError, match="half_lives must be at least two"):
        replay_queue(read_history(jobs), ["1d"])
    with pytest.raises(ValueError, match="rule must be one of"):
        what_if(asked(("a", 0, 1.0, True)), ["inf"], ["best"])
    with pytest.raises(ValueError, match="nobody was served"):
        what_if(asked(("a", 0, 1.0, False)), ["inf"])
