"""`docs/leaderboard.md` runs as it stands, and says what the shipped runs show."""

import re

import gymnasium as gym
import numpy as np
import pytest
from benchmarks.leaderboard_note import DOCUMENT, FULL, QUICK, WELFARE, rewritten

from bygones.envs import catalogue
from bygones.leaderboard import board, players
from bygones.leaderboard.entries import MEMORIES, SIZES
from bygones.leaderboard.rule_players import RULES
from bygones.leaderboard.standings import cells, remembering, verdicts
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


@pytest.fixture(scope="module")
def alone():
    return cells(board.read(WELFARE))


@pytest.mark.parametrize(
    ("folder", "size", "who"),
    [
        (QUICK, "quick", (*RULES, *LEARNERS)),
        (FULL, "full", (*RULES, *LEARNERS)),
        (WELFARE, "full", [f"{name}-welfare" for name in LEARNERS]),
    ],
)
def test_the_shipped_runs_are_small_and_complete(folder, size, who):
    worlds, horizon, chosen = SIZES[size].worlds or catalogue.names(), SIZES[size].horizon, SIZES[size]
    scenarios = [world if horizon is None else f"{world}(horizon={horizon})" for world in worlds]
    wanted = board.entries(scenarios, "nash", chosen.steps, chosen.seeds, tuple(MEMORIES), who)
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
    plant = {cell.name: cell for cell in full if cell.world == "plant"}
    assert pairs["plant"].rule.player == "everybody"
    assert plant["random"].mean / plant["everybody"].mean == pytest.approx(0.99, abs=0.005)
    assert plant["everybody"].gini == pytest.approx(0.122, abs=0.0005)
    assert plant["whoever-is-behind, window T/10"].gini == pytest.approx(0.016, abs=0.0005)
    assert all(
        plant[f"whoever-is-behind, {long}"].total < plant["everybody"].total / 2
        for long in ("perfect", "discounted T/2")
    )


@pytest.mark.parametrize("world", ["allocation", "replay", "matthew"])
def test_learners_hand_out_more_and_less_equally(full, world):
    (pair,) = (pair for pair in verdicts(full) if pair.world == world)
    assert pair.learner.total > pair.rule.total
    assert pair.learner.gini > pair.rule.gini

    def reward(cell):  # of an episode, with perfect recall
        horizon, n = catalogue.parse_scenario(world).horizon, catalogue.parse_scenario(world).n_agents
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
            long[catalogue.parse_scenario(world).horizon == 1000].append(share)
    assert (min(long[True]), max(long[True])) == pytest.approx((0.16, 0.93), abs=0.005)
    assert min(long[False]) > 0.825
    worst = [world for world in catalogue.names() if by_name["none"][world] == min(s[world] for s in by_name.values())]
    assert len(worst) == 7
    same = {
        world for world in rules[0].shares if min(each.shares[world] for each in rules if each.memory != "none") > 0.99
    }
    assert same == {"donut", "lending", "allocation", "replay", "vaccines"}


@pytest.mark.parametrize(("world", "before", "after"), [("donut", 0.20, 0.51), ("lending", 0.12, 0.44)])
def test_a_learner_that_remembers_nothing_gives_to_favourites_with_more_steps(full, world, before, after):
    found = [
        next(cell for cell in some if (cell.world, cell.name) == (world, "ppo, none"))
        for some in (cells(board.read(QUICK)), full)
    ]
    assert [cell.gini for cell in found] == pytest.approx([before, after], abs=0.005)
    assert found[1].total > found[0].total


def test_what_the_page_says_about_welfare_alone(full, alone):
    rules = [cell for cell in full if cell.is_rule]
    usual, pairs = ({pair.world: pair for pair in verdicts(some)} for some in (full, [*rules, *alone]))
    wins = {world for world, pair in usual.items() if pair.word == "learning wins"}
    assert {world for world, pair in pairs.items() if pair.word == "learning wins"} == wins
    assert all(pairs[world].gain < usual[world].gain for world in wins)
    for world in ("allocation", "replay", "plant"):
        assert usual[world].word == "a rule is enough"
        assert pairs[world].word == "no clear difference"
    for world in ("allocation", "replay"):
        before, after = usual[world].learner, pairs[world].learner
        assert after.total < before.total
        assert after.gini < before.gini
    shown = {world: (round(pair.learner.mean, 4), round(pair.rule.mean, 4)) for world, pair in pairs.items()}
    assert (shown["replay"], shown["allocation"]) == ((0.9211, 0.9209), (0.1781, 0.1781))
    assert (shown["matthew"][0], round(usual["matthew"].learner.mean, 4)) == (0.0945, 0.1092)
    assert (usual["allocation"].gain, usual["replay"].gain) == pytest.approx((-0.018, -0.13), abs=0.005)
    assert pairs["lending"].word == "a rule is enough"
    assert pairs["lending"].gain == pytest.approx(-0.0002, abs=5e-5)
    before, after = ({each.memory: each for each in remembering(some, rules=False)} for some in (full, alone))
    assert next(iter(after)) == "discounted T/10"
    assert (before["perfect"].least, after["perfect"].least) == pytest.approx((0.16, 0.66), abs=0.005)
    assert after["perfect"].shares["job_scheduling"] == pytest.approx(0.75, abs=0.005)
    assert (before["reset T/10"].mean, after["reset T/10"].mean) == pytest.approx((0.904, 0.845), abs=0.0005)


def test_the_parts_of_the_plant_run_out_before_the_episode_ends():
    envs = gym.make_vec("bygones/mo-Plant-v0", num_envs=10)
    plant = catalogue.parse_scenario("plant")
    seen, _ = envs.reset(seed=0)
    for _ in range(plant.horizon - 1):
        seen, *_ = envs.step(np.full(10, plant.n_actions - 1))
    assert (seen[:, len(plant.seen_bounds[0]) - 1] == 0).all()


def test_the_table_of_ggf_ppo_is_of_the_shipped_runs():
    text = DOCUMENT.read_text(encoding="utf-8").partition("## Is it the learner?")[2].partition("\n## ")[0]
    stated = {name: row for name, *row in re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|", text, re.M)}
    shipped = {folder: board.read(FULL.parent / folder) for folder in ("full", "welfare", "ggf")}
    assert len(shipped["ggf"]) == 220
    scores: dict[str, dict[str, dict[tuple[str, ...], list[float]]]] = {}
    for results in shipped.values():
        for entry, score in results.items():
            kind = "rule" if entry.player in RULES else "ggf" if entry.player == "ggf-ppo" else "ppo"
            for way, value in (("sampled", score.score), ("greedy", score.score_most_probable)):
                cell = scores.setdefault(entry.world, {}).setdefault(kind, {})
                if value is not None:
                    cell.setdefault((entry.memory, entry.player, way), []).append(value)
    assert set(stated) == set(scores)
    for world, kinds in scores.items():
        best = {kind: max((sum(v) / len(v), name[0]) for name, v in cells.items()) for kind, cells in kinds.items()}
        assert stated[world] == [*(f"{best[kind][0]:.4f}" for kind in ("rule", "ppo", "ggf")), best["ggf"][1]]
    attention = [score.score for entry, score in shipped["ggf"].items() if entry.world == "attention"]
    assert (f"{min(attention):.2f}", f"{max(attention):.2f}") == ("0.41", "0.88")
