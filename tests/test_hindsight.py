"""No decisions beat the bound, and it is tight."""

import itertools
import math

import numpy as np
import pytest
from benchmarks.hindsight import hindsight
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones import PerfectRecall
from bygones.allocation import Assign, ChooseK, Divide, allocate
from bygones.allocation.decide import at_prices
from bygones.allocation.pricing import learning
from bygones.envs.needs import advantaged
from bygones.simulation import policy_named, simulate


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_no_decisions_beat_it(seed):
    rng = np.random.default_rng(seed)
    needs = rng.random((3, 3)) * [1.0, 0.3, 2.0]
    upper = {welfare: hindsight([ChooseK(x, 1) for x in needs], welfare).upper for welfare in ("egalitarian", "nash")}
    for served in itertools.product(range(3), repeat=3):
        made = np.zeros(3)
        np.add.at(made, list(served), needs[np.arange(3), list(served)])
        made /= 3
        assert made.min() <= upper["egalitarian"] + 1e-12
        assert np.prod(made) ** (1 / 3) <= upper["nash"] + 1e-12


def test_it_is_tight_in_the_papers_problem():
    """The optimum of the distribution is 0.1784, and good prices come within a hundredth of the bound."""
    noise = np.random.default_rng(np.random.SeedSequence(0).spawn(2)[0])
    noise.random(10)
    problems = [ChooseK(advantaged().draw(noise.random(10), None, t)[0], 2) for t in range(1, 4001)]
    bound = hindsight(problems, "egalitarian")
    assert bound.upper == pytest.approx(0.1784, rel=0.01)
    assert bound.prices.sum() == pytest.approx(1.0)
    memory = PerfectRecall()
    made = simulate(
        policy_named("prices", memory, "egalitarian", advantaged(), 2), advantaged(), memory, "egalitarian", 4000
    )
    assert 0.98 * bound.upper <= made.summary()["egalitarian"] <= bound.upper


def test_items_and_amounts_have_a_bound_too():
    rng = np.random.default_rng(0)
    items = [Assign(rng.random((3, 2))) for _ in range(10)]
    assert 0.3 < hindsight(items, "egalitarian").upper < 2 / 3
    # Everybody has the same use for it, so a third each is the best.
    assert hindsight([Divide(1.0, np.ones(3))] * 5, "nash").upper == pytest.approx(1 / 3)
    assert hindsight([Divide(1.0, np.ones(3))] * 5, "egalitarian").upper == pytest.approx(1 / 3)


@pytest.mark.parametrize("kind", ["good", "burden"])
def test_divisions_are_bounded_at_once_as_one_by_one(kind):
    rng = np.random.default_rng(0)
    rates, caps = rng.random((6, 4)) + 0.1, rng.random((6, 4)) + 0.3
    problems = [Divide(1.0, r, c, kind=kind) for r, c in zip(rates, caps, strict=True)]
    bound = hindsight(problems, "egalitarian")
    priced = np.mean([p.utilities_of(at_prices(p, bound.prices)) @ bound.prices for p in problems])
    assert abs(bound.upper) == pytest.approx(priced)


@pytest.mark.parametrize("kind", ["good", "burden"])
def test_matchings_are_bounded_without_ties_as_with_them(kind):
    rng = np.random.default_rng(0)
    allowed = rng.random((6, 4, 2)) < 0.8
    allowed[:, [0, 1], [0, 1]] = True
    problems = [Assign(rng.random((4, 2)) + 0.1, 1, may, kind=kind) for may in allowed]
    bound = hindsight(problems, "egalitarian")
    priced = np.mean([p.utilities_of(at_prices(p, bound.prices)) @ bound.prices for p in problems])
    assert abs(bound.upper) == pytest.approx(priced)


def power_mean(loads, p):
    return loads.max() if p == math.inf else (loads**p).mean() ** (1 / p)


