"""The settings of a run: one frozen dataclass, whose defaults are the paper's (row 18).

A field is at once a setting, its default, its explanation and its flag on the command line. Settings that cannot work
are refused here, before anything is compiled.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bygones._arrays import Json, check_between, check_count, check_one_of
from bygones.envs.problem import PLAIN, End, FairProblem, Scale
from bygones.envs.scenarios.allocation import Allocation
from bygones.learn import learners
from bygones.memory import Discounted
from bygones.welfare import parse_welfare

Aggregation = Literal["additive", "averaged"]
PolicyKind = Literal["mlp", "symmetric"]
AgentFeatures = Literal["plain", "logarithmic"]

WEIGHTS = 10**8
"""The most weights of a network: four times as many numbers are kept while it learns."""

MLP_ENUMERATES = 'policy "mlp" has an output for each: use policy "symmetric", which scores agents instead'
"""The advice for too many subsets of agents."""

_COUNTS = {
    "rollout_steps": 10**7, "epochs": 10**4, "total_steps": 10**12, "agent_units": 4096, "recurrent_units": 4096,
    "sequence": 10**7, "replay_size": 10**8, "update_every": None, "target_every": None, "n_agents": 10**6,
    "horizon": None,
}  # fmt: skip
"""The largest value of the settings that are counts of at least 1."""

OF_PROBLEM = ("gamma", "aggregation", "welfare", "horizon", "n_agents", "n_resources", "n_advantaged", *PLAIN)
"""The settings that describe the problem; all others are the learner's."""

FORMAT_1_SETTINGS = (
    "gamma", "aggregation", "welfare", "weight", "horizon", "seed", "total_steps",
    "n_agents", "n_resources", "n_advantaged", "observation_scale", "fixed_scale", "observe_memory",
    "observe_denominator", "ends", "shaping_discount", "last_share",
    "rollout_steps", "batch_size", "epochs", "discount", "gae_lambda", "clip", "value_weight", "entropy_weight",
    "max_grad_norm", "learning_rate", "adam_eps", "hidden",
)  # fmt: skip
"""The settings that runs had when the format of results was fixed. This list never changes: a setting that is not in it
was added later, and its default stands for the behaviour before the setting existed."""


