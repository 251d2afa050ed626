"""`docs/leaderboard.md` runs as it stands, and says what the shipped runs show."""

import gymnasium as gym
import numpy as np
import pytest

from bygones.envs import catalogue
from bygones.leaderboard import board, players
from bygones.leaderboard.entries import MEMORIES, SIZES
from bygones.leaderboard.rule_players import RULES
from bygones.leaderboard.standings import cells, remembering, verdicts
from bygones.report.leaderboard.leaderboard_note import DOCUMENT, FULL, QUICK, rewritten
from support.walkthrough import walk_through

LEARNERS = ("ppo", "ppo-symmetric")


@pytest.fixture(scope="module")
def full():
    return cells(board.read(FULL))


def test_the_page_runs(tmp_path):
    walk_through(DOCUMENT, tmp_path)


def test_the_page_says_what_the_runs_show():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == rewritten(text)


@pytest.mark.parametrize(("folder", "size"), [(QUICK, "quick"), (FULL, "full")])
def test_the_shipped_runs_are_small_and_complete(folder, size):
    worlds, horizon, chosen = SIZES[size].worlds or catalogue.names(), SIZES[size].horizon, SIZES[size]
    scenarios = [world if horizon is None else f"{world}(horizon={horizon})" for world in worlds]
    wanted = board.entries(scenarios, "nash", chosen.steps, chosen.seeds, tuple(MEMORIES), (*RULES, *LEARNERS))
    assert set(board.read(folder)) == set(wanted)
    assert sum(path.stat().st_size for path in folder.glob("*.parquet")) < 300_000


def test_the_full_runs_have_all_scenarios_seeds_and_memories():
    results = board.read(FULL)
    assert len({entry.world for entry in results}) == 11
    assert {entry.seed for entry in results} == set(range(10))
    assert {entry.steps for entry in results} == {0, 1_000_000}
    for world in catalogue.names():
        assert {e.memory for e in results if e.world == world and e.player == "ppo"} == set(MEMORIES)
    for entry, score in results.items():
        known = [value for value in score if value is not None]
        assert np.isfinite(known).all()
        assert (score.score_most_probable is None) == (entry.player in RULES)


def test_no_player_exceeds_a_bound_on_average(full):
    for cell in full:
        assert cell.share is None or cell.share < 1 + 1e-6


def test_the_page_names_the_learners_that_were_not_run():
    before = DOCUMENT.read_text(encoding="utf-8").partition("<!-- from the full runs -->")[0]
    idle = {name.removesuffix("-symmetric") for name in players.names() if name not in RULES} - {"ppo"}
    assert all(f"`{name}`" in before for name in idle)


def test_what_the_page_says_about_learning(full):
    pairs = {pair.world: pair for pair in verdicts(full)}
    wins = {world for world, pair in pairs.items() if pair.word == "learning wins"}
    assert wins == {"attention", "job_scheduling", "queues"}
    rule, learner = pairs["job_scheduling"]
    assert (rule.total, learner.total) == pytest.approx((0.80, 0.96), abs=0.005)
    rule, learner = pairs["queues"]
    assert learner.total == pytest.approx(rule.total, abs=0.001)
    assert learner.gini < rule.gini
    by_name = {(cell.world, cell.name): cell for cell in full}
    looking_back = [by_name["queues", f"{name}, perfect"].total for name in ("prices", "one-step")]
    assert looking_back == pytest.approx([2.7, 2.7], abs=0.05)
    scores = pairs["attention"].learner.scores
    assert (scores.min(), scores.max()) == pytest.approx((0.34, 0.86), abs=0.005)
    assert all(pairs[world].rule.share > 0.9995 for world in ("donut", "lending", "arrivals"))
    assert all(pairs[world].learner.share > 0.9935 for world in ("donut", "lending", "arrivals"))
    assert -0.0001 < pairs["donut"].gain < 0
    assert by_name["vaccines", "random"].mean / pairs["vaccines"].rule.mean == pytest.approx(0.995, abs=0.0005)
    assert by_name["replay", "largest-need"].worst_off == pytest.approx(0, abs=1e-6)
    assert pairs["plant"].rule.player == "random"


@pytest.mark.parametrize("world", ["paper", "replay", "matthew"])
def test_learners_hand_out_more_and_less_equally(full, world):
    (pair,) = (pair for pair in verdicts(full) if pair.world == world)
    assert pair.learner.total > pair.rule.total
    assert pair.learner.gini > pair.rule.gini

    def reward(cell):  # of an episode, with perfect recall
        horizon, n = catalogue.named(world).horizon, catalogue.named(world).n_agents
        return 0.1 * cell.total * horizon + 0.9 * n * np.log(cell.mean * horizon)

    complete = [cell for cell in full if cell.world == world and cell.memory == "perfect"]
    rule = max((cell for cell in complete if cell.is_rule), key=reward)
    learner = max((cell for cell in complete if not cell.is_rule), key=reward)
    assert reward(learner) > reward(rule) * 1.01
    assert learner.mean < rule.mean


def test_what_the_page_says_about_memories(full):
    rules, learners = (remembering(full, is_rule) for is_rule in (True, False))
    assert learners[0].memory == "discounted T/50"
    assert learners[0].least == pytest.approx(0.86, abs=0.005)
    assert rules[0].memory == "window T/10"
    assert remembering([cell for cell in full if cell.world != "plant"], rules=True)[0].memory == "window T/10"
    by_name = {each.memory: each.shares for each in learners}
    long = {True: [], False: []}
    for memory in ("perfect", "discounted T/2"):
        for world, share in by_name[memory].items():
            long[catalogue.named(world).horizon == 1000].append(share)
    assert (min(long[True]), max(long[True])) == pytest.approx((0.16, 0.93), abs=0.005)
    assert min(long[False]) > 0.825
    worst = [world for world in catalogue.names() if by_name["none"][world] == min(s[world] for s in by_name.values())]
    assert len(worst) == 7
    same = {
        world for world in rules[0].shares if min(each.shares[world] for each in rules if each.memory != "none") > 0.99
    }
    assert same == {"donut", "lending", "paper", "replay", "vaccines"}


@pytest.mark.parametrize(("world", "before", "after"), [("donut", 0.20, 0.51), ("lending", 0.12, 0.44)])
def test_a_learner_that_remembers_nothing_gives_to_favourites_with_more_steps(full, world, before, after):
    found = [
        next(cell for cell in some if (cell.world, cell.name) == (world, "ppo, none"))
        for some in (cells(board.read(QUICK)), full)
    ]
    assert [cell.gini for cell in found] == pytest.approx([before, after], abs=0.005)
    assert found[1].total > found[0].total


def test_agents_of_the_plant_get_stuck_while_there_are_parts():
    plant = catalogue.named("plant")
    n_agents, supply = plant.n_agents, len(plant.seen_bounds[0]) - 1
    for everybody in (True, False):
        envs = gym.make_vec("bygones/mo-Plant-v0", num_envs=10)
        rng = np.random.default_rng(0)
        seen, _ = envs.reset(seed=0)
        moves = []
        for _ in range(999):
            before = seen[:, : 2 * n_agents]
            seen, *_ = envs.step(np.full(10, 2**n_agents - 1) if everybody else rng.integers(2**n_agents, size=10))
            moves.append((seen[:, : 2 * n_agents] != before).any(axis=1))
        assert not np.any(moves[-100:])
        assert np.mean(seen[:, supply] > 0) >= 0.75
