"""Figures show themselves in notebooks."""

import re
import struct
from pathlib import Path

from bygones.paper import examples
from bygones.report.figures import shown_figure
from bygones.report.paper.example_figures import figure_1


def test_a_figure_shows_itself_as_a_picture_of_its_own_size():
    figure = figure_1(examples.figure_1(steps=3))
    assert isinstance(figure, shown_figure.ShownFigure)
    picture = figure._repr_png_()
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (1155, 726)


def test_every_figure_of_the_package_does():
    report = Path(shown_figure.__file__).parents[1]
    files = [path for path in report.rglob("*_figure*.py") if path.stem != "shown_figure"]
    made = {path.stem: re.findall(r"\b(\w*Figure)\(", path.read_text("utf-8")) for path in files}
    assert sum(map(len, made.values())) > 8
    assert {name for names in made.values() for name in names} == {"ShownFigure"}
