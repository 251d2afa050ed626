"""`bygones evaluate`: plays a saved policy."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from bygones._text import listed
from bygones.cli.arguments import Output, Printed, optional
from bygones.cli.console import print_document, print_json
from bygones.envs import catalogue
from bygones.learn import TrainedPolicy
from bygones.learn.descriptions import ForeignPartsError
from bygones.learn.evaluation import EPISODES


def evaluate(
    policy: Annotated[
        Positional[Path], arg(metavar="POLICY", help="A policy that bygones has saved: a .safetensors file.")
    ],
    scenario: Annotated[
        str | None,
        optional("The scenario that the policy was trained on, if it is a custom one: module:Class.", "NAME"),
    ] = None,
    episodes: Annotated[int, arg(help="Episodes to play.")] = EPISODES,
    seed: Annotated[int, arg(help="Seed of the needs and of the sampled actions.")] = 0,
    deterministic: Annotated[bool, arg(help="Play greedy actions only.")] = False,
    output: Printed = Output(),
) -> None:
    """Play a saved policy with sampled actions, as in training, and with greedy actions.

    The results can differ a lot. If the policy was trained on the paper's problem, the table also shows rules that need
    no training and the best that any policy can reach, with the same memory, welfare, agents and horizon. --json also
    has every episode.

    Example: bygones evaluate out/train/seed-0.safetensors --episodes 100
    """
    from bygones.paper.evaluated_policy import evaluated

    result = evaluated(_loaded(policy, scenario), policy.name, episodes=episodes, seed=seed, only_greedy=deterministic)
    if output.json:
        print_json({"policy": str(policy), "episodes": episodes, "seed": seed, **result.to_dict()})
    else:
        print_document(result.document())


def _loaded(policy: Path, scenario: str | None) -> TrainedPolicy:
    try:
        return TrainedPolicy.load(policy, scenario=None if scenario is None else catalogue.parse_scenario(scenario))
    except ForeignPartsError as error:
        if not error.parts:
            raise
        if set(error.parts) == {"scenario"}:
            world = error.parts["scenario"]
            module, _, name = world["kind"].rpartition(".")
            inside = ", ".join(f"{word}={value!r}" for word, value in world["numbers"].items())
            asked = shlex.quote(f"{module}:{name}({inside})")
            raise ValueError(
                f"{policy} was trained on a custom scenario: name it, as in bygones evaluate "
                f"{shlex.quote(str(policy))} --scenario {asked}"
            ) from None
        own = listed([f"the {name} {part['kind']}" for name, part in error.parts.items()])
        raise ValueError(
            f"{policy} was trained with {own}, which cannot be named on the command line: load it in Python with its "
            "problem, TrainedPolicy.load(path, problem=...), and use bygones.learn.evaluate"
        ) from None
