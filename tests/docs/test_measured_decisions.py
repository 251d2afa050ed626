"""What `docs/decisions.md` calls measured is what the shipped runs show."""

from itertools import pairwise

import pytest

from bygones.paper.grid import HORIZONS
from bygones.paper.results import read
from support.guides import DOCS

GRID = DOCS.parent / "evidence" / "grid"
PAGE = (DOCS / "decisions.md").read_text(encoding="utf-8")
SCALES = ("none", "fixed", "window", "expected", "relative", "running")
WELFARES = ("egalitarian", "nash")
LONGEST = max(HORIZONS)


def says(text):
    """Whether the page has this text, wherever its lines break."""
    return text in " ".join(PAGE.split())


@pytest.fixture(scope="module")
def mean():
    """A function that gives the mean of a metric over the seeds of a cell, from the runs in a folder."""
    folders = {}

    def of(folder, welfare, aggregation, gamma, horizon, metric="final_gini", **settings):
        if folder not in folders:
            folders[folder] = read(GRID / folder)
        cell = {"welfare": welfare, "aggregation": aggregation, "gamma": gamma, "horizon": horizon}
        runs = folders[folder].where(**cell, **settings)
        assert len(runs) == 10
        return float(runs[metric].mean())

    return of


def test_row_5_what_the_denominator_does(mean):
    def averaged(folder, welfare, gamma, horizon=LONGEST):
        return mean(folder, welfare, "averaged", gamma, horizon)

    moved = max(
        abs(averaged("denominator", welfare, gamma, horizon) - averaged("none", welfare, gamma, horizon))
        for welfare in WELFARES
        for gamma in (0.9, 0.99)
        for horizon in HORIZONS
    )
    assert says(f"no mean Gini moves by more than {moved:.2f}")
    recent, all_, nash_recent, nash_all = (
        f"from {averaged('none', welfare, gamma):.2f} to {averaged('denominator', welfare, gamma):.2f}"
        for welfare in WELFARES
        for gamma in (0.999, 1.0)
    )
    assert says(f"the Gini rises {recent} (γ = 0.999) and {all_} (perfect recall); under Nash welfare it rises")
    assert says(f"it rises {nash_recent} and {nash_all}.")


@pytest.mark.parametrize(("gamma", "agent"), [(1.0, "Perfect recall"), (0.0, "Myopic")])
@pytest.mark.parametrize(("welfare", "name"), [("egalitarian", "egalitarian"), ("nash", "Nash")])
def test_row_6_what_the_scale_does(mean, gamma, agent, welfare, name):
    assert says(f"| Agent, T = {LONGEST} | {' | '.join(SCALES)} |")
    numbers = [f"{mean(scale, welfare, 'additive', gamma, LONGEST):.2f}" for scale in SCALES]
    assert says(f"| {agent}, {name} | {' | '.join(numbers)} |")


def test_row_8_additive_and_averaged_are_the_same_run_at_gamma_0():
    runs = read(GRID / "none").where(welfare="nash", gamma=0.0)
    rows = sorted(zip(runs["horizon"], runs["seed"], runs["aggregation"], runs["final_gini"], strict=True))
    equal = [one[3] == other[3] for one, other in pairwise(rows) if one[:2] == other[:2]]
    assert all(equal)
    assert says(f"Under Nash welfare all {len(equal)} pairs have the same final Gini, digit for digit.")


def test_row_9_the_score_of_true_utilities_and_of_the_memory(mean):
    true, remembered = (
        f"{mean('none', 'nash', 'additive', 0.9, LONGEST, metric):.1f}"
        for metric in ("final_welfare", "final_welfare_memory")
    )
    assert says(f"a Nash agent with γ = 0.9 scores {true} on the true utilities and {remembered} on its memory.")


def test_row_10_what_strict_shaping_does(mean):
    shaped, plain = (
        [mean(folder, "egalitarian", "additive", 0.99, horizon) for horizon in HORIZONS]
        for folder in ("shaping", "none")
    )
    ends = f"ends between Gini {min(shaped):.2f} and {max(shaped):.2f}"
    assert says(f"unscaled egalitarian γ = 0.99 {ends} instead of {min(plain):.2f} to {max(plain):.2f}.")


def test_row_14_what_termination_does(mean):
    before, after = (mean(folder, "egalitarian", "additive", 0.0, 100) for folder in ("none", "termination"))
    assert says(f"at T = 100 the myopic egalitarian agent goes from Gini {before:.2f} to {after:.2f}.")
    before, after = (mean(folder, "egalitarian", "additive", 0.99, LONGEST) for folder in ("none", "termination"))
    assert says(f"the egalitarian agent with γ = 0.99 goes from {before:.3f} to {after:.3f}.")


def test_row_17_what_the_weight_does(mean):
    unfair, fair = (
        [
            mean(folder, "egalitarian", "averaged", gamma, horizon, weight=weight)
            for gamma in (0.9, 0.99, 0.999, 1.0)
            for horizon in (100, 1000)
        ]
        for folder, weight in (("lambda", 0.9), ("none", 0.999))
    )
    assert says(f"stay unfair at λ = 0.9 (Gini {min(unfair):.2f} to {max(unfair):.2f} at T = 100 and 1000)")
    assert says(f"become fair at λ = 0.999 ({min(fair):.2f} to {max(fair):.2f})")
