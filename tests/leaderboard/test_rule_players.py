"""Rules play as policies do: by what is observed, with a memory that agrees with the environment's."""

from __future__ import annotations

import re

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
from bygones.learn import Settings, evaluate
from bygones.memory import PerfectRecall, parse_memory
from bygones.scenario_policies import lookahead
from bygones.scenario_policies.rule_players import (
    NOT_ALONE,
    NOT_FORESEEN,
    NOT_GOING,
    NOT_SERVED,
    RULES,
    SERVED,
    TOO_MANY,
    made,
)

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


def played(player: str, scenario: str, observations: list[list[float]] | int) -> list:
    """The actions of a rule in one episode, given what it observes, or how many steps it observes nothing."""
    problem = FairProblem(catalogue.parse_scenario(scenario), PerfectRecall())
    if isinstance(observations, int):
        observations = [[0.0] * problem.observation_size] * observations
    rule, state, actions = made(player, problem, np.random.default_rng(0)), None, []
    for observation in observations:
        (action,), state = rule(np.array([observation]), state)
        actions.append(action.tolist())
    return actions


def test_slices_serve_one_agent_for_a_block_of_steps() -> None:
    rows = catalogue.parse_scenario("job_scheduling").actions()
    assert [rows[action].tolist() for action in played("slices(length=2)", "job_scheduling", 7)] == [
        [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0],
    ]  # fmt: skip
    rows = catalogue.parse_scenario("attention").actions()
    assert [rows[action].tolist() for action in played("slices(length=1)", "attention", 2)] == [
        [3, 0, 0, 0], [0, 3, 0, 0],
    ]  # fmt: skip


def test_slices_serve_as_many_agents_as_an_action_does() -> None:
    queues = "queues(arrivals=(0.5, 0.5, 0.5), n_servers=2)"
    assert played("slices(length=2)", queues, 7) == [[0, 1], [0, 1], [0, 2], [0, 2], [1, 2], [1, 2], [0, 1]]


def test_turns_take_every_action_for_a_block_of_steps() -> None:
    assert played("turns(length=2)", "lending", 9) == [0, 0, 1, 1, 2, 2, 3, 3, 0]


def test_equal_needs_go_to_the_agent_who_received_least() -> None:
    queues = "queues(arrivals=(0.5, 0.5, 0.5))"
    seen = [[3, 3, 1, 3, 3, 1, 0, 0, 0], [3, 3, 1, 3, 3, 1, 0, 0, 0], [2, 3, 3, 2, 3, 3, 0, 0, 0]]
    first, second, third = played("largest-need-fair-ties", queues, seen)
    assert sorted([first, second]) == [[0], [1]]
    assert third == [2]


def test_lookahead_gives_where_its_base_rule_wastes() -> None:
    """Jobs arrive in two of the three queues, one at each step: serving the third in turn would waste every third step.

    After two jobs of one queue, a job of the other is worth more.
    """
    queues = "queues(arrivals=(1.0, 1.0, 0.0), speed=1, horizon=6)"
    seen = [[1.0, 1.0, 0.0, 6.0, 6.0, 0.0, 0.0, 0.0, 0.0]] * 6
    served = played("lookahead(length=1)", queues, seen)
    subsets = catalogue.parse_scenario(queues).subsets().ravel()[served].tolist()
    assert (sorted(subsets), sorted(subsets[:2])) == ([0, 0, 0, 1, 1, 1], [0, 1])


REVEALED = [name for name in catalogue.names() if lookahead.why_not(catalogue.made(name, {})) is None]


def test_lookahead_applies_where_observations_show_the_state() -> None:
    assert REVEALED == ["arrivals", "attention", "donut", "job_scheduling", "lending", "queues", "vaccines"]


@pytest.mark.parametrize("name", REVEALED)
def test_what_observations_reveal_is_the_state_and_its_utilities(name: str) -> None:
    it, rng = catalogue.made(name, {}), np.random.default_rng(0)
    state = it.start(rng.random(it.start_rows * it.n_noise))
    known = it.revealed(np.asarray(it.observe(state)), it.start(np.zeros(it.start_rows * it.n_noise)))
    for _ in range(20):
        action = it.actions()[rng.integers(it.n_actions)]
        state, utilities = it.advance(rng.random(it.n_noise), state, action)
        guess, _ = it.advance(np.zeros(it.n_noise), known, action)
        after = it.revealed(np.asarray(it.observe(state)), guess)
        np.testing.assert_allclose(it.brought(known, action, after), utilities)
        for part, true in zip(after, state, strict=True):
            np.testing.assert_allclose(part, true)
        known = after


@pytest.mark.parametrize(
    ("player", "scenario", "lengths"),
    [
        ("slices", "job_scheduling", (334, 167, 84, 42, 21, 1)),
        ("slices", "allocation", (200, 100, 50, 25, 13, 1)),
        ("turns", "attention(horizon=40)", (2, 1)),
        ("lookahead", "lending", (25, 13, 7, 4, 2, 1)),
    ],
)
def test_lengths_are_an_episode_in_rounds(player: str, scenario: str, lengths: tuple[int, ...]) -> None:
    problem = FairProblem(catalogue.parse_scenario(scenario))
    assert players.with_lengths(player, problem) == [f"{player}(length={length})" for length in lengths]
    assert players.with_lengths("prices", problem) == ["prices"]
    assert players.with_lengths("slices(length=3)", problem) == ["slices(length=3)"]


@pytest.mark.parametrize(
    ("player", "message"),
    [
        ("slices(length=0)", "length must be a whole number of at least 1, got 0"),
        ("slices(size=3)", "takes length, got 'size'"),
        ("prices(length=3)", "takes no parameters, got 'length'"),
    ],
)
def test_a_rule_with_another_parameter_is_refused(player: str, message: str) -> None:
    players.check_players(("slices", "slices(length=25)"))
    with pytest.raises(ValueError, match=message):
        players.check_players((player,))


@pytest.mark.parametrize(
    ("player", "name", "reason"),
    [
        ("slices", "lending", NOT_ALONE),
        ("slices", 'job_scheduling(control="moves")', NOT_ALONE),
        ("slices(length=5)", "plant", None),
        ("turns", "donut", SERVED),
        ("lookahead", "plant", lookahead.NOT_REVEALED),
        ("lookahead", "matthew", lookahead.TOO_MANY_TO_TRY),
        ("lookahead", 'lending(counts="repaid")', lookahead.NOT_REVEALED),
        ("lookahead", LARGE, lookahead.TOO_MANY_TO_TRY),
        ("slices", LARGE, None),
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


def test_a_learner_may_have_settings_in_brackets() -> None:
    players.check_players(("dqn(counterfactuals=4)", "ppo-welfare(learning_rate=0.001)"))
    settings = players.settings_of("dqn(counterfactuals=4)", steps=5, seed=1)
    assert settings == Settings(learner="dqn", counterfactuals=4, total_steps=5, seed=1)
    assert players.rewarded("ppo-welfare(clip=0.1)", FairProblem(Donut(10))).weight == 1.0


@pytest.mark.parametrize(
    ("player", "message"),
    [
        ("dqn(counterfactual=4)", "'counterfactual' is not a setting of a learner"),
        ("ppo(gamma=0.5)", "'gamma' is not a setting of a learner"),
        ("ppo(total_steps=5)", "'total_steps' is not a setting of a learner"),
        ("ppo(0.5)", "needs a name for each setting"),
        ("ppo(clip=-1)", "clip must be a finite number above 0"),
    ],
)
def test_a_setting_that_no_learner_has_is_refused(player: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        players.check_players((player,))
