"""`docs/leaderboard.md` runs as it stands, and says what the shipped runs show."""

import gymnasium as gym
import numpy as np
import pytest
from benchmarks.checksums import EVIDENCE
from benchmarks.leaderboard_note import DOCUMENT, FULL, GGF, LEARNED, QUICK, WELFARE, rewritten, together

from bygones.envs import catalogue
from bygones.leaderboard import board, players
from bygones.leaderboard.entries import MEMORIES, SIZES
from bygones.leaderboard.standings import cells, headline, remembering, verdicts
from bygones.scenario_policies.rule_players import RULES, rule_of
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


@pytest.fixture(scope="module")
def every():
    """The cells of all shipped learners and rules."""
    return cells(together(LEARNED))


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
        assert (score.score_most_probable is None) == (rule_of(entry.player) is not None)


def test_no_player_exceeds_a_bound_on_average(full):
    for cell in full:
        assert cell.share is None or cell.share < 1 + 1e-6


def test_the_page_names_the_learners_that_were_not_run():
    before = DOCUMENT.read_text(encoding="utf-8").partition("<!-- from the full runs -->")[0]
    idle = {name.removesuffix("-symmetric") for name in players.names() if name not in RULES} - {"ppo"}
    assert all(f"`{name}`" in before for name in idle)


def test_the_change_log_has_the_headline_of_the_page(every):
    changes = " ".join((EVIDENCE.parent / "CHANGELOG.md").read_text(encoding="utf-8").split())
    first, _, _ = headline(every).partition(".")
    assert f"{first}, where earlier versions reported three" in changes


def test_what_the_page_says_about_learning(every):
    pairs = {pair.world: pair for pair in verdicts(every)}
    assert all(pair.difference.low <= 0 for pair in pairs.values())
    by_name = {(cell.world, cell.name): cell for cell in every}
    totals = [
        by_name["job_scheduling", name].total
        for name in ("whoever-is-behind, window T/10", "ppo, window T/10", "slices(length=334)")
    ]
    assert totals == pytest.approx([0.80, 0.96, 0.99], abs=0.005)
    queues = pairs["queues"]
    assert (queues.rule.player, queues.word) == ("largest-need-fair-ties", "no clear difference")
    assert queues.learner.mean == pytest.approx(queues.rule.mean, abs=0.0002)
    attention = {name: cell for (world, name), cell in by_name.items() if world == "attention"}
    reached = {f"slices(length={length})": score for length, score in ((13, 0.66), (25, 0.85), (50, 0.48))}
    reached |= {"lookahead(length=25)": 1.11}
    assert {name: attention[name].mean for name in reached} == pytest.approx(reached, abs=0.005)
    learners = [cell.mean for cell in attention.values() if not cell.is_rule]
    assert max(learners) == pytest.approx(0.62, abs=0.005)
    scores = attention["ppo, discounted T/10"].scores
    assert (scores.min(), scores.max()) == pytest.approx((0.34, 0.86), abs=0.005)
    without = {pair.world: pair for pair in verdicts([cell for cell in every if cell.family != "lookahead"])}
    assert (without["attention"].rule.player, without["attention"].word) == ("slices(length=25)", "no clear difference")
    assert pairs["attention"].word == "a rule is enough"
    for world in ("donut", "lending", "arrivals"):
        assert pairs[world].rule.share > 0.9995
        assert pairs[world].learner.share > 0.996
    assert by_name["vaccines", "random"].mean / pairs["vaccines"].rule.mean == pytest.approx(0.995, abs=0.0005)
    matthew = pairs["matthew"]
    assert matthew.learner.total > matthew.rule.total
    assert matthew.learner.gini > matthew.rule.gini
    plant = {cell.name: cell for cell in every if cell.world == "plant"}
    assert pairs["plant"].rule.player == "everybody"
    assert plant["random"].mean / plant["everybody"].mean == pytest.approx(0.99, abs=0.005)
    assert plant["everybody"].gini == pytest.approx(0.122, abs=0.0005)
    assert plant["whoever-is-behind, window T/10"].gini == pytest.approx(0.016, abs=0.0005)
    assert all(
        plant[f"whoever-is-behind, {long}"].total < plant["everybody"].total / 2
        for long in ("perfect", "discounted T/2")
    )
    most = [max(sum(c.is_rule is wanted and c.world == w for c in every) for w in pairs) for wanted in (False, True)]
    assert most == [30, 43]


