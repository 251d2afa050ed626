"""`bygones figure` and `bygones table`: draw the paper's figures and compute its tables."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from bygones._files import replacing_text
from bygones.cli.arguments import Out, Output, Printed, optional
from bygones.cli.console import print_document, print_json, print_paths, progress
from bygones.cli.research.results_commands import draw, setting


def figure(
    name: Annotated[
        Positional[str],
        arg(metavar="FIGURE", help="Figure to draw: 1, 2a to 5b, 6 to 9, optimum, scales, networks, claims, or all."),
    ],
    places: Annotated[
        tuple[Path, ...],
        optional("Folders or files of results; the folders in evidence/grid if left out.", "PATH…"),
    ] = (),
    observation_scale: Annotated[
        str | None,
        optional("Observation scale of the runs to draw, if results have several; window if left out.", "SCALE"),
    ] = None,
    settings: Annotated[tuple[str, ...], setting("Draw only runs with these settings, such as ends=termination.")] = (),
    out: Out = Path("out"),
) -> None:
    """Draw a figure of the paper as PNG and SVG.

    Figure 1 is computed on the spot; the other figures are drawn from results.

    For example:
        bygones figure 1
        bygones figure 3b --observation-scale none
        bygones figure all --places out/paper/results --out figures
    """
    if name in ("1", "all"):
        _draw_figure_1(out)
    if name != "1":
        draw(name, places, observation_scale, settings, out)


def _draw_figure_1(out: Path) -> None:
    from bygones.paper import examples as s
    from bygones.report.paper.example_figures import figure_1
    from bygones.report.style import save

    with progress("Figure 1", total=len(s.EXAMPLES) * len(s.FIGURE_1_MEMORIES)) as advance:
        histories = s.figure_1(done=advance)
    print_paths(save(figure_1(histories), out, "figure-1"))


def table(
    name: Annotated[Positional[Literal["1", "2"]], arg(metavar="TABLE", help="Table to compute: 1 or 2.")],
    out: Out = Path("out"),
    output: Printed = Output(),
) -> None:
    """Compute a table of the paper, print it and write it as CSV.

    Table 1 has half-lives and effective windows. Table 2 has the settings of the experiments, as the paper gives them
    and as bygones trains them.

    Example: bygones table 1

    Example: bygones table 2
    """
    from bygones.paper import paper_tables

    computed = paper_tables.table_1() if name == "1" else paper_tables.table_2()
    path = out / f"table-{name}.csv"
    with replacing_text(path) as file:
        csv.writer(file).writerows([computed.rows[0]._fields, *computed.rows])
    if output.json:
        print_json([row._asdict() for row in computed.rows])
        return
    print_document(computed.document())
    print_paths([path])
