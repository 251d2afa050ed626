"""What the reward asks for: the derivation, term by term, and networks that learned it."""

from pathlib import Path

import numpy as np
import pytest

from bygones import Discounted
from bygones.envs.needs import advantaged
from bygones.learn.settings import Settings
from bygones.paper.asked import AskedFor, asked_for, lasting
from bygones.paper.results import read
from bygones.simulation import simulate_seeds

EVIDENCE = Path(__file__).parents[2] / "evidence"
DELTA = 0.99


def state_of(Z, steps=200, gamma=0.99):
    """A memory that holds these sums after that many steps."""
    memory = Discounted(gamma=gamma)
    state = memory.init(len(Z))
    for _ in range(steps - 1):
        state = memory.advance(state, np.zeros(len(Z)))
    return memory.advance(state, np.asarray(Z, dtype=float))


def worth(run, needs, Z):
    """What serving each agent is worth, by the rule."""
    (keys,) = AskedFor(run).keys(np.asarray(needs), run.n_resources, state_of(Z, gamma=run.gamma), step=200)
    return keys


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("discount", [0.0, 0.9, 0.99])
def test_a_unit_of_utility_is_remembered_with_a_total_weight_of_kappa(gamma, discount):
    steps = np.arange(5000)
    series = (1 - discount) * np.sum((discount * gamma) ** steps)
    assert lasting(gamma, discount) == pytest.approx(series, rel=1e-9)


@pytest.mark.parametrize("gamma", [0.9, 0.99, 1.0])
def test_nash_worth_is_the_discounted_gain_of_welfare_to_second_order(gamma):
    steps, Z, needs = np.arange(5000), np.array([15.0, 30.0, 60.0]), np.array([0.9, 0.5, 1.0])
    run = Settings(gamma=gamma, weight=1.0, n_agents=3, n_resources=1)
    left = gamma * Z[:, None]
    gains = (np.log(left + gamma**steps * needs[:, None]) - np.log(left)) @ ((1 - DELTA) * DELTA**steps)
    found = worth(run, needs, Z)
    first_order = lasting(gamma, DELTA) * needs / left[:, 0]
    # What is left after two orders is of the third.
    ratio = needs / left[:, 0]
    assert (np.abs(found - gains) < first_order * ratio**2 / 3).all()
    assert (np.abs(first_order - gains) > first_order * ratio / 10).all()


def test_the_weight_mixes_utility_and_welfare():
    needs, Z = np.array([0.9, 0.5, 1.0]), np.array([15.0, 30.0, 60.0])
    for welfare in ("nash", "egalitarian"):
        all_, none, mixed = (
            worth(Settings(welfare=welfare, weight=weight, n_agents=3, n_resources=1), needs, Z)
            for weight in (1.0, 0.0, 0.3)
        )
        assert none == pytest.approx(needs)
        assert mixed == pytest.approx(0.7 * none + 0.3 * all_)


def test_egalitarian_worth_is_shared_among_those_who_may_become_the_worst_off():
    run = Settings(welfare="egalitarian", weight=1.0, gamma=1.0)
    Z = np.array([20.0, 20.0, *[50.0] * 8])
    shares = worth(run, np.ones(10), Z) / lasting(1.0, DELTA)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[:2] == pytest.approx([0.5, 0.5], abs=1e-3)
    # Levels move by σ√100 while a gift lasts; σ² is the variance of what is received under lots.
    rng = np.random.default_rng(0)
    needs = advantaged(10, 2).draw(rng.random((200_000, 10)), None, 1)[0]
    spread = 10 * np.sqrt(((rng.random(needs.shape) < 0.2) * needs).var(axis=0).mean())
    level = np.array([20.0, 20.0 + spread, *[500.0] * 8])
    first, second, *_ = worth(run, np.ones(10), level)
    assert np.log(first / second) == pytest.approx(1.0, rel=0.01)


def test_averages_divide_an_egalitarian_gift_by_the_denominator():
    run = Settings(welfare="egalitarian", weight=1.0, gamma=0.99)
    Z, needs = np.linspace(10, 12, 10), np.linspace(0.1, 1, 10)
    added, averaged = worth(run, needs, Z), worth(run.replace(aggregation="averaged"), needs, Z)
    denominator = np.sum(0.99 ** np.arange(201))
    assert averaged == pytest.approx(added / denominator)


def test_averages_change_nothing_under_nash_welfare():
    run, Z, needs = Settings(), np.linspace(10, 12, 10), np.linspace(0.1, 1, 10)
    assert worth(run, needs, Z) == pytest.approx(worth(run.replace(aggregation="averaged"), needs, Z))


def test_the_least_and_the_most_that_a_reward_can_ask_for():
    """Without weight on fairness, or without memory, it asks for the largest needs."""
    largest = simulate_seeds(
        AskedFor(Settings(weight=0.0)), advantaged(10, 2), Discounted(gamma=0.99), "nash", 500, 2, range(2)
    )
    assert all(
        (each.utilities.sum(axis=1) == np.sort(each.needs, axis=1)[:, -2:].sum(axis=1)).all() for each in largest
    )
    utility = asked_for(Settings(weight=0.0), [500])[500]
    assert asked_for(Settings(gamma=0.0, weight=1.0), [500])[500] == utility
    assert asked_for(Settings(gamma=1.0, weight=1.0), [500])[500].gini < utility.gini / 5


def test_perfect_recall_is_asked_for_utility_in_the_end_except_by_sums_under_egalitarian_welfare():
    def ginis(**changes):
        found = asked_for(Settings(gamma=1.0, weight=0.99, **changes), [300, 6000])
        return found[300].gini, found[6000].gini

    early, late = ginis(welfare="nash")
    assert late > 2 * early
    early, late = ginis(welfare="egalitarian", aggregation="averaged")
    assert late > 1.2 * early
    early, late = ginis(welfare="egalitarian")
    assert late < early < 0.02


@pytest.mark.parametrize(("welfare", "close"), [("nash", 0.035), ("egalitarian", 0.06)])
def test_the_symmetric_network_learns_what_is_asked_for(welfare, close):
    runs = read(EVIDENCE / "grid" / "symmetric", EVIDENCE / "collapse" / "symmetric")
    learned, asked = [], []
    for gamma in (0.9, 0.99, 0.999, 1.0):
        for weight in (0.9, 0.99, 0.999, 1.0):
            cell = {"welfare": welfare, "aggregation": "additive", "gamma": gamma, "weight": weight, "horizon": 1000}
            learned.append(np.median(runs.where(**cell)["final_gini"]))
            asked.append(asked_for(Settings(**cell), [1000])[1000].gini)
    assert np.corrcoef(learned, asked)[0, 1] > 0.985
    assert np.abs(np.subtract(learned, asked)).max() < close


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"welfare": "alpha_fair(alpha=2)"}, "welfare must be one of egalitarian, nash, got"),
        ({"discount": 1.0}, "discount must be at least 0 and below 1, got 1.0"),
    ],
)
def test_rewards_that_the_rule_does_not_cover_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        AskedFor(Settings(**settings))
