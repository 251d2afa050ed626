"""The figure that all functions of this package return: Matplotlib's, and notebooks show it.

A notebook shows Matplotlib's own figures once `pyplot` has been imported, which nothing here needs.
"""

from __future__ import annotations

import io

from matplotlib.figure import Figure

from bygones.report.style import house_style, quiet_about_glyphs


class ShownFigure(Figure):
    """A figure of Matplotlib that shows itself where it is the last value of a cell."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        with house_style(), quiet_about_glyphs():
            self.savefig(picture, format="png", dpi=self.dpi)
        return picture.getvalue()
