"""`bygones evaluate`: plays a saved policy, or one that needs no training."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import numpy as np
from tyro.conf import Positional, arg

from bygones._text import listed
from bygones.cli.arguments import Output, Printed, optional
from bygones.cli.console import print_document, print_json
from bygones.cli.scenario_commands import DEFAULT_MEMORY
from bygones.envs import catalogue
from bygones.envs.problem import most_welfare, problem_of
from bygones.learn import TrainedPolicy
from bygones.learn import evaluate as play
from bygones.learn.descriptions import ForeignPartsError
from bygones.learn.evaluation import EPISODES
from bygones.scenario_policies.rule_players import made


def evaluate(
    policy: Annotated[
        Positional[str],
        arg(
            metavar="POLICY",
            help="A policy that bygones has saved, as a .safetensors file. Or the name of a trained policy that the "
            "repository ships, such as nash-perfect-recall. Or the name of one that needs no training, such as "
            "max-min, 'slices(length=25)' or your own as module:name.",
        ),
    ],
    scenario: Annotated[
        str | None,
        optional(
            "The scenario: for a saved policy only if it was trained on a custom one, as module:Class; for a name any "
            "scenario, or the paper's problem if left out.",
            "NAME",
        ),
    ] = None,
    memory: Annotated[
        str | None, optional(f"For a name: the memory of the problem; {DEFAULT_MEMORY} if left out.", "MEMORY")
    ] = None,
    welfare: Annotated[
        str | None, optional("For a name: the welfare of the problem; nash if left out.", "WELFARE")
    ] = None,
    episodes: Annotated[int, arg(help="Episodes to play.")] = EPISODES,
    seed: Annotated[int, arg(help="Seed of the needs and of the sampled actions.")] = 0,
    deterministic: Annotated[bool, arg(help="Play greedy actions only.")] = False,
    output: Printed = Output(),
) -> None:
    """Play a saved policy with sampled actions, as in training, and with greedy actions.

    The results can differ a lot. If the policy was trained on the paper's problem, the table also shows rules that need
    no training and the best that any policy can reach, with the same memory, welfare, agents and horizon. A policy that
    needs no training is given by its name. --json also has every episode.

    For example:
        bygones evaluate out/train/seed-0.safetensors --episodes 100
        bygones evaluate nash-perfect-recall
        bygones evaluate max-min --scenario queues --memory perfect
    """
    from bygones.paper.evaluated_policy import EvaluatedPolicy, evaluated, file_of_trained

    path = file_of_trained(policy)
    if path is not None:
        for given, flag in ((memory, "--memory"), (welfare, "--welfare")):
            if given is not None:
                raise ValueError(f"{flag} is for a policy without training: {policy} has its own problem")
        result = evaluated(_loaded(path, scenario), path.name, episodes=episodes, seed=seed, only_greedy=deterministic)
    else:
        if deterministic:
            raise ValueError(f"--deterministic is for a trained policy, and {policy} needs no training")
        problem = problem_of(scenario or "allocation", memory=memory or DEFAULT_MEMORY, welfare=welfare or "nash")
        played = play(made(policy, problem, np.random.default_rng([seed, 1])), problem, episodes=episodes, seed=seed)
        result = EvaluatedPolicy(policy, problem.horizon, episodes, {policy: played}, most_welfare(problem))
    if output.json:
        print_json({"policy": policy, "episodes": episodes, "seed": seed, **result.to_dict()})
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
