"""The map is resumed, kept with its provenance, and judged by scores that mean the same everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bygones.leaderboard import board, entries, matches
from bygones.leaderboard.entries import BoardEntry
from bygones.leaderboard.matches import Score, bound, play
from bygones.learn import learners
from bygones.paper import parquet

SHORT = BoardEntry("donut(horizon=10)", "nash", "perfect", "max-min", 0, 0)
SCORE = Score(0.1, None, 0.2, 0.05, 0.9, 0.2, 1.0)


def test_entries_are_of_players_that_apply_and_memories_that_matter() -> None:
    found = board.entries(
        ["donut(horizon=10)", "lending(horizon=10)"], "nash", 5000, 2, ["perfect", "none"], ["random", "prices", "ppo"]
    )
    assert {(each.world, each.player, each.memory, each.steps) for each in found} == {
        ("donut", "random", "none", 0), ("lending", "random", "none", 0),
        ("donut", "prices", "perfect", 0), ("donut", "prices", "none", 0),
        ("donut", "ppo", "perfect", 5000), ("donut", "ppo", "none", 5000),
        ("lending", "ppo", "perfect", 5000), ("lending", "ppo", "none", 5000),
    }  # fmt: skip
    assert {each.seed for each in found} == {0, 1}
    assert board.left_out(["lending"], "nash", ["random", "prices"]) == [
        {"scenario": "lending", "player": "prices", "reason": "an action does not serve agents"}
    ]


def test_entries_of_a_rule_that_takes_turns_are_of_all_its_lengths() -> None:
    found = board.entries(["job_scheduling(horizon=12)"], "nash", 5000, 1, ["perfect"], ["slices", "slices(length=9)"])
    assert [each.player for each in found] == [
        "slices(length=4)", "slices(length=2)", "slices(length=1)", "slices(length=9)",
    ]  # fmt: skip
    assert {(each.memory, each.steps) for each in found} == {("none", 0)}


def test_sizes_scale_scenarios_that_have_no_parameters() -> None:
    quick = entries.SIZES["quick"]
    assert entries.scenarios(quick, ["replay", "queues(n_servers=2)"]) == ["replay(horizon=98)", "queues(n_servers=2)"]
    assert "matthew" in entries.scenarios(entries.SIZES["full"])
    assert quick.seeds >= 5


def test_only_what_is_missing_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[BoardEntry]] = []

    def fake(some, workers=None):
        asked.append(list(some))
        yield from ((each, SCORE._replace(score=each.seed + 0.5)) for each in some)

    monkeypatch.setattr(board, "played", fake)
    wanted, told = [SHORT._replace(seed=seed) for seed in range(3)], []
    first = board.fill(tmp_path, wanted[:2], told.append, command="again")
    again = board.fill(tmp_path, wanted, told.append)
    assert asked == [wanted[:2], wanted[2:]]
    assert told == wanted
    assert again == {**first, wanted[2]: SCORE._replace(score=2.5)} == board.read(tmp_path)
    (kept,) = tmp_path.glob("*.parquet")
    rows = parquet.unpacked(kept).to_pylist()
    source = json.loads(rows[0]["provenance"])
    assert (source["command"], rows[0]["version"] != "", "numpy" in source["software"]) == ("again", True, True)


def test_what_was_played_before_an_interruption_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(some, workers=None):
        yield some[0], SCORE
        raise KeyboardInterrupt

    monkeypatch.setattr(board, "played", stopped)
    with pytest.raises(KeyboardInterrupt):
        board.fill(tmp_path, [SHORT, SHORT._replace(seed=1)])
    assert board.read(tmp_path) == {SHORT: SCORE}


def test_files_of_format_1_are_read_and_extended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SHORT._replace(player="ppo", steps=2048)
    kept = SCORE._replace(score_most_probable=0.12)
    row = {**entry._asdict(), **kept._asdict(), "version": "0.2.0", "date": "2026-11-15", "provenance": "{}"}
    first = pa.schema([field for field in board.SCHEMA if field.name not in board.ADDED])
    table = pa.Table.from_pylist([{name: row[name] for name in first.names}], schema=first)
    (tmp_path / "donut.parquet").write_bytes(parquet.packed(table))
    assert board.read(tmp_path) == {entry: kept}
    new = SCORE._replace(score_most_probable=0.1, gini_most_probable=0.3)
    monkeypatch.setattr(board, "played", lambda some, workers=None: ((each, new) for each in some))
    later = entry._replace(seed=1)
    board.fill(tmp_path, [entry, later])
    assert board.read(tmp_path) == {entry: kept, later: new}


def test_other_files_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="is not a file of the leaderboard: it has no column 'scenario'"):
        board.read(tmp_path)


def test_a_score_is_what_everybody_would_have_to_receive() -> None:
    """Under Nash welfare the geometric mean, of totals per step; the bound is in the same unit."""
    score, again = play(SHORT), play(SHORT)
    assert score._replace(seconds=0) == again._replace(seconds=0)
    # Ten donuts for five people, in turn: two each, unless somebody is missing.
    assert 0.18 < score.score <= 0.2
    assert score.bound == pytest.approx(0.2, abs=1e-3)
    assert play(SHORT._replace(welfare="egalitarian")).score == pytest.approx(score.worst_off, abs=0.02)
    assert play(SHORT._replace(welfare="utilitarian")).score == pytest.approx(score.total / 5, abs=0.02)


def test_seeds_are_other_worlds_and_players_meet_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[float] = []
    evaluate = matches.evaluate

    def spied(policy, problem, **given):
        def predict(observation, **state):
            met.append(float(observation[:, :5].sum()))
            return policy(observation, **state)

        return evaluate(predict, problem, **given)

    monkeypatch.setattr(matches, "evaluate", spied)
    for player, seed in (("max-min", 0), ("random", 0), ("max-min", 1)):
        play(SHORT._replace(player=player, memory="none" if player == "random" else "perfect", seed=seed))
    first, second, third = np.array(met).reshape(3, -1)
    np.testing.assert_array_equal(first, second)
    assert (first != third).any()


@pytest.mark.parametrize(
    ("player", "policy", "weight"),
    [("ppo", "mlp", 0.9), ("ppo-welfare", "mlp", 1.0), ("ppo-symmetric-welfare", "symmetric", 1.0)],
)
def test_a_learner_for_welfare_has_nothing_else_in_its_reward(
    player: str, policy: str, weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SeenError(Exception):
        pass

    def seen(runs):
        raise SeenError(*runs)

    monkeypatch.setattr(matches, "train_batch", seen)
    with pytest.raises(SeenError) as caught:
        play(SHORT._replace(player=player, steps=5000))
    (run,) = caught.value.args
    assert (run.settings.learner, run.settings.policy, run.problem.weight) == ("ppo", policy, weight)


def test_where_no_bound_is_known_there_is_none() -> None:
    assert bound(BoardEntry("attention", "nash", "none", "random", 0, 0)) is None


@pytest.mark.soak
def test_the_bound_of_the_papers_problem_is_its_certified_optimum() -> None:
    assert 0.17 < bound(BoardEntry("allocation(horizon=100)", "egalitarian", "perfect", "prices", 0, 0)) < 0.19


@pytest.mark.soak
def test_entries_are_played_in_processes_of_their_own() -> None:
    wanted = [SHORT, SHORT._replace(seed=1), SHORT._replace(scenario="lending(horizon=10)", player="one-step")]
    found = dict(matches.played(wanted, workers=2))
    assert {entry: score._replace(seconds=0) for entry, score in found.items()} == {
        entry: play(entry)._replace(seconds=0) for entry in wanted
    }


@pytest.mark.soak
@pytest.mark.parametrize("learner", learners.names())
def test_every_learner_is_trained_and_evaluated(learner: str) -> None:
    score = play(SHORT._replace(player=learner, steps=2048))
    assert score.score_most_probable is not None
    assert None not in (score.gini_most_probable, score.worst_off_most_probable, score.total_most_probable)
    assert 0 < score.score < 0.21


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((["yesterday"], 5, 100), "memory must be one of capped, relative, discounted"),
        ((["none"], 0, 100), "seeds must be"),
        ((["none"], 5, 0), "steps must be"),
    ],
)
def test_a_map_that_cannot_be_drawn_is_refused(given, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        entries.check_entries(*given)
