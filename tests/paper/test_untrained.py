"""Rules that need no training, beside runs of the same problem."""

import json
from pathlib import Path

import numpy as np
import pytest

from bygones import inequality
from bygones.allocation.policy_contract import policies
from bygones.learn.settings import Settings
from bygones.paper import untrained
from bygones.paper.grid import GAMMAS, HORIZONS, WELFARES
from bygones.paper.optimum import for_settings
from bygones.paper.untrained import MARGIN, RULES, SEEDS, STORED, Best, Worth, reached, simulated, worth
from support import synthetic_results

ROOT = Path(__file__).parents[2]
SMALL = Settings(welfare="nash", n_agents=3, n_resources=1, n_advantaged=1, gamma=0.9)
"""A problem that the evidence does not hold."""


@pytest.fixture(scope="module")
def stored():
    return json.loads((ROOT / "evidence" / STORED).read_text(encoding="utf-8"))


def test_the_evidence_holds_every_rule_with_every_memory_at_every_horizon(stored):
    held = {(row["rule"], row["welfare"], row["gamma"], row["horizon"]) for row in stored}
    assert held == {(r, w, g, T) for r in RULES for w in WELFARES for g in GAMMAS for T in HORIZONS}
    assert len(held) == len(stored)
    assert {np.shape(row["received"]) for row in stored} == {(SEEDS, 10)}
    assert set(RULES) <= set(policies.names())


@pytest.mark.parametrize("rule", RULES)
def test_the_evidence_is_what_simulation_gives(stored, rule):
    run = Settings(welfare="egalitarian", gamma=0.99)
    (row,) = [
        row
        for row in stored
        if (row["rule"], row["welfare"], row["gamma"], row["horizon"]) == (rule, run.welfare, run.gamma, 100)
    ]
    np.testing.assert_allclose(simulated(rule, run, [100], SEEDS)[100], row["received"], rtol=1e-5)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("welfare", WELFARES)
@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
def test_a_rule_decides_alike_whether_its_memory_adds_up_or_averages(rule, welfare, gamma):
    added, averaged = (
        simulated(rule, Settings(welfare=welfare, gamma=gamma, aggregation=aggregation, n_agents=5), [60], 1)[60]
        for aggregation in ("additive", "averaged")
    )
    np.testing.assert_array_equal(added, averaged)


@pytest.mark.parametrize("aggregation", ["additive", "averaged"])
def test_rules_are_measured_as_runs_are(aggregation):
    run = SMALL.replace(aggregation=aggregation)
    found = reached("prices", run, [20, 50])
    assert list(found) == [20, 50]
    for horizon in (20, 50):
        totals = simulated("prices", SMALL, [horizon], untrained.FEW_SEEDS)[horizon]
        means = totals / horizon
        scored = totals if aggregation == "additive" else means
        one = found[horizon]
        assert one.gini == pytest.approx(np.mean([inequality.gini(each) for each in totals]))
        assert one.welfare == pytest.approx(np.log(scored + 1e-6).sum(axis=1).mean())
        assert one.utility_per_step == pytest.approx(means.sum(axis=1).mean())
        assert one.utility_least == pytest.approx(means.min(axis=1).mean())
        assert one.utility_most == pytest.approx(means.max(axis=1).mean())


def test_what_is_not_stored_is_simulated(monkeypatch, tmp_path):
    run = Settings(welfare="egalitarian", gamma=1.0)
    from_evidence = reached("random", run, [100])[100]
    monkeypatch.setattr(untrained, "evidence_folder", lambda: tmp_path / "grid")
    on_the_spot = reached("random", run, [100])[100]
    assert on_the_spot != from_evidence
    assert on_the_spot.utility_least == simulated("random", run, [100])[100].min(axis=1).mean() / 100


@pytest.mark.parametrize(("ahead", "learning"), [(-0.1, False), (0.0, False), (MARGIN / 2, False), (0.05, True)])
def test_learning_is_worth_it_where_it_is_ahead(ahead, learning):
    rule, trained = Best("prices with perfect recall", 0.9), Best("γ = 0.99", 0.9 + ahead)
    found = Worth("egalitarian", 1000, rule, trained, 1250)
    assert found.learning is learning
    prices = "prices with perfect recall reaches 90.0% of the best possible welfare without training"
    best = f"the best of 1,250 trained policies, with γ = 0.99, reaches {0.9 + ahead:.1%}"
    sentences = {
        False: f"learning is not worth it: {prices}; {best}.",
        True: f"learning is worth it: {best}; the best rule, {prices}.",
    }
    assert str(found) == sentences[learning]


def test_the_best_rule_is_compared_with_the_best_run(monkeypatch):
    runs = synthetic_results.results(seeds=2, extra=False).where(
        welfare="egalitarian", aggregation="additive", horizon=1000
    )
    best = for_settings(Settings(welfare="egalitarian", horizon=1000))
    found = worth(runs)
    assert (found.welfare, found.horizon, found.n_trained) == ("egalitarian", 1000, 10)
    assert found.trained.share == pytest.approx(float(best.share(runs["final_welfare"].max())))
    shares = {
        f"{rule} with {untrained.with_memory(gamma)}": float(
            best.share(reached(rule, Settings(welfare="egalitarian", gamma=gamma), [1000])[1000].welfare)
        )
        for rule in RULES
        for gamma in GAMMAS
        if rule != "calibrated"
    }
    assert found.rule == max(shares.items(), key=lambda item: item[1])
    assert not found.learning
    monkeypatch.setattr(untrained, "RULES", ("random",))
    assert worth(runs).learning


def test_runs_of_several_problems_are_refused():
    runs = synthetic_results.results(seeds=1, extra=False)
    with pytest.raises(
        ValueError, match=r"runs must be of one problem, got several with welfare \['egalitarian', 'nash'"
    ):
        worth(runs)
    with pytest.raises(ValueError, match="got several with horizon"):
        worth(runs.where(welfare="nash", aggregation="averaged"))
