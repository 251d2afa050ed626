"""A saved policy's evaluation, next to rules that need no training and the best that any policy can reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bygones._arrays import Json
from bygones._text import counted
from bygones.document.document import Answer, Column, Document, Share, Table
from bygones.envs.problem import most_welfare
from bygones.learn import TrainedPolicy, evaluate
from bygones.learn.evaluation import Evaluation
from bygones.paper import shipped_policies
from bygones.paper.optimum import Optimum, episode_gini, for_settings
from bygones.paper.untrained import RULES, Reached, reached

WAYS = {"sampled": "policy, sampled actions", "deterministic": "policy, greedy actions"}
"""How a policy can act, and the names of the two ways in the table."""
METRICS = {
    "gini": Column("Gini"),
    "welfare": Column("fairness score"),
    "utility_per_step": Column("utility", measure="utility"),
    "utility_least": Column("worst-off", measure="utility"),
    "utility_most": Column("best-off", 1, measure="utility"),
}
BEST = (
    "Best possible: no policy has a higher fairness score on average. The other numbers in that row belong to the "
    "best policy without a memory."
)
PER_STEP = "Utilities are per step: of all agents, of the worst-off and of the best-off."
SHARE = (
    "Of best: the equal utility for all agents that would give this fairness score, as a share of the one that "
    "would give the best possible."
)


def file_of_trained(policy: str) -> Path | None:
    """The file of a trained policy, which is a path or the name of a shipped one; None if it is neither."""
    if policy in shipped_policies.NAMES:
        return shipped_policies.file_of(policy)
    path = Path(policy)
    return path if path.suffix == ".safetensors" or path.exists() else None


@dataclass(frozen=True)
class EvaluatedPolicy(Answer):
    """How a policy does in its own problem, and what rules and the best policy reach there.

    Attributes:
        name: the policy's.
        horizon: the steps of an episode.
        episodes: how many it played in each way.
        ways: its evaluation by way of acting, `sampled` or `deterministic` (greedy); by its name if it acts in one way.
        bound: a fairness score that no policy exceeds on average; None if none is known.
        optimum: the best possible fairness score; None where the problem is not the paper's.
        rules: the results of each rule; empty where the problem is not the paper's.
        best: the row of the best possible; None where the problem is not the paper's.
    """

    name: str
    horizon: int
    episodes: int
    ways: Mapping[str, Evaluation]
    bound: float | None = None
    optimum: Optimum | None = None
    rules: Mapping[str, Reached] = field(default_factory=dict)
    best: Reached | None = None

    def document(self) -> Document:
        """A table with a row for each way of acting, each rule and the best possible."""
        played = f"{counted(self.episodes, 'episode')} of {counted(self.horizon, 'step')}"
        rows = {WAYS.get(way, way): self._metrics(evaluation.mean) for way, evaluation in self.ways.items()}
        rows |= {f"rule: {rule}": self._metrics(metrics._asdict()) for rule, metrics in self.rules.items()}
        rows |= {"best possible": self._metrics(self.best._asdict())} if self.best else {}
        columns = [Column(""), *METRICS.values(), *([Column("of best")] if self.optimum else [])]
        table = Table(
            "",
            columns,
            [
                [title, *(row[name] for name in METRICS), *([Share(row["share_of_best"])] if self.optimum else [])]
                for title, row in rows.items()
            ],
            note=" ".join([PER_STEP, *([SHARE, BEST] if self.best else [])]),
        )
        limit = (
            []
            if self.bound is None
            else [f"No policy has a fairness score above {self.bound:.4f} on average, and possibly none reaches it."]
        )
        return Document(f"{self.name}: means over {played}", [table, *limit], "Evaluation")

    def to_dict(self) -> Json:
        """All numbers as plain values, with every episode, for JSON."""
        return {
            **{way: self._metrics(evaluation.mean) for way, evaluation in self.ways.items()},
            "rules": {rule: self._metrics(metrics._asdict()) for rule, metrics in self.rules.items()},
            "best": self._metrics(self.best._asdict()) if self.best else None,
            "each": {
                way: {name: values.tolist() for name, values in evaluation.episodes.items()}
                for way, evaluation in self.ways.items()
            },
        }

    def _metrics(self, metrics: Mapping[str, float]) -> dict[str, float]:
        share = {"share_of_best": float(self.optimum.share(metrics["welfare"]))} if self.optimum else {}
        return {**metrics, **share}


def evaluated(policy: TrainedPolicy, name: str, *, episodes: int, seed: int, only_greedy: bool) -> EvaluatedPolicy:
    """Plays a policy in its own problem, and compares it with rules and the best possible where these are known."""
    ways = {
        way: evaluate(policy, episodes=episodes, seed=seed, deterministic=way == "deterministic")
        for way in WAYS
        if way == "deterministic" or not only_greedy
    }
    horizon, run = policy.problem.horizon, policy.settings
    optimum = _optimum(policy)
    if optimum is None:
        return EvaluatedPolicy(name, horizon, episodes, ways, most_welfare(policy.problem))
    rules = {rule: reached(rule, run, [horizon])[horizon] for rule in RULES}
    utilities = optimum.utilities
    best = Reached(
        episode_gini(run), optimum.bound, float(utilities.sum()), float(utilities.min()), float(utilities.max())
    )
    return EvaluatedPolicy(name, horizon, episodes, ways, None, optimum, rules, best)


def _optimum(policy: TrainedPolicy) -> Optimum | None:
    """The optimum of the policy's problem; None where it is not the paper's, or has a custom welfare function."""
    if policy.custom_problem is not None:
        return None
    try:
        return for_settings(policy.settings)
    except ValueError:
        return None
