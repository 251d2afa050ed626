r"""Compares another implementation of the paper's environment with ours, step by step.

    python -m benchmarks.authors_environment their_module:make --gamma 1 --welfare nash

`make()` returns a Gymnasium environment with the settings that the command names: observations begin with the needs of
all agents, and an action is the number of a subset of agents, in the order of `itertools.combinations`. It is played
with random actions, and so is ours. The needs and the actions give the utilities of every step, so the memory and the
reward that the paper's equations ask for can be computed and compared. Each row of the answer is a choice that the
paper leaves open (docs/decisions.md). Where rewards differ, they are explained as

$$ r_t = a\,U_t + b\,W(Z^t) - c\,W(Z^{t-1}) $$

if some a, b and c fit all steps. Equation 8 has a = 1 − λ and b = c = λ.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import gymnasium
import numpy as np
import tyro
from tyro.conf import OmitArgPrefixes, Positional, arg

from bygones._arrays import Floats
from bygones.cli.console import print_document
from bygones.document.document import Answer, Column, Document, Table
from bygones.envs.env import FairEnv
from bygones.learn.settings import Settings
from bygones.memory import Discounted
from bygones.welfare import as_judge

CLOSE = 1e-4
"""The largest difference, relative to the largest value, that counts as equal; observations may be float32."""

ADVANTAGED_FROM = 0.8
"""The least need of an advantaged agent."""


@dataclass
class Course:
    """All steps of some episodes, one row per step."""

    observed: list[Floats] = field(default_factory=list)
    """The observation before the step."""
    utilities: list[Floats] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    before: list[Floats] = field(default_factory=list)
    """Z before the step, by the paper's equations."""
    after: list[Floats] = field(default_factory=list)
    first: list[bool] = field(default_factory=list)
    """Whether it is the first step of an episode."""
    ends: list[tuple[int, str]] = field(default_factory=list)
    """The length of each episode, and how it ended."""


class Row(NamedTuple):
    """A choice that the paper leaves open: theirs and ours."""

    row: int
    choice: str
    theirs: str
    ours: str


@dataclass(frozen=True)
class EnvironmentComparison(Answer):
    """What another environment does where the paper leaves a choice."""

    rows: Sequence[Row]
    n_steps: int

    def document(self) -> Document:
        """The choices, one per row."""
        columns = ["row", "choice", Column("theirs", folds=True), Column("bygones", folds=True)]
        title = f"Two environments compared over {self.n_steps:,} steps"
        return Document(title, [Table("", columns, self.rows, note="The rows are in docs/decisions.md.")])


def main(
    place: Annotated[Positional[str], arg(metavar="MODULE:FUNCTION", help="What makes their environment.")],
    settings: Annotated[OmitArgPrefixes[Settings], arg(name="")],
    episodes: Annotated[int, arg(help="Episodes to play.")] = 20,
) -> None:
    """Compare another implementation of the paper's environment with ours, step by step.

    The settings are those of both; switches such as --observation-scale are for ours.
    """
    module, _, name = place.partition(":")
    print_document(compared(getattr(importlib.import_module(module), name), settings, episodes).document())


def compared(
    make: Callable[[], gymnasium.Env[Any, Any]], settings: Settings, episodes: int = 20
) -> EnvironmentComparison:
    """Plays an environment and ours, and answers what each does in every choice that it can show."""
    courses = [played(env, settings, episodes) for env in (make(), FairEnv(problem=settings.problem()))]
    rows = [
        Row(row, choice, *(answer(course, settings) for course in courses)) for row, (choice, answer) in CHOICES.items()
    ]
    return EnvironmentComparison(rows, len(courses[0].observed))


def played(env: gymnasium.Env[Any, Any], settings: Settings, episodes: int) -> Course:
    """The course of some episodes with random actions, and the memory that the paper's equations give."""
    subsets = np.array(list(itertools.combinations(range(settings.n_agents), settings.n_resources)))
    memory = Discounted(gamma=settings.gamma, average=settings.aggregation == "averaged")
    rng, course = np.random.default_rng(0), Course()
    for episode in range(episodes):
        observation, _ = env.reset(seed=episode)
        state = memory.init(settings.n_agents)
        for step in range(1, 10 * settings.horizon):
            action = int(rng.integers(len(subsets)))
            utilities = np.zeros(settings.n_agents)
            utilities[subsets[action]] = np.asarray(observation, float)[subsets[action]]
            course.observed.append(np.asarray(observation, float))
            course.utilities.append(utilities)
            course.before.append(np.asarray(memory.values(state)))
            course.first.append(step == 1)
            state = memory.update(state, utilities)
            course.after.append(np.asarray(memory.values(state)))
            observation, reward, terminated, truncated, _ = env.step(action)
            course.rewards.append(float(reward))
            if terminated or truncated:
                course.ends.append((step, "termination" if terminated else "truncation"))
                break
        else:
            raise ValueError(f"an episode did not end within {10 * settings.horizon} steps; the horizon is another")
    return course


