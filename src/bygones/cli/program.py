"""The command line: thin. Every command reads its input, calls the library, and prints for people or for programs."""

from __future__ import annotations

import csv
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import tyro
from tyro.conf import Positional, arg

from bygones.cli import allocation_commands, audit_commands, ledger_commands, report_commands
from bygones.cli.console import print_json, print_paths, print_table, progress, read_matrix
from bygones.cli.usage import one_sentence

if TYPE_CHECKING:
    from bygones.memory import Memory

app = tyro.extras.SubcommandApp()
LEARNING = {
    "train": "Train PPO on the paper's problem; every setting is a flag.",
    "reproduce": "Run the paper's experiment: training, figures, a verdict on every claim, and a report.",
    "claims": "Judge the paper's claims from results.",
    "results": "Show, merge and export results of experiments.",
}
"""Commands of `bygones.cli.learning_commands`, named here so that the help can list them without importing JAX."""

STOPPED = 130
"""The exit code after Ctrl-C, as shells have it."""

for _name, _about in LEARNING.items():
    app.command(name=_name, help=_about)(lambda: None)
app.command(allocation_commands.allocate)
app.command(report_commands.report)
app.command(audit_commands.audit)
app.command(
    ledger_commands.app, name="ledger", help="A fairness memory that lives in a file or database between decisions."
)


def _number(words: list[str]) -> float:
    try:
        return float(words[0])
    except ValueError:
        raise ValueError(f"expected a number, got {words[0]!r}") from None


Number = Annotated[
    float | None,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="NUMBER",
        instance_from_str=_number,
        is_instance=lambda value: value is None or isinstance(value, float),
        str_from_instance=lambda value: ["not given" if value is None else str(value)],
    ),
]
"""A number that need not be given."""


def _optional(help_text: str) -> object:
    return arg(help=help_text, help_behavior_hint="")


Json = Annotated[bool, arg(help="Print JSON for programs instead of a table; infinite numbers appear as 'inf'.")]
Out = Annotated[Path, arg(help="Folder for the files that are written.")]


@app.command
def decay(
    gamma: Annotated[Number, _optional("Discount factor per step, from 0 to 1.")] = None,
    half_life: Annotated[Number, _optional("Steps until a past utility counts half.")] = None,
    tenth_life: Annotated[Number, _optional("Steps until a past utility counts a tenth.")] = None,
    window: Annotated[Number, _optional("Effective window: total weight of all the past, in steps.")] = None,
    last: Annotated[Number, _optional("Number of recent steps that hold --share of all weight.")] = None,
    share: Annotated[Number, _optional("Share of all weight that the --last steps hold, e.g. 0.95.")] = None,
    horizon: Annotated[float, arg(help="Steps after which bounds are given; inf is for ever.")] = math.inf,
    u_max: Annotated[float, arg(help="Largest utility of a step, for the bounds.")] = 1.0,
    json: Json = False,
) -> None:
    """Say a decay in one way, read it in every other.

    Example: bygones decay --half-life 7
    """
    from bygones import decay as d

    numbers = d.equivalents(
        gamma=gamma, half_life=half_life, tenth_life=tenth_life, window=window, last=last, share=share
    )
    numbers["additive_bound"] = d.additive_bound(u_max, numbers["gamma"], horizon)
    numbers["averaged_bound"] = d.averaged_bound(u_max)
    numbers["responsiveness"] = d.responsiveness(numbers["gamma"], horizon)
    over = "for ever" if horizon == math.inf else f"after {horizon:g} steps"
    meaning = {
        "gamma": "what one step leaves of a past utility",
        "half_life": "steps until a past utility counts half",
        "tenth_life": "steps until it counts a tenth",
        "window": "total weight of all the past, in steps",
        **{f"steps_for_{p}%": f"recent steps that hold {p}% of all weight" for p in (50, 90, 95, 99)},
        "additive_bound": f"largest remembered sum, {over}, of utilities up to {u_max:g}",
        "averaged_bound": f"largest remembered mean of utilities up to {u_max:g}",
        "responsiveness": f"weight of the newest utility in the remembered mean, {over}",
    }
    if json:
        print_json(numbers)
    else:
        print_table("Decay", ["quantity", "value", "meaning"], [[n, v, meaning[n]] for n, v in numbers.items()])


