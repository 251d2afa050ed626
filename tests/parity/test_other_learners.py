"""Other people's learners stand on the leaderboard's axis: same environment, same episodes, same score."""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from benchmarks import morl_learners, other_learners, sb3_learners
from benchmarks.published import GO, measures, received

from bygones._parts import MissingPartError
from bygones.envs import episode
from bygones.envs.wrappers import FairReward, RememberRewards
from bygones.leaderboard import board
from bygones.leaderboard.entries import BoardEntry
from bygones.leaderboard.matches import EPISODES

ENTRY = BoardEntry("queues(horizon=12)", "nash", "discounted T/2", "sb3-a2c", 60, 3)


def test_they_learn_on_what_the_wrappers_make_of_the_vector_of_utilities() -> None:
    problem, env = ENTRY.problem(), sb3_learners.environment(ENTRY)
    vector = gym.make("bygones/mo-Queues-v0", horizon=12)
    wrapped = FairReward(RememberRewards(vector, problem.memory), problem.memory, "nash", problem.weight)
    scale = np.append(
        np.ones(len(problem.scenario.seen_bounds[0])), np.full(problem.n_agents, problem.params().memory_scale)
    )
    (ours, _), (theirs, _) = env.reset(seed=5), wrapped.reset(seed=5)
    for action in np.random.default_rng(0).integers(problem.scenario.n_actions, size=12):
        np.testing.assert_allclose(ours, theirs * scale, rtol=1e-5)
        ours, reward, *_, over, _ = env.step(action)
        theirs, again, *_ = wrapped.step(action)
        assert reward == pytest.approx(again, rel=1e-6)
    assert over


@pytest.mark.soak
@pytest.mark.parametrize("player", sb3_learners.NAMES)
def test_a_row_agrees_with_episodes_played_by_hand(player: str, tmp_path: Path) -> None:
    entry = ENTRY._replace(player=player)
    row = board.fill(tmp_path, [entry], plays=other_learners.played)[entry]
    assert board.read(tmp_path) == {entry: row}
    model, problem = sb3_learners.trained(entry), entry.problem()
    scenario, params = problem.scenario, problem.params()
    noise = np.random.default_rng(np.random.SeedSequence(entry.seed).spawn(2)[0])

    def drawn() -> np.ndarray:
        return noise.random((EPISODES, scenario.n_noise)).astype(np.float32)

    episodes = [episode.begin(one, params) for one in drawn()]
    for _ in range(problem.horizon):
        seen = np.array([episode.observe(state, params) for state in episodes])
        actions, _ = model.predict(seen, deterministic=True)
        episodes = [
            episode.proceed(one, state, int(action), params)
            for one, state, action in zip(drawn(), episodes, actions, strict=True)
        ]
    per_step = np.array([state.cumulative for state in episodes]) / problem.horizon
    # Nash welfare has an epsilon below the logarithm, of totals.
    equal = np.exp(np.log(per_step * problem.horizon + 1e-6).mean(axis=1)) / problem.horizon
    assert row.score_most_probable == pytest.approx(equal.mean(), rel=1e-3, abs=1e-6)
    assert row.total_most_probable == pytest.approx(per_step.sum(axis=1).mean(), rel=1e-4)
    assert row.worst_off_most_probable == pytest.approx(per_step.min(axis=1).mean(), rel=1e-4, abs=1e-6)


def test_what_was_received_is_read_from_a_memory_that_forgets_nothing() -> None:
    entry = ENTRY._replace(memory=morl_learners.MEMORY)
    env, problem = sb3_learners.environment(entry), entry.problem()
    env.reset(seed=0)
    for action in np.random.default_rng(1).integers(problem.scenario.n_actions, size=10):
        seen, *_, info = env.step(action)
        np.testing.assert_allclose(morl_learners.received_of(seen[None], problem)[0], info["cumulative"], rtol=1e-5)
    assert info["cumulative"].sum() > 0


def test_a_memory_that_forgets_is_refused_to_those_who_see_what_was_received() -> None:
    with pytest.raises(ValueError, match="memory must be 'perfect' for morl-lcn, which sees the totals received"):
        morl_learners.trained(ENTRY._replace(player="morl-lcn"))


def test_what_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "morl_baselines", None)
    with pytest.raises(MissingPartError, match=r"benchmarks.morl_learners needs morl_baselines.*'bygones\[morl\]'"):
        morl_learners.trained(ENTRY._replace(player="morl-lcn", memory="perfect"))


@pytest.mark.soak
@pytest.mark.parametrize("player", morl_learners.NAMES)
def test_learners_of_morl_baselines_learn_and_play(player: str) -> None:
    pytest.importorskip("morl_baselines")
    entry = ENTRY._replace(player=player, memory="perfect", steps=512, scenario="donut(horizon=10)")
    ((_, score),) = other_learners.played([entry])
    assert 0 < score.score < 0.21
    assert score.score_most_probable is not None


def test_the_measures_in_which_others_published() -> None:
    """Four agents of whom one is always at the machine: CV is largest, √n."""
    assert measures(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx((1.0, 2.0, 0.0, 1.0))
    assert measures(np.full(4, 0.2)) == pytest.approx((0.8, 0.0, 0.2, 0.2))


def test_those_who_go_when_they_are_behind_share_the_machine() -> None:
    entry = BoardEntry(GO.replace("1000", "100"), "nash", "perfect", "whoever-is-behind", 0, 0)
    used, cv, least, most = measures(received(entry))
    assert 0.6 < used < 0.9
    assert cv < 0.3
    assert 0.1 < least <= most < 0.3
