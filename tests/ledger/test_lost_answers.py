"""A connection that is cut while the database commits: nobody knows the outcome, and the same key finds it out."""

import subprocess
import sys

import pytest

from bygones.allocation import ChooseK
from bygones.ledger import Ledger
from support.proxy import ANSWER, REQUEST, cutting

COMMANDS = {
    "record": ["ana", "3"],
    "decide": ["needs.csv", "--yes"],
    "import": ["past.csv"],
    "redecide": ["--from", "2026-01-01", "--accept"],
}


@pytest.fixture
def team(new_database, tmp_path):
    """The URL of a ledger with a decision that would now be another, and the tables of the commands."""
    (tmp_path / "needs.csv").write_text("agent,need\nana,1\nben,1\n", encoding="utf-8")
    (tmp_path / "past.csv").write_text("agent,time,amount\nana,2026-01-05,2\nben,2026-01-06,3\n", encoding="utf-8")
    url = new_database()
    with Ledger.new(url, began="2026-01-01") as ledger:
        ledger.join_all(["ana", "ben"], at="2026-01-01")
        ledger.record("ana", 1, at="2026-01-02")
        ledger.decide(ChooseK({"ana": 1, "ben": 1}), at="2026-01-03")
        ledger.record("ben", 50, at="2026-01-02")
    return url


@pytest.mark.soak
@pytest.mark.parametrize("cut", [ANSWER, REQUEST])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_commit_that_is_cut_off_has_an_unknown_outcome_and_is_done_once_with_its_key(team, tmp_path, command, cut):
    with cutting(team, cut) as proxy:
        arguments = ["ledger", command, proxy.url, *COMMANDS[command], "--key", "k"]

        def run():
            words = [sys.executable, "-m", "bygones", *arguments]
            return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

        with Ledger.open(team) as ledger:
            before = ledger.n_events()
        first = run()
        assert (first.returncode, proxy.cuts) == (4, 1), first.stderr
        assert "it is not certain whether this was recorded: check, or repeat it with the same key" in first.stderr
        with Ledger.open(team) as ledger:
            kept = ledger.n_events()
        assert (kept > before) is (cut == ANSWER)
        proxy.cut = None
        for _ in range(2):
            assert run().returncode == 0
    with Ledger.open(team) as ledger:
        recorded = ledger.with_key("k")
        assert recorded
        assert ledger.n_events() == before + len(recorded)
        assert cut == REQUEST or ledger.n_events() == kept
        assert ledger.verify().problems == ()
