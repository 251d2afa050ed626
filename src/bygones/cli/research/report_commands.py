"""`bygones report`: reads results and writes one page; needs neither JAX nor a screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from bygones._files import check_output
from bygones.cli.arguments import optional
from bygones.cli.console import print_paths, progress
from bygones.cli.research.results_commands import check_results

if TYPE_CHECKING:
    from bygones.paper.results import Results


def report(
    places: Annotated[
        Positional[tuple[Path, ...]],
        optional("Folders or files of your own results; without any, the page shows the evidence alone.", "[PATH…]"),
    ] = (),
    evidence: Annotated[
        Path | None,
        optional(
            "Folder with sets of results to show next to yours; by default evidence/grid, if it exists.", "FOLDER"
        ),
    ] = None,
    out: Annotated[Path, arg(help="The file to write.")] = Path("report.html"),
) -> None:
    """Write one HTML page with the paper's claims and every run behind them; it opens without a network.

    Example: bygones report out/paper/results --out out/report.html
    """
    from bygones.paper.evidence import evidence_folder
    from bygones.paper.results import read
    from bygones.report.paper.paper_page import read_evidence, write_report

    check_output(out, [*places, *([evidence] if evidence else [])])
    with progress("Report", total=2) as advance:
        shipped = read_evidence(evidence_folder() if evidence is None else evidence)
        own = read(*places) if places else None
        if own is not None:
            check_results(own, places)
        if own is not None and shipped is not None and set(_written(own)) <= set(_written(shipped)):
            own, shipped = None, own
        advance()
        path = write_report(out, own, shipped)
        advance()
    print_paths([path])


def _written(results: Results) -> Iterator[tuple[str, object]]:
    """Name and date of each run: a run that was repeated counts as another, although it has the same name."""
    return zip(results["run"].tolist(), results["finished"].tolist(), strict=True)
