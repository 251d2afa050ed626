"""The style of all figures: lines and type, and how a figure is saved. All charts share the colours.

Memories have the same colour and dash pattern in every figure, so figures can also be read in grey.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bygones._files import replacing
from bygones._parts import needed_by
from bygones.document.charts import INK as INK
from bygones.document.charts import MUTED as MUTED
from bygones.document.charts import PALETTE as PALETTE
from bygones.document.charts import RULE as RULE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Look: TypeAlias = dict[str, Any]
"""How a line looks: arguments of Matplotlib's `plot`."""

MEMORY_LOOK: dict[str, Look] = {
    "instantaneous": {"color": MUTED, "linestyle": (0, (1, 1.2))},
    "myopic": {"color": MUTED, "linestyle": (0, (1, 1.2))},
    "γ = 0.9": {"color": "#56B4E9", "linestyle": (0, (5, 1.5))},
    "γ = 0.95": {"color": "#009E73", "linestyle": (0, (4, 1.2, 1, 1.2))},
    "γ = 0.99": {"color": "#0072B2", "linestyle": (0, (9, 1.5))},
    "γ = 0.999": {"color": "#CC79A7", "linestyle": (0, (6, 1, 1, 1, 1, 1))},
    "perfect recall": {"color": "#D55E00", "linestyle": "-", "linewidth": 2.2},
}
"""The line of each memory, by its name; an agent with an instantaneous memory is myopic."""

_RC: dict[Any, Any] = {
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.labelsize": 9,
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "savefig.dpi": 200,
    "svg.hashsalt": "bygones",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Uses this style in Matplotlib for the duration of a `with` block."""
    with needed_by("drawing a figure"):
        import matplotlib
        from cycler import cycler

    with matplotlib.rc_context({**_RC, "axes.prop_cycle": cycler(color=PALETTE)}):
        yield


@contextmanager
def quiet_about_glyphs() -> Iterator[None]:
    """Does not warn of letters that the font lacks: a name in another script is drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Saves a figure as PNG and SVG; creates the folder if necessary. Equal figures give equal files."""
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with house_style(), quiet_about_glyphs():
        for path, metadata in zip(paths, ({"Software": None}, {"Date": None, "Creator": "bygones"}), strict=True):
            with replacing(path) as file:
                figure.savefig(file, format=path.suffix[1:], metadata=metadata)
    return paths