@app.command
def simulate(
    example: Annotated[
        Positional[Literal["example-1", "example-2"] | None], _optional("Which example of the paper, or use --policy.")
    ] = None,
    policy: Annotated[
        tuple[str, ...],
        _optional("Policies to compare: one-step, utilitarian, round-robin, random, or a learned file.safetensors."),
    ] = (),
    gamma: Annotated[tuple[float, ...], arg(help="Discount factors to compare; one for policies.")] = (),
    half_life: Annotated[tuple[float, ...], arg(help="Half-lives to compare, in steps; one for policies.")] = (),
    welfare: Annotated[
        str, arg(help="Welfare function, e.g. egalitarian, nash, 'alpha_fair(alpha=2)'.")
    ] = "egalitarian",
    steps: Annotated[
        int | None, _optional("Examples: how many times the items are handed out; 50 if left out.")
    ] = None,
    bundles: Annotated[bool, arg(help="Examples: whether one agent may take several items at once.")] = True,
    agents: Annotated[int, arg(help="Policies: how many agents there are.")] = 10,
    advantaged: Annotated[int, arg(help="Policies: how many of them have needs from U(0.8, 1), not U(0, 1).")] = 2,
    resources: Annotated[int, arg(help="Policies: how many agents are served at a step.")] = 2,
    horizon: Annotated[int | None, _optional("Policies: how many steps are played; 1000 if left out.")] = None,
    seed: Annotated[int, arg(help="Of the needs, and of draws among equally good allocations.")] = 0,
    out: Out = Path("out"),
    json: Json = False,
) -> None:
    """Play out the paper's examples, or compare policies on the paper's needs; printed and drawn.

    bygones simulate example-1: Alice and Bob share a cake and a donut, over and over. Without --gamma or --half-life,
    the memories of Figure 1 are compared.

    bygones simulate --policy one-step random --agents 100 --horizon 10000 --half-life 50: who is served, step after
    step, under each policy. Every policy meets the same needs.
    """
    from bygones.memory import Discounted

    memories = {f"γ = {g:g}": Discounted(gamma=g) for g in gamma}
    memories |= {f"half-life {h:g}": Discounted(half_life=h) for h in half_life}
    if (example is None) == (not policy):
        raise ValueError("simulate needs an example (example-1 or example-2) or policies (--policy one-step random)")
    if example is not None:
        if horizon is not None:
            raise ValueError(f"horizon is for policies, an example takes steps, got horizon {horizon}")
        _simulate_example(example, memories, welfare, 50 if steps is None else steps, bundles, seed, out, json)
        return
    if steps is not None:
        raise ValueError(f"steps is for the examples, policies take a horizon, got steps {steps}")
    if len(memories) > 1:
        raise ValueError(f"policies are compared under one memory, got {', '.join(memories)}")
    label, memory = next(iter(memories.items()), ("half-life 50", Discounted(half_life=50)))
    sizes = (agents, advantaged, resources, 1000 if horizon is None else horizon)
    _simulate_policies(policy, label, memory, welfare, sizes, seed, out, json)


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
    from bygones.report.figures.example_figures import example_figure
    from bygones.report.style import save

    histories = {
        label: s.run(s.EXAMPLES[example], memory, welfare, steps, bundles=bundles, seed=seed)
        for label, memory in (memories or s.FIGURE_1_MEMORIES).items()
    }
    paths = save(example_figure(example, histories), out, example)
    if json:
        print_json({label: history.to_dict() for label, history in histories.items()})
        return
    rows = [[label, *h.cumulative[-1], h.difference[-1], h.perceived_difference[-1]] for label, h in histories.items()]
    columns = ["memory", "Alice in all", "Bob in all", "Alice's lead", "as remembered"]
    print_table(f"{example.replace('-', ' ').capitalize()} after {steps} steps, {welfare} welfare", columns, rows)
    print_paths(paths)


def _simulate_policies(
    names: Sequence[str],
    label: str,
    memory: Memory,
    welfare: str,
    sizes: tuple[int, int, int, int],
    seed: int,
    out: Path,
    json: bool,
) -> None:
    from bygones import simulation as s
    from bygones._arrays import check_count
    from bygones.envs.needs import advantaged
    from bygones.report.figures.policy_figures import policies_figure
    from bygones.report.style import save
    from bygones.welfare import named

    n_agents, n_advantaged, k, horizon = sizes
    needs = advantaged(n_agents, n_advantaged)
    # Refused here, before there is a progress bar.
    check_count("horizon", horizon)
    if check_count("resources", k) > n_agents:
        raise ValueError(f"resources must be at most the number of agents ({n_agents}), got {k}")
    named(welfare)
    policies = {name: s.policy_named(name, memory, welfare, n_agents, k) for name in names}
    with progress("Policies", total=len(policies) * horizon) as advance:
        played = {
            name: s.play(policy, needs, memory, welfare, horizon, k, seed, advance) for name, policy in policies.items()
        }
    paths = save(policies_figure(played, welfare), out, "policies")
    results = {name: each.summary() for name, each in played.items()}
    if json:
        print_json(results)
        return
    print_table(
        f"{k} of {n_agents} agents served for {horizon} steps, {label}, {welfare} welfare",
        ["policy", "Gini", "egalitarian (least)", "Nash (geometric mean)", "utility a step, all"],
        [[name, *result.values()] for name, result in results.items()],
    )
    print_paths(paths)