@pytest.mark.parametrize("world", ["allocation", "replay", "matthew"])
def test_learners_hand_out_more_and_less_equally(full, world):
    (pair,) = (pair for pair in verdicts(full) if pair.world == world)
    assert pair.learner.total > pair.rule.total
    assert pair.learner.gini > pair.rule.gini
    assert pair.learner.mean < pair.rule.mean


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
    assert same == {"donut", "lending", "queues", "allocation", "replay", "vaccines"}


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
    assert {pair.word for pair in [*usual.values(), *pairs.values()]} == {"a rule is enough", "no clear difference"}
    for world in ("allocation", "replay"):
        assert usual[world].word == "a rule is enough"
        assert pairs[world].word == "no clear difference"
        before, after = usual[world].learner, pairs[world].learner
        assert after.total < before.total
        assert after.gini < before.gini
    shown = {world: (round(pair.learner.mean, 4), round(pair.rule.mean, 4)) for world, pair in pairs.items()}
    assert (shown["replay"], shown["allocation"]) == ((0.9212, 0.9207), (0.1781, 0.1781))
    assert (shown["matthew"][0], round(usual["matthew"].learner.mean, 4)) == (0.0864, 0.1066)
    assert pairs["job_scheduling"].learner.mean < usual["job_scheduling"].learner.mean
    assert (usual["allocation"].gain, usual["replay"].gain) == pytest.approx((-0.018, -0.14), abs=0.005)
    before, after = ({each.memory: each for each in remembering(some, rules=False)} for some in (full, alone))
    assert next(iter(after)) == "discounted T/10"
    assert (before["perfect"].least, after["perfect"].least) == pytest.approx((0.16, 0.62), abs=0.005)
    assert after["perfect"].shares["job_scheduling"] == pytest.approx(0.75, abs=0.005)
    assert (before["reset T/10"].mean, after["reset T/10"].mean) == pytest.approx((0.903, 0.844), abs=0.0005)


def test_the_parts_of_the_plant_run_out_before_the_episode_ends():
    envs = gym.make_vec("bygones/mo-Plant-v0", num_envs=10)
    plant = catalogue.parse_scenario("plant")
    seen, _ = envs.reset(seed=0)
    for _ in range(plant.horizon - 1):
        seen, *_ = envs.step(np.full(10, plant.n_actions - 1))
    assert (seen[:, len(plant.seen_bounds[0]) - 1] == 0).all()


def test_what_the_page_says_about_ggf_ppo(every):
    ggf = board.read(GGF)
    assert len(ggf) == 220
    attention = [score.score for entry, score in ggf.items() if entry.world == "attention"]
    assert (f"{min(attention):.2f}", f"{max(attention):.2f}") == ("0.41", "0.88")
    by_learner = [
        verdicts([cell for cell in every if cell.is_rule or cell.family.startswith(name)]) for name in ("ggf", "ppo")
    ]
    ahead = {ggf.world for ggf, ppo in zip(*by_learner, strict=True) if ggf.learner.mean > ppo.learner.mean}
    assert ahead == {"attention", "plant"}


def test_the_verdicts_of_the_quick_runs_are_those_of_the_full_runs(every):
    full = {pair.world: pair.word for pair in verdicts(every)}
    quick = {pair.world: pair.word for pair in verdicts(cells(board.read(QUICK)))}
    assert quick == {world: full[world] for world in quick}
