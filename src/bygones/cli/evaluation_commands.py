"""`bygones evaluate`: what a saved policy is worth, beside the rules that need no training and the best possible."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones._text import listed
from bygones.cli.arguments import optional
from bygones.cli.console import print_json, print_sentences, print_table
from bygones.envs import catalogue
from bygones.envs.problem import most_welfare
from bygones.learn import TrainedPolicy
from bygones.learn import evaluate as play
from bygones.learn.descriptions import ForeignPartsError
from bygones.learn.evaluation import EPISODES

if TYPE_CHECKING:
    from bygones.paper.beside import Beside

COLUMNS = {
    "gini": "Gini", "welfare": "fairness score", "utility_per_step": "utility per step",
    "utility_least": "worst-off agent", "utility_most": "best-off agent", "share_of_best": "share of the best",
}  # fmt: skip
"""The metrics that are shown, and their names in the table."""
TITLES = {"sampled": "policy, actions drawn", "deterministic": "policy, most probable actions"}
BEST = (
    "Best possible: no policy has a higher fairness score on average. The other numbers of that row are those of the "
    "best policy without a memory."
)


def evaluate(
    policy: Annotated[
        Positional[Path], arg(metavar="POLICY", help="A policy that bygones has saved: a .safetensors file.")
    ],
    scenario: Annotated[
        str | None, optional("The scenario that the policy was trained on, if it is your own: module:Class.", "NAME")
    ] = None,
    episodes: Annotated[int, arg(help="Episodes to play.")] = EPISODES,
    seed: Annotated[int, arg(help="Seed of the needs and of the actions that are drawn.")] = 0,
    deterministic: Annotated[bool, arg(help="Only take the most probable action at every step.")] = False,
    json: Annotated[bool, arg(help="Print JSON, with every episode.")] = False,
) -> None:
    """Play a saved policy: with actions drawn from it, as in training, and with its most probable actions.

    The two can differ a lot. If the policy was trained on the paper's problem, the table also shows the rules that need
    no training, and the best that any policy can reach; all have the memory, welfare, agents and horizon of training.

    Example: bygones evaluate out/train/seed-0.safetensors --episodes 100
    """
    trained = _loaded(policy, scenario)
    ways = ("deterministic",) if deterministic else ("sampled", "deterministic")
    found = {way: play(trained, episodes=episodes, seed=seed, deterministic=way == "deterministic") for way in ways}
    others = _beside(trained)
    means = {way: _row(one.mean, others) for way, one in found.items()}
    rules = {rule: _row(one._asdict(), others) for rule, one in (others.rules if others else {}).items()}
    best = {"best possible": _row(others.best._asdict(), others)} if others else {}
    if json:
        each = {way: {name: values.tolist() for name, values in one.episodes.items()} for way, one in found.items()}
        asked = {"policy": str(policy), "episodes": episodes, "seed": seed}
        print_json({**asked, **means, "rules": rules, "best": best.get("best possible"), "each": each})
        return
    rows = (
        {TITLES[way]: row for way, row in means.items()} | {f"rule: {rule}": row for rule, row in rules.items()} | best
    )
    shown = [name for name in COLUMNS if others or name != "share_of_best"]
    played = f"{episodes} {'episode' if episodes == 1 else 'episodes'} of {trained.problem.horizon} steps"
    print_table(
        f"{policy.name}: means over {played}",
        ["", *(COLUMNS[name] for name in shown)],
        [[title, *(round(row[name], 4) for name in shown)] for title, row in rows.items()],
    )
    if others:
        print_sentences([BEST])
    elif (bound := _bound(trained)) is not None:
        print_sentences([f"No policy has a fairness score above {bound:.4f} on average, and possibly none reaches it."])


def _loaded(policy: Path, scenario: str | None) -> TrainedPolicy:
    try:
        return TrainedPolicy.load(policy, scenario=None if scenario is None else catalogue.named(scenario))
    except ForeignPartsError as error:
        if not error.parts:
            raise
        if set(error.parts) == {"scenario"}:
            world = error.parts["scenario"]
            module, _, name = world["kind"].rpartition(".")
            inside = ", ".join(f"{word}={value!r}" for word, value in world["numbers"].items())
            asked = shlex.quote(f"{module}:{name}({inside})")
            raise ValueError(
                f"{policy} was trained on a scenario of your own: name it, as bygones evaluate "
                f"{shlex.quote(str(policy))} --scenario {asked}"
            ) from None
        own = listed([f"the {name} {part['kind']}" for name, part in error.parts.items()])
        raise ValueError(
            f"{policy} was trained with {own}, which cannot be named on the command line: load it in Python with its "
            "problem, TrainedPolicy.load(path, problem=...), and use bygones.learn.evaluate"
        ) from None


def _bound(trained: TrainedPolicy) -> float | None:
    """The fairness score that no policy exceeds in the policy's scenario, where a bound is known."""
    return most_welfare(trained.problem)


def _row(metrics: Mapping[str, float], others: Beside | None) -> dict[str, float]:
    share = {} if others is None else {"share_of_best": float(others.optimum.share(metrics["welfare"]))}
    return {**metrics, **share}


def _beside(trained: TrainedPolicy) -> Beside | None:
    """What the policy is compared with; None where its problem is not the paper's."""
    from bygones.paper.beside import beside

    if trained.custom_problem is not None:
        return None
    try:
        return beside(trained.settings)
    except ValueError:  # a welfare of one's own, for which no optimum is known
        return None
