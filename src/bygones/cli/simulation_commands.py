"""`bygones simulate`: runs the paper's examples or compares policies, then prints and plots the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from bygones.cli.arguments import Out, Output, Printed, optional
from bygones.cli.console import print_document, print_json, print_paths, progress
from bygones.cli.pictures import save_beside

if TYPE_CHECKING:
    from bygones.kinds import Kind
    from bygones.memory import Memory


MOST_AGENTS = 1_000_000
"""The most agents whose policies are compared."""

MOST_STEPS = 10_000_000
"""The most steps for which they are."""

MOST_CELLS = 10_000_000_000
"""The most agents times steps: some minutes of each policy."""


def simulate(
    example: Annotated[
        Positional[Literal["example-1", "example-2"] | None],
        optional("The paper's example to run: example-1 or example-2. Leave it out to compare policies.", "[EXAMPLE]"),
    ] = None,
    policy: Annotated[
        tuple[str, ...],
        optional(
            "Policies to compare: prices, calibrated, one-step, proportional-fair, max-min, largest-need, "
            "largest-need-fair-ties, round-robin, random, your own as module:name, or a trained policy in a "
            ".safetensors file.",
            "POLICY…",
        ),
    ] = (),
    gamma: Annotated[
        tuple[float, ...], optional("Discount factors of the memories to compare; only one with --policy.", "NUMBER…")
    ] = (),
    half_life: Annotated[
        tuple[float, ...],
        optional("Half-lives, in steps, of the memories to compare; only one with --policy.", "STEPS…"),
    ] = (),
    memory: Annotated[
        tuple[str, ...],
        optional(
            "Memories to compare by name, such as perfect or 'sliding_window(length=20)'; only one with --policy.",
            "MEMORY…",
        ),
    ] = (),
    welfare: Annotated[
        str, arg(metavar="WELFARE", help="Welfare function, such as egalitarian, nash or 'alpha_fair(alpha=2)'.")
    ] = "egalitarian",
    steps: Annotated[int | None, optional("For an example: number of steps; 50 if left out.", "STEPS")] = None,
    bundles: Annotated[bool, arg(help="For an example: whether one agent may receive both items.")] = True,
    n_agents: Annotated[int, arg(metavar="NUMBER", help="For policies: number of agents.")] = 10,
    n_advantaged: Annotated[
        int, arg(metavar="NUMBER", help="For policies: number of agents with needs from U(0.8, 1) instead of U(0, 1).")
    ] = 2,
    n_resources: Annotated[
        int, arg(metavar="NUMBER", help="For policies: number of agents who are served at each step.")
    ] = 2,
    horizon: Annotated[int | None, optional("For policies: number of steps; 1000 if left out.", "STEPS")] = None,
    kind: Annotated[
        Literal["good", "burden"],
        arg(help="For policies: whether needs are utilities (good) or loads (burden) of the agents served."),
    ] = "good",
    entitlements: Annotated[
        tuple[float, ...],
        optional("For policies: the entitlement of each agent, the advantaged first; equal if left out.", "NUMBER…"),
    ] = (),
    seed: Annotated[
        int, arg(metavar="SEED", help="Seed of the needs and of random draws among equally good decisions.")
    ] = 0,
    out: Out = Path("out"),
    output: Printed = Output(),
) -> None:
    """Run one of the paper's examples, or compare policies on the same needs.

    In the examples Alice and Bob share a cake and a donut at every step. Without --gamma, --half-life or --memory, the
    memories of Figure 1 are compared. With --policy, agents with random needs are served instead.

    For example:
        bygones simulate example-1
        bygones simulate example-2 --half-life 5 20 --welfare nash
        bygones simulate --policy prices one-step random --n-agents 100 --horizon 10000 --half-life 50
        bygones simulate --policy prices random --kind burden --half-life 50
    """
    from bygones.memory import Discounted, parse_memory

    memories: dict[str, Memory] = {f"γ = {g:g}": Discounted(gamma=g) for g in gamma}
    memories |= {f"half-life {h:g}": Discounted(half_life=h) for h in half_life}
    memories |= {text: parse_memory(text) for text in memory}
    if (example is None) == (not policy):
        raise ValueError("give either an example (example-1 or example-2) or policies (--policy one-step random)")
    if example is not None:
        if horizon is not None:
            raise ValueError("--horizon is for policies; use --steps with an example")
        if kind != "good":
            raise ValueError("--kind is for policies: the examples are about goods")
        if entitlements:
            raise ValueError("--entitlements is for policies")
        _simulate_example(example, memories, welfare, 50 if steps is None else steps, bundles, seed, out, output.json)
        return
    if steps is not None:
        raise ValueError("--steps is for examples; use --horizon with --policy")
    if len(memories) > 1:
        raise ValueError(f"policies are compared under one memory, got {', '.join(memories)}")
    label, remembered = next(iter(memories.items()), ("half-life 50", Discounted(half_life=50)))
    sizes = (n_agents, n_advantaged, n_resources, 1000 if horizon is None else horizon)
    _simulate_policies(policy, label, remembered, welfare, sizes, kind, entitlements or None, seed, out, output.json)


def _simulate_example(
    example: str,
    memories: Mapping[str, Memory],
    welfare: str,
    steps: int,
    bundles: bool,
    seed: int,
    out: Path,
    json: bool,
) -> None:
    from bygones.paper import examples as s
    from bygones.report.paper.example_figures import example_figure

    histories = {
        label: s.run(s.EXAMPLES[example], memory, welfare, steps, bundles=bundles, seed=seed)
        for label, memory in (memories or s.FIGURE_1_MEMORIES).items()
    }
    paths = save_beside(lambda: example_figure(example, histories), out, example)
    if json:
        print_json({label: history.to_dict() for label, history in histories.items()})
        return
    print_document(s.ExampleComparison(example, histories, welfare).document())
    print_paths(paths)


def _simulate_policies(
    names: Sequence[str],
    label: str,
    memory: Memory,
    welfare: str,
    sizes: tuple[int, int, int, int],
    kind: Kind,
    entitlements: Sequence[float] | None,
    seed: int,
    out: Path,
    json: bool,
) -> None:
    from bygones import simulation as s
    from bygones._arrays import check_count
    from bygones.allocation.objective import check_form
    from bygones.envs.needs import advantaged
    from bygones.report.figures.policy_figures import policies_figure
    from bygones.simulation_comparison import SimulationComparison
    from bygones.welfare import parse_welfare

    n_agents, n_advantaged, k, horizon = sizes
    # Checked here, before the first step.
    check_count("n_agents", n_agents, most=MOST_AGENTS)
    if check_count("horizon", horizon, most=MOST_STEPS) * n_agents > MOST_CELLS:
        raise ValueError(
            f"n_agents times horizon must be at most {MOST_CELLS:,}, got {n_agents:,} agents for {horizon:,} steps"
        )
    needs = advantaged(n_agents, n_advantaged)
    # Checked here, before a progress bar appears.
    if check_count("n_resources", k) > n_agents:
        raise ValueError(f"n_resources must be at most the number of agents ({n_agents}), got {k}")
    check_form(parse_welfare(welfare), kind)
    policies = {name: s.policy_named(name, memory, welfare, needs, k, kind, entitlements) for name in names}
    with progress("Simulating", total=len(policies) * horizon) as advance:
        courses = {}
        for name, policy in policies.items():
            played = s.stretches(policy, needs, memory, welfare, horizon, k, [seed], advance, kind, entitlements)
            courses[name] = s.Course.of((stretch for (stretch,) in played), horizon)
    paths = save_beside(lambda: policies_figure(courses, welfare), out, "policies")
    if json:
        print_json({name: course.summary for name, course in courses.items()})
        return
    print_document(SimulationComparison(courses, k, label, welfare).document())
    print_paths(paths)
