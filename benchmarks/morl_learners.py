"""The learners of morl-baselines on the scenarios of bygones, each with its own default settings.

They learn from the vector of utilities, on the scenario's id with `mo-` in front. They are conditioned on the totals
received so far and not on a memory. So they are entered with the memory `perfect`, from which a playing policy reads
these totals.

`morl-nl-mo-ppo` and `morl-eupg` maximise the entry's welfare. `morl-lcn` maximises Lorenz dominance. After training, it
is asked for the return of the seen episode with the largest welfare. Its default is to play 500 episodes at random
first, which may be more than all steps. Here it plays a quarter of the steps at random.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

import bygones.envs  # noqa: F401  (registers the environments)
from bygones._parts import needed_by
from bygones.envs import catalogue
from bygones.envs.problem import FairProblem
from bygones.leaderboard.entries import BoardEntry
from bygones.learn.evaluation import Predict
from bygones.welfare import as_judge

MEMORY = "perfect"
"""The memory of every entry."""

ENVIRONMENTS = 4
"""How many environments NL-MO-PPO learns on side by side, as in its authors' examples."""

RANDOM = 0.25
"""The share of the steps that LCN plays at random before it learns."""


class Past(NamedTuple):
    """The records of a policy's episodes, one row each."""

    step: int
    received: np.ndarray
    discounted: np.ndarray
    """The totals received, discounted from the start of the episode on."""


def trained(entry: BoardEntry) -> Predict:
    """A policy that has learned from the steps of an entry, to be played by `bygones.learn.evaluate`."""
    if entry.memory != MEMORY:
        raise ValueError(
            f"memory must be {MEMORY!r} for {entry.player}, which sees the totals received, got {entry.memory!r}"
        )
    with needed_by("benchmarks.morl_learners", "morl"):
        import morl_baselines  # noqa: F401
        import torch
    torch.set_num_threads(1)
    torch.manual_seed(entry.seed)
    with contextlib.redirect_stdout(io.StringIO()):
        return NAMES[entry.player](entry)


def environment(entry: BoardEntry) -> gym.Env[Any, Any]:
    """The environment for training: the scenario with the vector of utilities as its reward."""
    env = gym.make(catalogue.gymnasium_id(entry.world, vector=True), **entry.problem().scenario.arguments())
    env.reset(seed=entry.seed)
    env.action_space.seed(entry.seed)
    return env


def _nl_mo_ppo(entry: BoardEntry) -> Predict:
    import torch
    from mo_gymnasium.wrappers.vector import MOSyncVectorEnv
    from morl_baselines.single_policy.ser.nl_mo_ppo import NLMOPPO

    envs = MOSyncVectorEnv([lambda: environment(entry)] * ENVIRONMENTS)
    learner = NLMOPPO(0, envs, total_timesteps=entry.steps, device="cpu", seed=entry.seed)
    learner.train(environment(entry), _utility(entry.welfare))

    def act(seen: Any, past: Past, deterministic: bool) -> Any:
        received = torch.as_tensor(past.discounted, dtype=torch.float32)
        if deterministic:
            return learner.agent.get_greedy_action(seen, received)
        return learner.agent.get_action_and_value(seen, received)[0]

    return _played(entry, act, learner.gamma)


def _eupg(entry: BoardEntry) -> Predict:
    import torch
    from morl_baselines.single_policy.esr.eupg import EUPG

    utility = _utility(entry.welfare)
    learner = EUPG(
        environment(entry),
        lambda returns, weights=None: utility(torch.as_tensor(returns)),
        log=False,
        device="cpu",
        seed=entry.seed,
    )
    learner.train(entry.steps)

    def act(seen: Any, past: Past, deterministic: bool) -> Any:
        chances = learner.net.distribution(seen, torch.as_tensor(past.received, dtype=torch.float32))
        return chances.probs.argmax(dim=-1) if deterministic else chances.sample()

    return _played(entry, act)


def _lcn(entry: BoardEntry) -> Predict:
    import torch
    from morl_baselines.multi_policy.lcn.lcn import LCN

    problem = entry.problem()
    n, T, most = problem.n_agents, problem.horizon, problem.scenario.utility_bounds[1]
    # Returns and horizons of about one: every entry is divided by the largest that it can be.
    scale = np.append(1 / (T * most), 1 / T).astype(np.float32)
    learner = LCN(environment(entry), scale, log=False, device="cpu", seed=entry.seed)
    with tempfile.TemporaryDirectory() as folder:
        learner.train(
            entry.steps,
            environment(entry),
            ref_point=np.zeros(n),
            num_er_episodes=max(1, round(RANDOM * entry.steps / T)),
            max_return=(T * most).astype(np.float32),
            save_dir=folder,
        )
    returns = np.array([episode[2][0].reward for episode in learner.experience_replay])
    wanted = returns[np.argmax(as_judge(problem.welfare)(returns))]

    def act(seen: Any, past: Past, deterministic: bool) -> Any:
        rows = len(seen)
        left = torch.as_tensor(wanted - past.received, dtype=torch.float32)
        steps = torch.full((rows, 1), float(max(T - past.step, 1)))
        logits = learner.model(seen, left, steps)
        return logits.argmax(dim=-1) if deterministic else torch.distributions.Categorical(logits=logits).sample()

    return _played(entry, act)


NAMES = {"morl-nl-mo-ppo": _nl_mo_ppo, "morl-eupg": _eupg, "morl-lcn": _lcn}
"""The learners by name."""


def _played(entry: BoardEntry, act: Any, discount: float = 1.0) -> Predict:
    """A policy as `evaluate` calls it, from one that needs the totals received."""
    import torch

    problem = entry.problem()
    n = problem.n_agents

    @torch.no_grad()
    def predict(
        observation: np.ndarray, state: Past | None = None, deterministic: bool = False, **_: Any
    ) -> tuple[np.ndarray, Past]:
        received = received_of(observation, problem)
        if state is None:
            past = Past(0, received, received)
        else:
            now = discount**state.step * (received - state.received)
            past = Past(state.step + 1, received, state.discounted + now)
        actions = act(torch.tensor(observation[:, :-n], dtype=torch.float32), past, deterministic)
        return actions.numpy(), past

    return predict


def received_of(observation: np.ndarray, problem: FairProblem) -> np.ndarray:
    """What every agent received so far, from observations with a memory that forgets nothing."""
    Z: np.ndarray = np.asarray(observation[:, -problem.n_agents :], float) / problem.params().memory_scale
    return Z


def _utility(welfare: str) -> Any:
    """The welfare as a function of a tensor, with agents along the last axis."""
    import torch

    epsilon = 1e-6  # as in our log-Nash welfare
    return {
        "nash": lambda returns: torch.log(returns.clamp(min=0) + epsilon).sum(dim=-1),
        "egalitarian": lambda returns: returns.min(dim=-1).values,
        "utilitarian": lambda returns: returns.sum(dim=-1),
    }[welfare]
