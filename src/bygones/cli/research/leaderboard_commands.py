"""`bygones leaderboard`: rules and learners in every scenario. What needs JAX is imported when the command runs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from bygones.cli.arguments import Output, Printed, optional
from bygones.cli.console import print_document, print_json, print_paths, progress
from bygones.leaderboard.entries import MEMORIES, SIZES, WelfareName, check_entries, scenarios


def leaderboard(
    size: Annotated[
        Literal["quick", "full"],
        arg(
            help="quick: five scenarios with T = 100, in minutes; full: all scenarios and learners, a million steps "
            "each."
        ),
    ] = "quick",
    welfare: Annotated[WelfareName, arg(help="The welfare that is learned and judged.")] = "nash",
    scenario: Annotated[
        tuple[str, ...],
        optional('Only these scenarios, such as donut or, with its own T, "queues(n_servers=2, horizon=50)".', "NAME…"),
    ] = (),
    memory: Annotated[
        tuple[str, ...],
        optional(
            f"Only these memories: {', '.join(MEMORIES)}, or another by its name, such as 'reset(every=20)'.", "NAME…"
        ),
    ] = (),
    player: Annotated[
        tuple[str, ...],
        optional(
            "Only these rules and learners, such as prices, slices(length=25) or ppo; slices alone means all lengths, "
            "and ppo-welfare learns from welfare alone.",
            "NAME…",
        ),
    ] = (),
    steps: Annotated[
        int | None, optional("Steps that each learner learns from; by default the size's.", "NUMBER")
    ] = None,
    seeds: Annotated[int | None, optional("Number of seeds; by default the size's.", "NUMBER")] = None,
    workers: Annotated[int | None, optional("Processes on a CPU; by default one per core.", "NUMBER")] = None,
    out: Annotated[Path, arg(help="Folder for the results and the page.")] = Path("out/leaderboard"),
    output: Printed = Output(),
) -> None:
    """Compare rules and learners in every scenario, with every memory, and show where learning is worth it.

    All learners learn from the same number of steps, and all players are evaluated in the same episodes. The score is
    the equal utility per step that gives the same welfare. Results are kept in Parquet files, so the same command
    plays only the missing runs.

    Example: bygones leaderboard --scenario donut queues --player prices ppo --steps 100000
    """
    from bygones._arrays import check_count
    from bygones.leaderboard import board, players
    from bygones.leaderboard.leaderboard import Leaderboard
    from bygones.scenario_policies.rule_players import RULES

    chosen = SIZES[size]
    budget, n_seeds = chosen.steps if steps is None else steps, chosen.seeds if seeds is None else seeds
    check_entries(memory, n_seeds, budget)
    players.check_players(player)
    if workers is not None:
        check_count("workers", workers, most=1024)
    who = player or ((*RULES, *chosen.learners) if chosen.learners else players.names())
    worlds = scenarios(chosen, scenario)
    wanted = board.entries(worlds, welfare, budget, n_seeds, memory or tuple(MEMORIES), who)
    idle = board.left_out(worlds, welfare, who)
    if not wanted:
        raise ValueError(f"player {idle[0]['player']} cannot play {idle[0]['scenario']}: {idle[0]['reason']}")
    missing = len(set(wanted) - set(board.read(out)))
    with progress(f"{missing} of {len(wanted)} runs", missing) as advance:
        try:
            results = board.fill(out, wanted, lambda _: advance(), workers)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; the same command plays the missing runs") from None
    result = Leaderboard(results, idle)
    document, pages = result.document(), []
    if importlib.util.find_spec("jinja2") and importlib.util.find_spec("plotly"):
        from bygones.report.page import document_page, write

        pages.append(write(document_page(document, "Made by bygones leaderboard."), out / "leaderboard.html"))
    if output.json:
        print_json(result.to_dict())
        return
    print_document(document)
    print_paths(pages)