@app.command
def stability(
    matrix: Annotated[Positional[Path], arg(help="CSV file with a square matrix and no header.")],
    u_max: Annotated[float, arg(help="Largest utility of a step.")] = 1.0,
    allow_negative: Annotated[bool, arg(help="Accept negative entries (not for log-Nash welfare).")] = False,
    json: Json = False,
) -> None:
    """Look a linear memory Z' = AZ + u over: is it bounded, by how much, and if it is refused, why."""
    from bygones import stability as s

    verdict = s.design(read_matrix(matrix), u_max, non_negative=not allow_negative)
    numbers = {
        "accepted": verdict.accepted,
        "spectral_radius": verdict.spectral_radius,
        "bound": verdict.bound.value if verdict.bound else math.inf,
        "bound_error": verdict.bound.error if verdict.bound else None,
        "worst_growth": verdict.growth.factor if verdict.growth else math.inf,
        "worst_growth_step": verdict.growth.step if verdict.growth else None,
        "reasons": list(verdict.reasons),
    }
    if json:
        print_json(numbers)
        return
    print_table("Linear memory", ["quantity", "value"], [[n, v] for n, v in numbers.items() if n != "reasons"])
    print(verdict)


@app.command
def figure(
    name: Annotated[Positional[str], arg(help="Which: 1, 2a to 5b, 6 to 9, optimum, scales, claims, or all.")],
    places: Annotated[
        tuple[Path, ...], _optional("Folders or files of results; by default the evidence, each of evidence/grid.")
    ] = (),
    observation_scale: Annotated[
        str | None, _optional("Observation scale of the runs, where results have several; by default window.")
    ] = None,
    settings: Annotated[
        tuple[str, ...], arg(name="set", help="Which runs, where they differ in anything else: ends=termination.")
    ] = (),
    out: Out = Path("out"),
) -> None:
    """Draw a figure of the paper, as PNG and SVG: the first from scratch, the others from results.

    Example: bygones figure 3b --observation-scale none
    """
    if name in ("1", "all"):
        _draw_figure_1(out)
    if name != "1":
        from bygones.cli import learning_commands

        learning_commands.draw(name, places, observation_scale, settings, out)


def _draw_figure_1(out: Path) -> None:
    from bygones.paper import examples as s
    from bygones.report.figures.example_figures import figure_1
    from bygones.report.style import save

    with progress("Figure 1", total=len(s.EXAMPLES) * len(s.FIGURE_1_MEMORIES)) as advance:
        histories = s.figure_1(done=advance)
    print_paths(save(figure_1(histories), out, "figure-1"))


@app.command
def table(
    name: Annotated[Positional[Literal["1"]], arg(help="Which table of the paper.")],
    out: Out = Path("out"),
    json: Json = False,
) -> None:
    """Compute a table of the paper; also written as CSV."""
    from bygones.paper import examples as s

    rows = s.table_1()
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"table-{name}.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([s.Table1Row._fields, *rows])
    if json:
        print_json([row._asdict() for row in rows])
        return
    print_table(
        "Table 1: half-life and effective window",
        ["γ", "half-life (steps)", "effective window (steps)"],
        [[f"{row.gamma:.2f}", f"{row.half_life:.2f}", f"{row.window:.1f}"] for row in rows],
    )
    print_paths([path])


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; bad input ends with exit code 2 and one sentence, Ctrl-C with 130 and how to go on."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with one_sentence():
            _commands(words).cli(
                prog="bygones",
                description="Temporal fairness in repeated allocation: remember the past, and let it go.",
                args=words,
                use_underscores=False,
            )
    except ValueError as error:
        _refuse(str(error))
    except ModuleNotFoundError as error:
        _refuse(f"this command needs {error.name}: install bygones with its extras, such as 'bygones[ledger]'")
    except BrokenPipeError:
        # Whoever reads has read enough; what is still to be written on leaving goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:
        reason = error.strerror or str(error)
        _refuse(f"{error.filename}: {reason}" if error.filename else reason)
    except KeyboardInterrupt as stopped:
        print(f"bygones: {str(stopped) or 'stopped'}", file=sys.stderr)
        raise SystemExit(STOPPED) from None


def _commands(words: list[str]) -> tyro.extras.SubcommandApp:
    """The commands to choose from: those that need JAX are looked at only if one of them is meant."""
    if words and words[0] in LEARNING:
        from bygones.cli import learning_commands

        return learning_commands.app
    return app


def _refuse(sentence: str) -> NoReturn:
    print(f"bygones: {sentence}", file=sys.stderr)
    raise SystemExit(2) from None


if __name__ == "__main__":
    main()