def _entries(course: Course, settings: Settings) -> str:
    """The entries of an observation after the needs."""
    extra = len(course.observed[0]) - 2 * settings.n_agents
    return "no memory" if extra == -settings.n_agents else "Z" + (f" and {extra} more" if extra else "")


def _scale(course: Course, settings: Settings) -> str:
    """How the memory is scaled in the observation."""
    n = settings.n_agents
    seen, remembered = np.array(course.observed)[:, n : 2 * n], np.array(course.before)
    if not seen.any():
        return "zero"
    if _equal(seen, remembered):
        return "unscaled"
    later = ~np.array(course.first)
    if later.sum() > 1 and _equal(seen[1:][later[1:]], np.array(course.utilities)[:-1][later[1:]]):
        return "the utilities of the step before"
    there = remembered > 0
    divisors = remembered[there] / np.where(seen[there] == 0, np.nan, seen[there])
    if np.isfinite(divisors).all() and np.ptp(divisors) <= CLOSE * divisors.max():
        return f"divided by {np.median(divisors):.6g}"
    means = remembered.mean(axis=1, keepdims=True)
    if _equal(seen[later], (remembered / np.where(means > 0, means, 1))[later]):
        return "relative to its mean"
    return f"divided by a number that varies, between {np.nanmin(divisors):.3g} and {np.nanmax(divisors):.3g}"


def _parts(course: Course, settings: Settings) -> tuple[Floats, Floats, Floats]:
    judge = as_judge(settings.welfare)
    return np.sum(course.utilities, axis=1), *(np.asarray(judge(np.array(z))) for z in (course.after, course.before))


def _ours(course: Course, settings: Settings) -> Floats:
    total, after, before = _parts(course, settings)
    return (1 - settings.weight) * total + settings.weight * (after - before)


def _reward(course: Course, settings: Settings) -> str:
    """How the rewards come about, apart from the first of each episode."""
    later, theirs = ~np.array(course.first), np.array(course.rewards)
    if _equal(theirs[later], _ours(course, settings)[later]):
        return "as equation 8"
    total, after, before = _parts(course, settings)
    features = np.stack([total, after, -before], axis=1)[later]
    weights = np.linalg.lstsq(features, theirs[later], rcond=None)[0]
    if _equal(theirs[later], features @ weights):
        return "{:.4g} U + {:.4g} W(Zᵗ) − {:.4g} W(Zᵗ⁻¹)".format(*weights)
    worst = int(np.argmax(np.abs(theirs - _ours(course, settings)) * later))
    return (
        f"differs, most at step {worst + 1}: {theirs[worst]:.6g}, equation 8 gives {_ours(course, settings)[worst]:.6g}"
    )


def _first_reward(course: Course, settings: Settings) -> str:
    first, theirs = np.array(course.first), np.array(course.rewards)
    ours = _ours(course, settings)
    if _equal(theirs[first], ours[first]):
        return "from W(0)"
    start = (theirs - ours)[first] / -settings.weight + _parts(course, settings)[2][first]
    if np.ptp(start) <= CLOSE * max(1.0, np.abs(start).max()):
        return f"from a welfare of {np.median(start):z.4g}"
    return f"differs, such as {theirs[first][0]:.6g} where W(0) gives {ours[first][0]:.6g}"


def _ends(course: Course, settings: Settings) -> str:
    return ", ".join(f"{how} after {steps} steps" for steps, how in dict.fromkeys(course.ends))


def _advantaged(course: Course, settings: Settings) -> str:
    needs = np.array(course.observed)[:, : settings.n_agents]
    return ", ".join(str(i + 1) for i in np.flatnonzero(needs.min(axis=0) >= ADVANTAGED_FROM - CLOSE)) or "none"


def _equal(a: Floats, b: Floats) -> bool:
    return bool(np.abs(a - b).max(initial=0.0) <= CLOSE * max(1.0, np.abs(b).max(initial=0.0)))


CHOICES: dict[int, tuple[str, Callable[[Course, Settings], str]]] = {
    5: ("observed besides needs", _entries),
    6: ("memory in the observation", _scale),
    10: ("reward", _reward),
    11: ("first reward of an episode", _first_reward),
    14: ("end of an episode", _ends),
    17: ("advantaged agents", _advantaged),
}
"""The choices that an environment can show, by their rows in docs/decisions.md."""


if __name__ == "__main__":
    tyro.cli(main)
