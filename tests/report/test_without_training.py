"""The report says plainly whether learning is worth it."""

import re

import numpy as np
import pytest

from bygones.paper import untrained
from bygones.paper.grid import GAMMAS, memory_label
from bygones.paper.optimum import for_settings
from bygones.paper.untrained import RULES, rule_shares
from bygones.report.page import render
from bygones.report.paper.paper_page import report_page
from bygones.report.paper.without_training import columns, problems_of, rows, sentence
from support import synthetic_results


@pytest.fixture(scope="module")
def results():
    return synthetic_results.results(seeds=2, extra=False).where(horizon=(100, 10000))


@pytest.fixture(scope="module")
def egalitarian(results):
    return results.where(welfare="egalitarian", aggregation="additive")


def test_the_page_says_that_learning_is_not_worth_it(results):
    document = render(report_page(results))
    section = document.split('id="is-learning-worth-it"')[1].split("</section>")[0]
    for welfare in ("egalitarian", "Nash"):
        assert re.search(
            rf"<strong>Under {welfare} welfare at T = 10,000, learning is not worth it:</strong> ", section
        )
        assert f"Share of the best possible welfare at T = 10,000, {welfare} welfare</caption>" in section
    for rule in RULES:
        assert section.count(f">{rule}</th>") == 2


def test_and_that_it_is_where_no_rule_comes_near(results, monkeypatch):
    monkeypatch.setattr(untrained, "rule_shares", lambda runs, gamma: {"random": 0.5})
    document = render(report_page(results))
    assert re.search(
        "Under egalitarian welfare at T = 10,000, learning is worth it:</strong> the best of 10 trained", document
    )


def test_other_horizons_are_named_where_they_differ(egalitarian, monkeypatch):
    assert sentence(egalitarian.where(horizon=10000)).endswith("%.")
    monkeypatch.setattr(untrained, "RULES", ("random",))
    assert sentence(egalitarian).endswith(" The same is true at the shorter horizons.")
    better = untrained.rule_shares
    monkeypatch.setattr(
        untrained,
        "rule_shares",
        lambda runs, gamma: {"oracle": 1.0} if runs["horizon"][0] == 100 else better(runs, gamma),
    )
    assert sentence(egalitarian).endswith(" At T = 100, learning is not worth it.")


def test_the_table_has_a_row_per_memory_with_the_trained_and_every_rule(egalitarian):
    found = rows(egalitarian)
    assert [row[0] for row in found] == [memory_label(gamma) for gamma in GAMMAS]
    assert len(found[0]) == len(columns(egalitarian))
    cell = egalitarian.where(horizon=10000, gamma=0.99)
    shares = for_settings(cell.settings()[0]).share(cell["final_welfare"])
    expected = [shares.max(), np.median(shares), *rule_shares(cell, 0.99).values()]
    assert found[2][1:] == [f"{share:.1%}" for share in expected]


def test_additive_runs_of_all_sets_are_compared_if_there_are_any(results):
    both = problems_of({"evidence": results, "own": results.where(seed=1)})
    assert list(both) == ["egalitarian", "nash"]
    assert {runs.distinct("aggregation")[0] for runs in both.values()} == {"additive"}
    assert len(both["nash"]) == 2 * 5 * 3
    averaged = problems_of({"own": results.where(aggregation="averaged")})
    assert averaged["nash"].distinct("aggregation") == ["averaged"]
