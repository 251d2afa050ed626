"""Rules play as policies do: by what is observed, with a memory that agrees with the environment's."""

from __future__ import annotations

import numpy as np
import pytest

from bygones.allocation.policies import OneStep
from bygones.envs import catalogue
from bygones.envs.problem import FairProblem
from bygones.envs.scenarios.allocation import Allocation
from bygones.envs.scenarios.donut import Donut
from bygones.envs.scenarios.job_scheduling import JobScheduling
from bygones.envs.scenarios.lending import Lending
from bygones.envs.scenarios.queues import Queues
from bygones.envs.scenarios.vaccines import Vaccines
from bygones.leaderboard import players
from bygones.leaderboard.entries import MEMORIES, BoardEntry
from bygones.leaderboard.matches import bound, play
from bygones.leaderboard.rule_players import NOT_FORESEEN, NOT_GOING, NOT_SERVED, RULES, TOO_MANY
from bygones.learn import evaluate
from bygones.memory import PerfectRecall, parse_memory

LARGE = "allocation(n_agents=1000, n_resources=20, n_advantaged=200)"

KNOWN = [
    name for name in catalogue.names() if players.why_not("one-step", FairProblem(catalogue.made(name, {}))) is None
]


@pytest.mark.parametrize("name", KNOWN)
def test_what_an_action_brings_is_what_it_will_have_brought(name: str) -> None:
    it, rng = catalogue.made(name, {}), np.random.default_rng(0)
    state = it.start(rng.random(it.start_rows * it.n_noise))
    for _ in range(12):
        brings = it.brings(np.asarray(it.observe(state))[None])
        assert brings.shape == (1, it.n_actions, it.n_agents)
        action = rng.integers(it.n_actions)
        state, utilities = it.advance(rng.random(it.n_noise), state, it.actions()[action])
        np.testing.assert_allclose(brings[0, action], utilities)


def test_vaccines_that_are_allocated_are_known_as_well() -> None:
    it = Vaccines(counts="allocated")
    np.testing.assert_array_equal(it.brings(np.zeros((2, 12)))[1], it.actions())
    assert Lending(counts="repaid").brings(np.zeros((1, 8))) is None


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("rule", ["max-min", "one-step", "prices"])
def test_a_rule_remembers_what_the_environment_does(rule: str, memory: str) -> None:
    remembers = parse_memory(MEMORIES[memory](30))
    problem = FairProblem(Donut(30), remembers, observe_memory=True)
    plays = RULES[rule].made(problem, np.random.default_rng(0))

    def checked(observation, state=None, **given):
        action, past = plays(observation, state, **given)
        if state is not None:
            own = state.memory if rule != "prices" else state.memory[0]
            np.testing.assert_allclose(remembers.read(own), observation[:, -5:], atol=1e-4)
        return action, past

    evaluate(checked, problem, episodes=2)


def test_one_step_is_the_allocator() -> None:
    memory, rng = PerfectRecall(), np.random.default_rng(3)
    problem = FairProblem(Allocation(10), memory, welfare="nash")
    plays, allocator, state = RULES["one-step"].made(problem, rng), OneStep(memory, "log_nash"), None
    for step in range(8):
        needs = rng.random((1, 10))
        before = memory.init(10) if state is None else type(state.memory)(*(array[0] for array in state.memory))
        (action,), state = plays(np.hstack([needs, np.zeros((1, 10))]), state)
        if step:  # at first all choices leave eight agents with nothing
            served = np.flatnonzero(problem.scenario.actions()[action])
            np.testing.assert_array_equal(served, allocator(needs[0], 2, before, step, rng))


def test_round_robin_serves_everybody_in_turn() -> None:
    problem = FairProblem(Queues(horizon=8, n_servers=2))
    plays, state, seen = RULES["round-robin"].made(problem, np.random.default_rng(0)), None, []
    for _ in range(4):
        served, state = plays(np.ones((1, 24)), state)
        seen += served[0].tolist()
    assert sorted(seen) == list(range(8))


def test_those_go_who_are_behind() -> None:
    problem = FairProblem(JobScheduling())
    observation = np.concatenate([np.zeros(12), [3.0, 1.0, 2.0]])[None]
    chosen = {
        name: RULES[name].made(problem, np.random.default_rng(0))(observation)[0]
        for name in ("everybody", "whoever-is-behind")
    }
    actions = problem.scenario.actions()
    assert actions[chosen["everybody"][0]].tolist() == [1, 1, 1]
    assert actions[chosen["whoever-is-behind"][0]].tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("player", "name", "reason"),
    [
        ("prices", "lending", NOT_SERVED),
        ("one-step", "attention", NOT_FORESEEN),
        ("one-step", LARGE, TOO_MANY),
        ("prices", LARGE, None),
        ("random", LARGE, None),
        ("ppo-symmetric", LARGE, None),
        ("everybody", "donut", NOT_GOING),
        ("ppo-symmetric", "lending", NOT_SERVED),
        ("ppo-symmetric-welfare", "lending", NOT_SERVED),
        ("ppo-welfare", "lending", None),
        ("random", "matthew", None),
        ("ppo", "matthew", None),
        ("whoever-is-behind", "plant", None),
        ("whoever-is-behind", 'job_scheduling(control="moves")', NOT_GOING),
    ],
)
def test_players_say_where_they_do_not_apply(player: str, name: str, reason: str | None) -> None:
    assert players.why_not(player, FairProblem(catalogue.parse_scenario(name))) == reason


def test_lots_are_drawn_among_more_subsets_than_can_be_numbered() -> None:
    problem = FairProblem(catalogue.parse_scenario(LARGE))
    draw = RULES["random"].made(problem, np.random.default_rng(0))
    served, _ = draw(np.zeros((500, 2000)))
    assert served.shape == (500, 20)
    assert all(len(set(row)) == 20 for row in served.tolist())
    times = np.bincount(served.ravel(), minlength=1000)
    assert (len(times), times.max() < 30, times.min() > 0) == (1000, True, True)


def test_a_problem_with_many_subsets_has_a_bound() -> None:
    entry = BoardEntry("allocation(n_agents=30, n_resources=5, horizon=10)", "nash", "none", "prices", 0, 0)
    found = bound(entry)
    assert found is not None
    assert play(entry).score < found


@pytest.mark.parametrize("player", ["chess", "random-welfare", "ppo-welfare-symmetric", "-welfare"])
def test_a_player_that_nobody_knows_is_refused(player: str) -> None:
    with pytest.raises(ValueError, match=rf"player must be one of random, round-robin, .*ppo.*, got '{player}'"):
        players.check_players((player,))


def test_learners_may_learn_from_welfare_alone() -> None:
    players.check_players(("random", "ppo-welfare", "ppo-symmetric-welfare"))
    assert not any(name.endswith("-welfare") for name in players.names())


@pytest.mark.parametrize("player", ["ggf-ppo-welfare", "reinforce-symmetric-welfare"])
def test_a_reward_that_is_not_learned_from_makes_no_other_player(player: str) -> None:
    with pytest.raises(ValueError, match=f"player {player} would be .* which does not learn from the reward"):
        players.check_players((player,))