BURDENS = {"egalitarian": math.inf, "power_burden": 2.0, "power_burden(p=3.5)": 3.5}


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from(list(BURDENS)))
def test_no_way_to_carry_a_shift_is_lighter(seed, welfare):
    """Every sequence of decisions on three problems."""
    rng = np.random.default_rng(seed)
    loads = rng.random((3, 3)) * [1.0, 0.3, 2.0] + 0.01
    allowed = np.array([[True, True, True], [True, False, True], [False, True, True]])
    shifts = [ChooseK(x, 1, allowed=may, kind="burden") for x, may in zip(loads, allowed, strict=True)]
    least = -hindsight(shifts, welfare).upper
    for carriers in itertools.product(range(3), repeat=3):
        if allowed[np.arange(3), list(carriers)].all():
            made = sum(p.utilities_of(np.array([i])) for p, i in zip(shifts, carriers, strict=True)) / 3
            assert power_mean(made, BURDENS[welfare]) >= least - 1e-12


@pytest.mark.parametrize("welfare", BURDENS)
def test_no_way_to_carry_items_is_lighter(welfare):
    """Every sequence of decisions on two problems of two items."""
    loads = np.random.default_rng(0).random((2, 3, 2)) * [[1.0], [0.3], [2.0]] + 0.01
    items = [Assign(x, kind="burden") for x in loads]
    least = -hindsight(items, welfare).upper
    lightest = math.inf
    for owners in itertools.product(itertools.permutations(range(3), 2), repeat=2):
        made = sum(problem.utilities_of(np.array(two)) for problem, two in zip(items, owners, strict=True)) / 2
        lightest = min(lightest, power_mean(made, BURDENS[welfare]))
    assert 0.5 * lightest < least <= lightest + 1e-12


@pytest.mark.parametrize("welfare", BURDENS)
@pytest.mark.parametrize("shape", ["choose", "divide"])
def test_the_bound_on_burdens_is_tight(welfare, shape):
    """Decisions by prices come close to it in the long run, so no better bound could be much higher."""
    rng = np.random.default_rng(0)
    loads = rng.random((2000, 5)) * [1.0, 1.0, 2.0, 3.0, 1.0] + 0.1
    allowed = rng.random((2000, 5)) < [1.0, 1.0, 0.7, 0.7, 0.7]
    if shape == "choose":
        problems = [ChooseK(x, 2, allowed=may, kind="burden") for x, may in zip(loads, allowed, strict=True)]
    else:
        problems = [Divide(1.0, x, kind="burden") for x in loads]
    bound = hindsight(problems, welfare)
    memory = learning(PerfectRecall(), welfare, kind="burden")
    state = memory.init(5)
    for problem in problems:
        state = allocate(problem, memory, state, welfare, rule="prices", rng=rng).state_after
    made = power_mean(memory.read(state) / len(problems), BURDENS[welfare])
    assert -bound.upper <= made <= -1.03 * bound.upper
    assert (bound.prices > 0).all()


def test_everybody_carries_the_same_where_all_are_alike():
    for welfare in BURDENS:
        assert hindsight([Divide(1.0, np.ones(4), kind="burden")] * 5, welfare).upper == pytest.approx(-0.25)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="welfare must be egalitarian or nash for goods, got utilitarian"):
        hindsight([ChooseK([1, 2], 1)], "utilitarian")
    with pytest.raises(ValueError, match="welfare must be egalitarian or nash for goods, got power_burden"):
        hindsight([ChooseK([1, 2], 1)], "power_burden")
    with pytest.raises(ValueError, match="welfare must be egalitarian or power_burden for burdens, got nash"):
        hindsight([ChooseK([1, 2], 1, kind="burden")], "nash")
    with pytest.raises(ValueError, match="at least one problem"):
        hindsight([], "nash")
    with pytest.raises(ValueError, match="problems must be all of goods or all of burdens"):
        hindsight([ChooseK([1, 2], 1), ChooseK([1, 2], 1, kind="burden")], "egalitarian")
