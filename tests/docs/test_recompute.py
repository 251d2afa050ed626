"""The page on recomputing: its blocks run, print what they promise, and give every table on λ with pandas alone."""

import contextlib
import io
import re

import numpy as np
import pandas
import pytest
from benchmarks import yardsticks

from bygones.paper.claims import judge
from bygones.paper.evidence import evidence_folder
from bygones.paper.results import read
from support.extras import ROOT
from support.guides import DOCS, run_guide

RECOMPUTE, PAGE = ((DOCS / name).read_text(encoding="utf-8") for name in ("recompute.md", "why-recall-collapses.md"))


@pytest.fixture(scope="module")
def ran():
    """The names that the blocks leave behind, and everything that they print."""
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(io.StringIO()) as printed:
        return run_guide(DOCS / "recompute.md"), printed.getvalue().splitlines()


def rows(part):
    """The cells of a table of the page on λ, without its header."""
    written = re.search(rf"<!-- {part}: written by .*? -->\n\n(.*?)\n\n<!-- end -->", PAGE, re.DOTALL)[1]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in written.splitlines()[2:]]


def memory(words):
    """The past discount that a table has in words."""
    return {"perfect recall": 1.0, "myopic": 0.0}[words] if "γ" not in words else float(words.removeprefix("γ = "))


def texts(row):
    return [f"{row.gini:.2f}", f"{row.learned:z.2f}"]


def test_pandas_alone():
    modules = re.findall(r"^(?:import|from) (\w+)", RECOMPUTE, re.MULTILINE)
    assert set(modules) == {"pathlib", "numpy", "pandas", "math"}


def test_the_blocks_print_what_the_page_promises(ran):
    _, printed = ran
    assert printed == re.findall(r"^print\(.*\)  # (.*)$", RECOMPUTE, re.MULTILINE)


@pytest.mark.parametrize("welfare", ["nash", "egalitarian"])
def test_every_cell_of_the_study(ran, welfare):
    names, _ = ran
    networks = [words for words in names["WORDS"] if "network" in words]
    for label, weight, *numbers in rows(welfare):
        at = {"gamma": memory(label), "weight": float(weight), "welfare": welfare}
        expected = []
        for network in networks:
            made = numbers[len(expected)] != "–"
            expected += texts(names["cell"](**at, **names["WORDS"][network])) if made else ["–", "–"]
        expected += texts(names["asked"].loc[(welfare, at["gamma"], at["weight"], "additive", 10000)])
        assert numbers == expected
    assert len(rows(welfare)) == 20


def test_the_scales_and_the_horizons(ran):
    names, _ = ran
    for label, scale, welfare, *numbers in rows("scales"):
        at = {"gamma": memory(label), "welfare": welfare, **names["WORDS"][scale]}
        assert numbers == [text for weight in (0.9, 1.0) for text in texts(names["cell"](**at, weight=weight))]
    for network, welfare, *numbers in rows("horizons"):
        for horizon, both in zip((100, 500, 1000, 5000, 10000), numbers, strict=True):
            of = {"welfare": welfare, "horizon": horizon, **names["WORDS"][network]}
            assert both == ", ".join(texts(names["cell"](**of)))
    assert (len(rows("scales")), len(rows("horizons"))) == (24, 6)


def test_the_parts_of_the_network_the_averages_and_the_bounds(ran):
    names, _ = ran
    cells = [("nash", 0.9), ("nash", 1.0), ("egalitarian", 0.9), ("egalitarian", 1.0)]
    for shared, logarithms, differences, one_by_one, *numbers in rows("symmetric"):
        network = network_with(names["PARTS"], shared, differences, one_by_one, logarithms)
        for (welfare, weight), written in zip(cells, numbers, strict=True):
            if written != "–":
                row = names["cell"](weight=weight, welfare=welfare, **network)
                assert written == ", ".join(texts(row))
    for welfare, weight, sees, scale, *numbers in rows("averages"):
        at = {"welfare": welfare, "weight": float(weight), "aggregation": "averaged", **names["WORDS"][scale]}
        assert numbers == texts(names["cell"](**at, observe_denominator=sees == "yes"))
    for welfare, network, label, _, *numbers in rows("bounded"):
        at = {"welfare": welfare, "gamma": memory(label), "weight": 0.9, **names["WORDS"][network]}
        assert numbers == texts(names["cell"](**at))
    assert [len(rows(part)) for part in ("symmetric", "averages", "bounded")] == [10, 18, 7]


