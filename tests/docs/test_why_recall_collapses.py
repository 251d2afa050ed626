"""The page on λ: every number in it is that of the shipped runs."""

import re

import pytest
from benchmarks import collapse_note
from matplotlib.image import imread

from bygones.learn.settings import Settings
from bygones.paper.collapse import learned

PAGE = collapse_note.DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.soak
def test_the_page_has_the_numbers_of_the_runs():
    """`python -m benchmarks.collapse_note` writes them again."""
    assert collapse_note.rewritten(PAGE) == PAGE


@pytest.mark.soak
def test_the_figures_are_those_of_the_runs(tmp_path):
    """Pixel by pixel; a line of another cell would change more pixels than this."""
    for picture in collapse_note.draw_figures(tmp_path):
        drawn, kept = imread(picture), imread(collapse_note.IMAGES / picture.name)
        assert drawn.shape == kept.shape
        assert (abs(drawn - kept).max(axis=2) > 0.1).mean() < 1e-4, f"draw {picture.name} again"


def test_a_page_without_a_mark_is_refused():
    with pytest.raises(ValueError, match="no mark for 'answer'"):
        collapse_note.rewritten("# Why perfect recall collapses\n")


def test_the_answer_is_five_sentences():
    """Each on a line of its own, so that none needs another to be understood."""
    sentences = re.findall(
        r"^\d\. (.+)$", PAGE.partition("answer: written by")[2].partition("<!-- end")[0], re.MULTILINE
    )
    assert len(sentences) == 5
    for sentence in sentences:
        assert sentence.endswith(".")
        assert not re.search(r"[.;:!?] ", sentence)


def test_the_optimum_and_drawing_lots_are_the_ends_of_the_scale():
    rows = re.findall(r"^\| (nash|egalitarian) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)
    for welfare, lots, best in rows:
        run = Settings(welfare=welfare, horizon=collapse_note.LONG)
        assert learned(run, float(lots)) == pytest.approx(0.0, abs=1e-4)
        assert learned(run, float(best)) == pytest.approx(1.0, abs=1e-4)
    assert len(rows) == 2