@dataclass(frozen=True)
class Settings:
    """The settings of one training run."""

    gamma: float = 0.99
    """Discount factor γ of the memory: 0 is myopic, 1 is perfect recall."""
    aggregation: Aggregation = "additive"
    """Whether the memory is a discounted sum or a discounted mean."""
    welfare: str = "nash"
    """Welfare that judges the memory: nash (its logarithm), egalitarian, utilitarian or "alpha_fair(alpha=2)"."""
    weight: float = 0.9
    """Weight λ of fairness in the reward."""
    horizon: int = 1000
    """Steps T in an episode."""
    seed: int = 0
    """Seed of all randomness of the run; equal seeds see equal noise, whatever the other settings."""
    total_steps: int = 1_000_000
    """Steps of the environment to learn from, rounded up to whole rollouts."""

    n_agents: int = 10
    """Number n of agents."""
    n_resources: int = 2
    """Number k of agents served at a step."""
    n_advantaged: int = 2
    """How many agents, the first ones, have needs from U(0.8, 1) instead of U(0, 1)."""
    observation_scale: Scale = "none"
    """How the memory is observed: unscaled, or divided by one of several scales."""
    fixed_scale: float = 100.0
    """The divisor of the observation scale "fixed"."""
    observe_memory: bool | None = None
    """Whether the memory is observed; by default yes, except by the myopic agent."""
    observe_denominator: bool = False
    """Whether the denominator d is observed as one more entry."""
    ends: End = "truncation"
    """Whether the horizon is a time limit, after which the learner bootstraps, or a true end."""
    shaping_discount: float = 1.0
    """Factor c in the fairness reward c·W(Zᵗ) − W(Zᵗ⁻¹)."""
    last_share: float = 0.1
    """The share of episodes, the last ones, over which final metrics are averaged."""

    rollout_steps: int = 2048
    """Steps collected before each improvement."""
    batch_size: int = 64
    """Steps in a minibatch; must divide the rollout."""
    epochs: int = 10
    """Number of passes through each rollout."""
    discount: float = 0.99
    """The learner's own discount factor for future rewards."""
    gae_lambda: float = 0.95
    """How far advantages look ahead, between one step (0) and the whole episode (1)."""
    clip: float = 0.2
    """How far the probability of an action may move before its gradient is cut."""
    value_weight: float = 0.5
    """Weight of the value loss."""
    entropy_weight: float = 0.0
    """Weight of the entropy bonus."""
    max_grad_norm: float = 0.5
    """Largest global norm of a gradient."""
    learning_rate: float = 3e-4
    """Step size of Adam."""
    adam_eps: float = 1e-5
    """The ε of Adam."""
    hidden: tuple[int, ...] = (64, 64)
    """Units in the hidden layers of each of the two networks of an MLP."""
    policy: PolicyKind = "mlp"
    """Kind of policy: "mlp", one output per subset of agents, or "symmetric", one score per agent, for any number."""
    agent_units: int = 32
    """Units in the layers of a symmetric policy."""
    agent_features: AgentFeatures = "logarithmic"
    """How a symmetric policy sees the memory: "plain", or "logarithmic", which keeps large numbers small."""
    learner: str = "ppo"
    """The learner: ppo, ggf-ppo, recurrent-ppo, dqn or reinforce, or your own as module:name."""
    gini_ratio: float = 0.5
    """For ggf-ppo: the factor by which weights fall from each agent to the next better-off one."""
    recurrent_units: int = 64
    """For recurrent-ppo: how many numbers each of its two networks passes from step to step."""
    sequence: int = 32
    """For recurrent-ppo: steps through which gradients go back; must divide the batch."""
    replay_size: int = 50_000
    """For dqn: steps that are kept to learn from again."""
    update_every: int = 4
    """For dqn: steps between two updates; must divide the rollout."""
    target_every: int = 1_000
    """For dqn: steps between two copies of the network that targets are computed with."""
    exploration_share: float = 0.1
    """For dqn: the share of the run over which the chance of a random action falls from 1."""
    exploration_end: float = 0.05
    """For dqn: the chance of a random action after that, in the trained policy as well."""
    counterfactuals: int = 0
    """For dqn: with how many other memories each step is also learned from, as in FairQCM."""

    def __post_init__(self) -> None:
        check_one_of("aggregation", self.aggregation, ("additive", "averaged"))
        if not isinstance(self.welfare, str):
            raise ValueError(
                "welfare must be text such as 'nash' in Settings, which are saved as text: give a function to the "
                f"problem instead, as train(settings, problem=FairProblem(welfare=...)), got {self.welfare!r}"
            )
        object.__setattr__(self, "welfare", str(parse_welfare(self.welfare)))
        for name, most in _COUNTS.items():
            check_count(name, getattr(self, name), most=most)
        for name in ("discount", "gae_lambda"):
            check_between(name, getattr(self, name), 0.0, 1.0, "between 0 and 1")
        for name in ("clip", "max_grad_norm", "learning_rate", "adam_eps"):
            check_between(
                name, getattr(self, name), 0.0, math.inf, "a finite number above 0", open_low=True, open_high=True
            )
        for name in ("value_weight", "entropy_weight"):
            check_between(name, getattr(self, name), 0.0, math.inf, "a finite number of at least 0", open_high=True)
        for name in ("last_share", "gini_ratio", "exploration_share", "exploration_end"):
            check_between(name, getattr(self, name), 0.0, 1.0, "above 0 and at most 1", open_low=True)
        if check_count("seed", self.seed, least=0) >= 2**32:
            raise ValueError(f"seed must be below 2**32, got {self.seed}")
        object.__setattr__(self, "hidden", tuple(check_count("hidden", units) for units in self.hidden))
        check_one_of("policy", self.policy, get_args(PolicyKind))
        object.__setattr__(self, "learner", learners.checked(self.learner))
        check_count("counterfactuals", self.counterfactuals, 0, most=1000)
        check_one_of("agent_features", self.agent_features, get_args(AgentFeatures))
        if self.policy == "mlp":
            widths = [2 * self.n_agents + 1, *self.hidden, self.n_agents]
            weights = sum(before * after for before, after in itertools.pairwise(widths))
            if weights > WEIGHTS:
                raise ValueError(f"hidden must give a network of at most {WEIGHTS:,} weights, got {weights:,}")
        if check_count("batch_size", self.batch_size, least=2) > self.rollout_steps or (
            self.rollout_steps % self.batch_size
        ):
            raise ValueError(f"batch_size must divide rollout_steps ({self.rollout_steps}), got {self.batch_size}")
        check_solvable(self.policy, self.problem())

    def problem(self) -> FairProblem:
        """The learning problem of these settings."""
        return FairProblem(
            Allocation(self.horizon, self.n_resources, n_agents=self.n_agents, n_advantaged=self.n_advantaged),
            memory=Discounted(gamma=self.gamma, average=self.aggregation == "averaged"),
            welfare=self.welfare,
            **{name: getattr(self, name) for name in PLAIN},
        )

    @property
    def rollouts(self) -> int:
        """How many rollouts the run takes."""
        return math.ceil(self.total_steps / self.rollout_steps)

    @property
    def episodes(self) -> int:
        """How many episodes end in the run."""
        return self.rollouts * self.rollout_steps // self.horizon

    @property
    def first_counted(self) -> int:
        """The first episode, counted from 0, of those over which final metrics are averaged."""
        return self.episodes - max(1, round(self.last_share * self.episodes))

    def replace(self, **changes: Any) -> Settings:
        """These settings with some of them changed."""
        return dataclasses.replace(self, **changes)

    def of_learner(self, horizon: int) -> Settings:
        """The learner's part of these settings, for a problem of that horizon: the rest is default."""
        part = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return Settings(**{name: value for name, value in part.items() if name not in OF_PROBLEM}, horizon=horizon)

    def to_dict(self) -> Json:
        """Plain names and numbers, for JSON."""
        return {**dataclasses.asdict(self), "hidden": list(self.hidden)}

    def distinction(self) -> Json:
        """As `to_dict`, less the settings added after format 1 of results that are at their default.

        Runs are named and policies are saved by it: adding a setting changes neither for runs that do not use it.
        """
        later = later_defaults(type(self))
        return {name: value for name, value in self.to_dict().items() if name not in later or value != later[name]}

    @classmethod
    def from_dict(cls, values: Json) -> Settings:
        """The settings that `to_dict` wrote; unknown names are refused."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise ValueError(f"unknown setting {name!r}; known are {', '.join(known)}")
        return cls(**values)


def check_solvable(policy: PolicyKind, problem: FairProblem) -> None:
    """Refuses a problem that a kind of policy cannot play."""
    if policy == "mlp":
        problem.scenario.check_enumerable(MLP_ENUMERATES)
    elif problem.scenario.n_served is None:
        raise ValueError(
            'policy "symmetric" chooses k of the agents, but actions are something else in this scenario: use policy '
            '"mlp"'
        )
    elif problem.observation_scale == "running":
        raise ValueError(
            "observation_scale 'running' has a mean and a variance for each agent, and a symmetric policy treats "
            "agents alike: choose another scale, or policy 'mlp'"
        )


def later_defaults(kind: type[Settings] = Settings) -> Json:
    """The defaults of the settings that were added after format 1."""
    return {field.name: field.default for field in dataclasses.fields(kind) if field.name not in FORMAT_1_SETTINGS}