def network_with(prefix, *parts):
    """The settings of a network by its parts, each `yes` or `no`."""
    if parts == ("no",) * 4:
        return {}
    if parts[:3] == ("yes",) * 3:
        return {"policy": "symmetric", "agent_features": "logarithmic" if parts[3] == "yes" else "plain"}
    order = ("shared", "differences", "sequential", "logarithmic")
    names = [name for name, has in zip(order, parts, strict=True) if has == "yes"]
    return {"learner": prefix + "_".join(names), "policy": "symmetric" if "sequential" in names else "mlp"}


def test_the_extremes(ran):
    names, _ = ran
    for horizon, *of_both, lots in rows("worst"):
        steps = int(horizon.replace(",", ""))
        for aggregation, gini, cell in zip(("additive", "averaged"), of_both[::2], of_both[1::2], strict=True):
            least_fair = names["worst"].loc[(steps, aggregation)]
            welfare, scale = cell.split(", ", 1)
            assert gini == f"{least_fair.gini:.2f}"
            assert (welfare, names["WORDS"][scale]["observation_scale"]) == (
                least_fair.welfare,
                least_fair.observation_scale,
            )
        assert lots == f"{names['ends'].set_index('horizon').loc[steps, 'lots_gini'].iloc[0]:.2f}"
    for label, welfare, weight, *ranges in rows("learner"):
        over = names["spread"].loc[(memory(label), welfare, float(weight))]
        assert over["gini"]["size"] == 18
        for measure, text in zip(("gini", "learned"), ranges, strict=True):
            assert text == f"{over[measure]['min']:z.2f} to {over[measure]['max']:z.2f}"
    assert (len(rows("worst")), len(rows("learner"))) == (5, 8)


def test_the_formula_and_the_ends_of_the_scale(ran):
    names, _ = ran
    for network, welfare, *numbers in rows("formula"):
        correlation, count, largest = names["agreement"](welfare, **names["WORDS"][network])
        assert numbers == [f"{correlation:.3f} over {count} cells", f"{largest:.2f}"]
    ends = names["ends"].query("aggregation == 'additive' and horizon == 10000").set_index("welfare")
    for welfare, lots, optimum in rows("constants"):
        assert (lots, optimum) == (f"{ends.lots[welfare]:.4f}", f"{ends.optimum[welfare]:.4f}")
    assert len(rows("formula")) == 6


def test_the_verdict_is_that_of_the_claims(ran):
    names, _ = ran
    shipped = read(*sorted(evidence_folder().iterdir())).where(observation_scale="none")
    (comparison,) = judge(shipped, ["C3"])[0].by_scale["none"].by_welfare["egalitarian"].comparisons
    assert np.allclose(sorted(names["difference"]), sorted(np.subtract(*comparison.seeds)))
    assert names["p"] == pytest.approx(comparison.p_holds)


def test_rows_of_rules_and_of_the_board_are_those_of_their_pages(ran):
    _, printed = ran
    claims, rules, board = (
        (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("claims", "rules", "leaderboard")
    )
    assert re.search(r"^\| perfect recall \|.*\| 98.0% \| 97.7% \| (\S+) \|", claims, re.MULTILINE)[1] == printed[-4]
    assert re.search(r"^\| `prices` \| (\S+) \|", rules, re.MULTILINE)[1] == printed[-3]
    scores = re.search(
        r"^\| `donut` \| max-min, perfect \| (\S+) .*? \| ppo-symmetric-welfare, perfect \| (\S+) ", board, re.M
    )
    assert list(scores.groups()) == printed[-2:]


@pytest.mark.soak
def test_the_yardsticks_are_computed_again():
    for name, made in yardsticks.TABLES.items():
        kept = pandas.read_parquet(ROOT / "evidence" / "yardsticks" / f"{name}.parquet")
        pandas.testing.assert_frame_equal(kept, pandas.DataFrame(made()), rtol=1e-9)
