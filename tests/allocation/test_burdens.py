"""Burdens against brute force: every way to hand everything out, on instances full of ties, zeros and exemptions."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from bygones import Discounted, Linear, PerfectRecall, simulate, welfare
from bygones.allocation import Assign, ChooseK, Divide, allocate, calibrate, prices
from bygones.allocation.policies import OneStep
from bygones.allocation.pricing import learning
from bygones.envs.needs import uniform
from bygones.memory.priced import Priced
from bygones.welfare import parse_welfare, power_burden
from support.memories import LastSteps

WELFARES = ["egalitarian", "utilitarian", "power_burden", "power_burden(p=3.5)", "generalized_gini"]

# Few values make ties and zeros common; the odd ones out make instances generic.
NUMBERS = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.sampled_from([0.0, 1.0]), st.floats(0.05, 3.0))


@st.composite
def pasts(draw, n, exempt=True):
    """A memory, what it remembers, and the shares of the load."""
    mixed = 0.4 * np.eye(n) + 0.3 / n
    memory = draw(st.sampled_from([PerfectRecall(), Discounted(gamma=0.5), PerfectRecall(average=True), Linear(mixed)]))
    state = memory.init(n)
    for _ in range(draw(st.sampled_from([1, 2, 1, 0]))):
        state = memory.update(state, np.array(draw(st.lists(NUMBERS, min_size=n, max_size=n))))
    shares = st.sampled_from([0.0, 0.5, 1.0, 2.0] if exempt else [0.5, 1.0, 2.0])
    weights = draw(st.none() | st.lists(shares, min_size=n, max_size=n).filter(any))
    return memory, state, weights


def flags(count):
    return st.lists(st.sampled_from([True, True, True, True, False]), min_size=count, max_size=count).map(np.array)


def everything(loads, allowed, capacity):
    """What each agent carries, in every way to give every item to somebody."""
    n, m = loads.shape
    for owners in itertools.product(range(n), repeat=m):
        if (np.bincount(owners, minlength=n) <= capacity).all() and all(allowed[i, j] for j, i in enumerate(owners)):
            carried = np.zeros(n)
            np.add.at(carried, list(owners), loads[list(owners), range(m)])
            yield carried


def chosen(needs, allowed, k):
    """What each agent carries, in every way to choose exactly k."""
    for who in itertools.combinations(np.flatnonzero(allowed).tolist(), k):
        carried = np.zeros(len(needs))
        carried[list(who)] = needs[list(who)]
        yield carried


def burden(name, loads, weights, n):
    """The burden of what each of those who count carries, per unit of its share; written out by hand."""
    form = parse_welfare(name).form
    if name == "egalitarian":
        return loads.max()
    if name == "utilitarian":
        return (loads * weights).sum()
    return ranked_burden(loads, weights, n) if name == "generalized_gini" else (weights * loads**form.p).sum()


def ranked_burden(loads, weights, n):
    """Generalised Gini: weights of n ranks, the heaviest load first, spread evenly over the mass that holds a rank."""
    order = np.argsort(-loads)
    ends = np.concatenate([[0.0], np.cumsum(weights[order]) * (n / weights.sum())])
    ranks = np.concatenate([[0.0], np.cumsum((2 * np.arange(n, 0, -1) - 1) / n**2)])
    return float((loads[order] * np.diff(np.interp(ends, np.arange(n + 1), ranks))).sum())


def assert_least(decision, candidates, memory, state, name, weights):
    """The burden is the least of all, and among those that reach it the loads are leximin-best."""
    n = decision.problem.n_agents
    shares = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    counts = shares > 0
    rows = [row for row in candidates if not row[~counts].any()]
    loads = np.asarray(memory.ahead(state, np.array(rows)))[:, counts] / shares[counts]
    burdens = np.array([burden(name, z, shares[counts], n) for z in loads])
    least = burdens.min()
    tied = np.sort(loads[burdens <= least + 1e-9 * (1 + abs(least))], axis=1)[:, ::-1]
    for column in range(tied.shape[1]):
        tied = tied[tied[:, column] <= tied[:, column].min() + 1e-9]
    assert -decision.welfare_after == pytest.approx(least, rel=1e-8, abs=1e-8)
    after = np.asarray(decision.after)
    np.testing.assert_allclose(np.sort(after[counts])[::-1], tied[0], rtol=1e-7, atol=1e-7)
    assert np.isnan(after[~counts]).all()
    assert not decision.utilities[~counts].any()
    assert decision.optimal
    assert decision.gap == 0.0


class TestAgainstBruteForce:
    @pytest.mark.parametrize("name", WELFARES)
    @given(data=st.data())
    @settings(max_examples=120, deadline=None)
    def test_choosing(self, data, name):
        n = data.draw(st.sampled_from([4, 5, 3, 2, 1]))
        memory, state, weights = data.draw(pasts(n))
        needs, allowed = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n))), data.draw(flags(n))
        able = allowed & (np.ones(n) if weights is None else np.asarray(weights) > 0).astype(bool)
        if not able.any():
            return
        k = data.draw(st.integers(1, int(able.sum())))
        decision = allocate(
            ChooseK(needs, k, allowed=allowed, kind="burden"), memory, state, name, entitlements=weights,
            rng=np.random.default_rng(0),
        )  # fmt: skip
        assert len(decision.served) == k
        assert able[decision.served].all()
        assert_least(decision, chosen(needs, able, k), memory, state, name, weights)

    @pytest.mark.parametrize("name", WELFARES)
    @given(data=st.data(), sparsely=st.booleans())
    @settings(max_examples=120, deadline=None)
    def test_one_item_each(self, data, name, sparsely):
        n = data.draw(st.sampled_from([4, 3, 2, 1]))
        self.check_items(data, name, sparsely, n, data.draw(st.integers(1, n)), np.ones(n, dtype=int))

    @pytest.mark.parametrize("name", WELFARES)
    @given(data=st.data(), sparsely=st.booleans())
    @settings(max_examples=60, deadline=None)
    def test_bundles(self, data, name, sparsely):
        n, m = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
        self.check_items(
            data, name, sparsely, n, m, np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
        )

    @staticmethod
    def check_items(data, name, sparsely, n, m, capacity):
        memory, state, weights = data.draw(pasts(n))
        loads = np.array(data.draw(st.lists(NUMBERS, min_size=n * m, max_size=n * m))).reshape(n, m)
        allowed = data.draw(flags(n * m)).reshape(n, m)
        allowed[0, 0] = True
        able = allowed if weights is None else allowed & (np.asarray(weights) > 0)[:, None]
        if sparsely:
            pairs = np.nonzero(allowed)
            problem = Assign(sparse.coo_array((loads[pairs], pairs), shape=(n, m)), capacity, kind="burden")
        else:
            problem = Assign(loads, capacity, allowed, kind="burden")
        candidates = list(everything(loads, able, capacity))
        if not candidates:
            with pytest.raises(ValueError, match="every item must be taken"):
                allocate(problem, memory, state, name, entitlements=weights)
            return
        decision = allocate(problem, memory, state, name, entitlements=weights, rng=np.random.default_rng(0))
        assert able[decision.given, np.arange(m)].all()
        assert (np.bincount(decision.given, minlength=n) <= capacity).all()
        assert_least(decision, candidates, memory, state, name, weights)

    @pytest.mark.parametrize("name", WELFARES)
    def test_integer_programmes_where_there_are_many(self, name, monkeypatch):
        monkeypatch.setattr("bygones.allocation.dispatch.FEW", 0)
        rng, memory = np.random.default_rng(0), PerfectRecall()
        mixed = Linear(0.4 * np.eye(3) + 0.1)
        for case in range(6):
            past = np.round(3 * rng.random(3), case % 3)
            weights = None if case % 2 else [1.0, 0.5, 2.0]
            loads, allowed = np.round(rng.random((3, 4)), 1 + case % 2), rng.random((3, 4)) < 0.8
            allowed[0] = True
            state = memory.update(memory.init(3), past)
            bundles = Assign(loads, 2 + (np.arange(3) == 0), allowed, kind="burden")
            decision = allocate(bundles, memory, state, name, entitlements=weights, rng=rng)
            assert -decision.welfare_after == pytest.approx(
                min(
                    burden(name, (past + row) / (weights or np.ones(3)), np.array(weights or np.ones(3)), 3)
                    for row in everything(loads, allowed, bundles.room)
                ),
                abs=1e-6,
            )
            assert decision.optimal
            start = mixed.update(mixed.init(3), past)
            one = allocate(ChooseK(loads[:, 0], 2, kind="burden"), mixed, start, name, entitlements=weights, rng=rng)
            assert len(one.served) == 2
            rows = np.array(list(chosen(loads[:, 0], np.ones(3), 2)))
            after = np.asarray(mixed.ahead(start, rows)) / (weights or np.ones(3))
            least = min(burden(name, z, np.array(weights or np.ones(3)), 3) for z in after)
            assert -one.welfare_after == pytest.approx(least, abs=1e-6)

    @pytest.mark.parametrize("name", WELFARES)
    @given(data=st.data())
    @settings(max_examples=60, deadline=None)
    def test_dividing(self, data, name):
        n = data.draw(st.integers(1, 4))
        memory, state, weights = data.draw(pasts(n))
        rates = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n)))
        caps = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, math.inf]), min_size=n, max_size=n)))
        shares = np.ones(n) if weights is None else np.array(weights)
        allowed = data.draw(flags(n))
        room = np.where(allowed & (shares > 0), caps, 0.0)
        amount = data.draw(st.sampled_from([0.3, 1.0, 2.0]))
        if not allowed.any():
            return
        problem = Divide(amount, rates, caps, allowed=allowed, kind="burden")
        if room.sum() < amount:
            with pytest.raises(ValueError, match="amount must be at most what the agents who can take it"):
                allocate(problem, memory, state, name, entitlements=weights)
            return
        decision = allocate(problem, memory, state, name, entitlements=weights)
        x = decision.given
        assert x.sum() == pytest.approx(amount)
        assert (x >= 0).all()
        assert (x <= room * (1 + 1e-9)).all()
        counts = shares > 0
        base = np.asarray(memory.ahead(state, np.zeros(n)))
        units = np.array([np.asarray(memory.ahead(state, np.eye(n)[i])) - base for i in range(n)]).T * rates

        def of(x):
            loads = np.maximum(base + units @ x, 0.0) / np.where(counts, shares, 1.0)
            return burden(name, loads[counts], shares[counts], n)

        assert -decision.welfare_after == pytest.approx(of(x), rel=1e-6, abs=1e-6)
        # The burden is convex: if any division is better, going a little towards it is.
        rng = np.random.default_rng(0)
        for _ in range(200):
            other = np.zeros(n)
            for i in rng.permutation(n):
                other[i] = min(room[i], amount - other.sum()) * (rng.random() if rng.random() < 0.5 else 1.0)
            for i in range(n):
                other[i] += min(room[i] - other[i], amount - other.sum())
            assert of(x + 1e-3 * (other - x)) >= of(x) - 1e-7 * (1 + abs(of(x)))


def test_a_division_is_leximin_after_the_heaviest_load():
    memory = PerfectRecall()
    state = memory.update(memory.init(4), [5.0, 1.0, 0.0, 9.0])
    decision = allocate(Divide(3.0, [1, 1, 2, 1], [9, 9, 0.5, 9], kind="burden"), memory, state, "egalitarian")
    # The third takes its cap of 0.5, carrying 1; the second takes 2.5 and carries 3.5, still less than the first.
    np.testing.assert_allclose(decision.given, [0, 2.5, 0.5, 0])


class TestTheIssue:
    def test_a_shift_goes_to_whoever_it_burdens_least(self):
        memory = PerfectRecall()
        for name in WELFARES:
            decision = allocate(ChooseK([12, 2, 4], 1, kind="burden"), memory, memory.init(3), name)
            assert decision.served.tolist() == [1]

    @pytest.mark.parametrize("past", list(itertools.permutations([3.0, 8.0, 6.0])))
    @pytest.mark.parametrize("name", ["egalitarian", "power_burden", "generalized_gini"])
    def test_the_least_burdened_takes_the_night(self, past, name):
        memory = PerfectRecall()
        state = memory.update(memory.init(3), past)
        decision = allocate(Assign([[12, 4]] * 3, kind="burden", items=["night", "evening"]), memory, state, name)
        assert decision.given.tolist() == [past.index(3.0), past.index(6.0)]

    def test_goods_and_burdens_are_opposites(self):
        memory = PerfectRecall()
        state = memory.update(memory.init(2), [1.0, 5.0])
        for kind, need in (("good", [9.0, 9.0]), ("burden", [9.0, 9.0])):
            assert allocate(ChooseK(need, 1, kind=kind), memory, state, "egalitarian").served.tolist() == [0]
        assert allocate(ChooseK([1, 9], 1), memory, memory.init(2), "egalitarian").served.tolist() == [1]
        assert allocate(ChooseK([1, 9], 1, kind="burden"), memory, memory.init(2), "egalitarian").served.tolist() == [0]

    @pytest.mark.parametrize("name", ["egalitarian", "power_burden", "generalized_gini"])
    def test_a_half_timer_carries_half_and_the_exempt_nothing(self, name):
        memory, rng = Discounted(half_life=20), np.random.default_rng(0)
        state, turns = memory.init(4), np.zeros(4)
        for _ in range(400):
            decision = allocate(
                ChooseK(np.ones(4), 1, kind="burden"), memory, state, name, entitlements=[1, 0.5, 1, 0], rng=rng
            )
            state = decision.state_after
            turns += decision.utilities
        np.testing.assert_allclose(turns / 400, [0.4, 0.2, 0.4, 0.0], atol=0.02)

    def test_ties_are_drawn_evenly(self):
        memory, rng, times = PerfectRecall(), np.random.default_rng(0), np.zeros(3)
        for _ in range(600):
            times[
                allocate(ChooseK([4, 4, 4], 1, kind="burden"), memory, memory.init(3), "egalitarian", rng=rng).served
            ] += 1
        assert times.min() > 150

    def test_of_equal_loads_whoever_adds_less_is_chosen(self):
        memory = PerfectRecall()
        state = memory.update(memory.init(2), [2.0, 0.0])
        # {4, 0} against {2, 4}.
        assert allocate(ChooseK([2, 4], 1, kind="burden"), memory, state, "egalitarian").served.tolist() == [0]

    def test_leximin_decides_among_the_least_totals_only(self):
        memory = PerfectRecall()
        state = memory.update(memory.init(3), [10.0, 0.0, 0.0])
        problem = Assign([[1, 1], [2, 3], [9, 2]], kind="burden")
        # The least total is 3, with one item for the first agent; without it the loads are more equal, and 4 more.
        for seed in range(5):
            decision = allocate(problem, memory, state, "utilitarian", rng=np.random.default_rng(seed))
            assert decision.utilities.sum() == 3

    def test_a_dear_pair_does_not_make_the_others_look_alike(self):
        memory = PerfectRecall()
        state = memory.update(memory.init(3), [5.0, 0.0, 0.0])
        problem = Assign([[1, 1e15], [1.1, 1e15], [1e15, 1]], kind="burden")
        assert allocate(problem, memory, state, "utilitarian").given.tolist() == [0, 2]


class TestAvailability:
    def test_goods_have_it_too(self):
        memory = PerfectRecall()
        decision = allocate(ChooseK([9, 1, 2], 1, allowed=[False, True, True]), memory, memory.init(3), "utilitarian")
        assert decision.served.tolist() == [2]
        divided = allocate(Divide(3.0, [9, 1, 1], allowed=[False, True, True]), memory, memory.init(3), "egalitarian")
        assert divided.given.tolist() == [0, 1.5, 1.5]

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (
                lambda: ChooseK([1, 2], 1, allowed=[True]),
                r"allowed must be one truth value per agent \(2\), got shape \(1,\)",
            ),
            (
                lambda: Divide(1, [1, 2], allowed=[False, False]),
                "allowed must be True for at least one agent",
            ),
            (lambda: ChooseK([1, 2], 1, kind="bad"), "kind must be one of good, burden, got 'bad'"),
            (lambda: Assign([[1, 2]], kind="bad"), "kind must be one of good, burden, got 'bad'"),
            (lambda: Divide(1, [1, 2], kind="bad"), "kind must be one of good, burden, got 'bad'"),
        ],
    )
    def test_bad_problems_are_refused(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()

    @pytest.mark.parametrize(
        ("problem", "options", "message"),
        [
            (
                ChooseK([1, 2, 3], 2, allowed=[True, False, False], kind="burden"),
                {},
                r"k must be at most .* \(1\), got 2",
            ),
            (Assign([[1, 2], [3, 4], [5, 6]], 1, [[1, 1], [0, 0], [0, 0]], kind="burden"), {}, "room for 1 of 2 items"),
            (Assign([[1] * 4] * 3, 1, kind="burden"), {}, "room for 3 of 4 items: allow more pairs"),
            (Divide(3.0, [1, 1, 1], 0.9, kind="burden"), {}, r"together \(2.7\), got 3"),
            (ChooseK([1, 2, 3], 1, kind="burden"), {"welfare": "nash"}, "welfare nash has no meaning for burdens: use"),
            (ChooseK([1, 2, 3], 1), {"welfare": "power_burden"}, "welfare power_burden is for burdens: for goods use"),
            (ChooseK([1, 2, 3], 1, kind="burden"), {"entitlements": [0, 0, 0]}, "not everyone can be exempt"),
            (ChooseK([1, 2, 3], 1), {"entitlements": [1, 0, 1]}, "entitlements must be above 0 for every agent"),
            (ChooseK([1, 2, 3], 2, kind="burden"), {"entitlements": [1, 0, 0]}, r"\(1\), got 2"),
            (
                ChooseK([1, 2, 3], 1, kind="burden"),
                {"welfare": "power_burden(p=1)"},
                "p must be a finite",
            ),
        ],
    )
    def test_what_cannot_be_carried_is_refused(self, problem, options, message):
        memory = PerfectRecall()
        with pytest.raises(ValueError, match=message):
            allocate(problem, memory, memory.init(3), **{"welfare": "egalitarian"} | options)

    def test_a_problem_of_ones_own_has_no_solver_for_burdens(self):
        class OneEach(ChooseK):
            pass

        memory = PerfectRecall()
        for rule in ("one-step", "prices"):
            with pytest.raises(
                ValueError,
                match="OneEach has no solver for burdens: problems of burdens are ChooseK, Assign, Divide",
            ):
                allocate(OneEach([1, 2], 1, kind="burden"), memory, memory.init(2), "egalitarian", rule=rule)

    def test_curves_need_loads_of_at_least_zero(self):
        memory = Linear(np.eye(2), readout=np.array([[1.0, -0.5], [0.0, 1.0]]))
        state = memory.update(memory.init(2), [4.0, 0.0])
        with pytest.raises(ValueError, match="needs a memory that never falls below 0, but a gain of agent 1 lowers"):
            allocate(Divide(1.0, [1, 1], kind="burden"), memory, state, "power_burden")
        with pytest.raises(ValueError, match="needs remembered utilities of at least 0, got -2 for agent 0"):
            allocate(
                Divide(1.0, [1, 1], kind="burden"), memory, memory.update(memory.init(2), [0.0, 4.0]), "power_burden"
            )


def total(Z):
    return Z.sum(axis=-1)


def lowest(Z):
    return Z.min(axis=-1)


OWN = {"utilitarian": total, "egalitarian": lowest}
"""Welfare functions of bygones, written again: nothing is known of these but their values."""


@pytest.fixture(scope="module")
def registered():
    """The names under which the functions of `OWN` are registered."""
    names = {name: welfare.register(own).__name__ for name, own in OWN.items()}
    yield names
    for name in names.values():
        welfare.functions.remove(name)


@pytest.mark.parametrize("name", OWN)
class TestAFunctionOfOnesOwn:
    """It judges a burden as the welfare of bygones that says the same does."""

    @given(data=st.data())
    @settings(max_examples=60, deadline=None)
    def test_choosing(self, data, name, registered):
        n = data.draw(st.integers(1, 5))
        needs, k = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n))), data.draw(st.integers(1, n))
        candidates = chosen(needs, np.ones(n, dtype=bool), k)
        self.check(data, ChooseK(needs, k, kind="burden"), candidates, name, registered)

    @given(data=st.data())
    @settings(max_examples=60, deadline=None)
    def test_items(self, data, name, registered):
        n, m = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
        capacity = np.full(n, data.draw(st.integers(math.ceil(m / n), 3)))
        loads = np.array(data.draw(st.lists(NUMBERS, min_size=n * m, max_size=n * m))).reshape(n, m)
        candidates = everything(loads, np.ones((n, m), dtype=bool), capacity)
        self.check(data, Assign(loads, capacity, kind="burden"), candidates, name, registered)

    @given(data=st.data())
    @settings(max_examples=60, deadline=None)
    def test_whole_units(self, data, name, registered):
        n, units = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
        rates = np.array(data.draw(st.lists(st.floats(0.1, 3.0), min_size=n, max_size=n)))
        parts = (part for part in itertools.product(range(units + 1), repeat=n) if sum(part) == units)
        problem = Divide(units, rates, whole=True, kind="burden")
        self.check(data, problem, (rates * part for part in parts), name, registered)

    @staticmethod
    def check(data, problem, candidates, name, registered):
        memory, state, _ = data.draw(pasts(problem.n_agents))
        rows = list(candidates)
        named_one = allocate(problem, memory, state, name)
        for own in (registered[name], lambda Z: OWN[name](Z)):
            decision = allocate(problem, memory, state, own)
            assert_least(decision, rows, memory, state, name, None)
            assert decision.welfare_after == pytest.approx(named_one.welfare_after)
            assert decision.welfare_before == pytest.approx(named_one.welfare_before)

    def test_its_burden_is_told_above_zero(self, name, registered):
        memory = Discounted(half_life=30)
        state = memory.update(memory.init(3), [4.0, 0.0, 3.0])
        problem = ChooseK([3.0, 9.0, 1.0], 1, kind="burden")
        theirs = allocate(problem, memory, state, name, elapsed=0)
        mine = allocate(problem, memory, state, registered[name], elapsed=0)
        for decision in (theirs, mine):
            other = next(each for each in ("agent 0", "agent 1", "agent 2") if each not in decision.gets)
            assert "-" not in f"{decision.explain().replace('<-', '')} {decision.why_not(other)}"
        assert f"no other choice has a lower burden ({registered[name]})." in " ".join(mine.explain().split())
        assert mine.explanation.table == theirs.explanation.table

    def test_simulations_judge_it_alike(self, name):
        memory = Discounted(half_life=5)
        theirs, mine = (
            simulate(OneStep(memory, each, kind="burden"), uniform(4), memory, each, 30, 2, kind="burden")
            for each in (name, OWN[name])
        )
        np.testing.assert_allclose(mine.utilities, theirs.utilities)
        np.testing.assert_allclose(mine.welfare_remembered, theirs.welfare_remembered)
        assert mine.welfare_remembered[-1] < 0


class TestFunctionsThatHaveNoMeaningForBurdens:
    @pytest.mark.parametrize(
        "own",
        [lambda Z: np.log(Z + 1e-6).sum(axis=-1), lambda Z: (Z**0.5).sum(axis=-1), lambda Z: (-1 / Z).sum(axis=-1)],
    )
    def test_one_without_a_value_below_zero(self, own):
        memory = PerfectRecall()
        with pytest.raises(
            ValueError, match=r"must be a number for every Z, got -?(nan|inf) for .* takes numbers below 0"
        ):
            allocate(ChooseK([3.0, 1.0], 1, kind="burden"), memory, memory.init(2), own)

    @pytest.mark.parametrize("own", [lambda Z: -Z.max(axis=-1), lambda Z: -Z.sum(axis=-1), lambda Z: Z.prod(axis=-1)])
    def test_one_that_is_about_loads_or_a_product(self, own):
        memory, words = PerfectRecall(), "would have everyone take as much as possible"
        with pytest.raises(ValueError, match=words):
            allocate(ChooseK([3.0, 1.0], 1, kind="burden"), memory, memory.init(2), own)
        with pytest.raises(ValueError, match=words):
            simulate(OneStep(memory, own, kind="burden"), uniform(2), memory, own, 3, 1, kind="burden")


class TestOtherWaysToJudge:
    def test_a_function_of_ones_own_is_given_the_loads_below_zero(self):
        memory, seen = PerfectRecall(), []
        own = lambda Z: (seen.append(Z.copy()), Z[0])[1]  # noqa: E731
        decision = allocate(ChooseK([4.0, 4.0], 1, kind="burden"), memory, memory.init(2), own, entitlements=[1.0, 2.0])
        assert decision.served.tolist() == [1]
        tried = {(-1.0, -1.0), (-2.0, -2.0)}
        assert {tuple(Z.tolist()) for Z in seen} == {(-4.0, 0.0), (0.0, -2.0)} | tried

    def test_a_memory_that_does_not_say_how_it_responds(self):
        memory = LastSteps(2)
        state = memory.update(memory.init(3), [3.0, 1.0, 2.0])
        decision = allocate(
            ChooseK([1, 1, 1], 1, allowed=[True, False, True], kind="burden"),
            memory,
            state,
            "egalitarian",
            entitlements=[1, 1, 2],
        )
        assert decision.served.tolist() == [2]

    def test_power_burden_is_a_welfare(self):
        assert power_burden([1.0, 3.0]) == -10.0
        assert parse_welfare("power_burden(p=3)")([1.0, 2.0]) == -9.0
        with pytest.raises(ValueError, match="at least 0 for power_burden welfare"):
            power_burden([-1.0, 2.0])


class TestPrices:
    def state(self, memory, past, times=20):
        state = memory.init(len(past))
        for _ in range(times):
            state = memory.update(state, np.asarray(past, dtype=float))
        return state

    @pytest.mark.parametrize("name", ["egalitarian", "power_burden(p=3)", "generalized_gini"])
    def test_prices_rise_with_what_was_carried(self, name):
        memory = Discounted(gamma=0.9)
        weights = prices(ChooseK([1, 1, 1], 1, kind="burden"), memory, self.state(memory, [3, 1, 2]), name)
        assert np.argsort(weights).tolist() == [1, 2, 0]
        assert len(set(weights.round(6))) == 3

    def test_they_are_those_of_goods_turned_round(self):
        memory = Discounted(gamma=0.9)
        state = self.state(memory, [3, 1, 2])
        goods = prices(ChooseK([2, 2, 2], 1), memory, state, "egalitarian", entitlements=[1, 2, 1])
        burdens = prices(ChooseK([2, 2, 2], 1, kind="burden"), memory, state, "egalitarian", entitlements=[1, 2, 1])
        np.testing.assert_allclose(burdens, 1 / goods)

    def test_a_convex_sum_has_its_gradient(self):
        memory = PerfectRecall()
        state = self.state(memory, [30, 10, 20], 200)
        weights = prices(ChooseK([1, 1, 1], 1, kind="burden"), memory, state, "power_burden")
        np.testing.assert_allclose(weights / weights[0], (state.Z + 1) / (state.Z[0] + 1))

    @given(st.lists(st.floats(0.1, 9), min_size=5, max_size=5), st.integers(1, 5))
    def test_the_least_priced_sum_is_taken(self, needs, k):
        memory = Discounted(gamma=0.9)
        state = self.state(memory, [3, 1, 2, 2, 5])
        decision = allocate(ChooseK(needs, k, kind="burden"), memory, state, "egalitarian", rule="prices")
        worth = decision.prices * np.array(needs)
        best = min(sum(worth[list(some)]) for some in itertools.combinations(range(5), k))
        assert decision.utilities @ decision.prices == pytest.approx(best)

    def test_items_and_amounts_too(self):
        rng, memory = np.random.default_rng(0), Discounted(gamma=0.9)
        for capacity in (1, 2, None):
            loads = rng.random((3, 3))
            decision = allocate(
                Assign(loads, capacity, kind="burden"),
                memory,
                self.state(memory, [3, 1, 2]),
                "egalitarian",
                rule="prices",
            )
            limit = 3 if capacity is None else capacity
            best = min(row @ decision.prices for row in everything(loads, np.ones((3, 3)), limit))
            assert decision.utilities @ decision.prices == pytest.approx(best)
        rates, caps = rng.random(3), np.array([0.5, 0.6, 0.7])
        decision = allocate(
            Divide(1.3, rates, caps, kind="burden"), memory, self.state(memory, [3, 1, 2]), "egalitarian", rule="prices"
        )
        found = linprog(decision.prices * rates, A_eq=np.ones((1, 3)), b_eq=[1.3], bounds=[(0, cap) for cap in caps])
        assert decision.utilities @ decision.prices == pytest.approx(found.fun)

    def test_learned_prices_move_up_for_those_who_carried_more_than_their_share(self):
        burdens, goods = (Priced(PerfectRecall(), kind=kind) for kind in ("burden", "good"))
        up, down = (memory.update(memory.init(3), [2.0, 1.0, 0.0]).log_prices for memory in (burdens, goods))
        assert np.argsort(up).tolist() == [2, 1, 0]
        np.testing.assert_allclose(up, -down)

    def test_learned_prices_stand_still_at_the_shares_they_imply(self):
        memory = learning(PerfectRecall(), "power_burden(p=3)", [1.0, 0.5, 0.0], "burden")
        assert memory.alpha == 2.0
        state = memory.init(3)._replace(log_prices=np.array([-0.5, 0.5, 0.0]))
        shares = memory.shares(state)
        np.testing.assert_allclose(shares[0] / shares[1], 2 * math.exp(-0.5 / 2 - 0.5 / 2))
        assert shares[2] == 0.0
        np.testing.assert_allclose(memory.update(state, shares).log_prices, state.log_prices)

    def test_looking_ahead_burdens_the_heaviest_less_than_one_step_does(self):
        memory, heaviest = PerfectRecall(), {}
        for rule in ("one-step", "prices"):
            rng = np.random.default_rng(0)
            learns = learning(memory, "egalitarian", kind="burden") if rule == "prices" else memory
            state, total = learns.init(5), np.zeros(5)
            for _ in range(1500):
                decision = allocate(
                    ChooseK(rng.random(5), 1, kind="burden"), learns, state, "egalitarian", rule=rule, rng=rng
                )
                state = decision.state_after
                total += decision.utilities
            heaviest[rule] = total.max()
        # Nobody can carry less than everybody together, at the least of five uniform numbers a step: 1500/6/5 = 50.
        assert heaviest["one-step"] > 60
        assert heaviest["prices"] < 52

    def test_the_memory_corrects_learned_prices_upwards(self):
        memory = learning(PerfectRecall(), "egalitarian", kind="burden")
        remembered = PerfectRecall().update(PerfectRecall().init(3), [3.0, 1.0, 2.0])
        weights = prices(
            ChooseK([1, 1, 1], 1, kind="burden"), memory, memory.init(3)._replace(remembered=remembered), "egalitarian"
        )
        assert np.argsort(weights).tolist() == [1, 2, 0]

    def test_calibration_knows_the_kind(self):
        rng = np.random.default_rng(0)
        sample = [ChooseK(rng.random(2) * [1, 4], 1, kind="burden") for _ in range(300)]
        learned = calibrate(sample, PerfectRecall(), "egalitarian")
        # Everything is heavier for the second, who at equal prices would carry next to nothing.
        assert learned.log_prices[0] > learned.log_prices[1]

    def test_the_exempt_are_left_out(self):
        memory = Discounted(gamma=0.9)
        state = self.state(memory, [3, 1, 50])
        decision = allocate(
            ChooseK([1, 1, 0.1], 1, kind="burden"), memory, state, "egalitarian", rule="prices", entitlements=[1, 1, 0]
        )
        assert decision.served.tolist() == [1]
        without = prices(ChooseK([1, 1], 1, kind="burden"), memory, self.state(memory, [3, 1]), "egalitarian")
        assert decision.prices[0] / decision.prices[1] == pytest.approx(without[0] / without[1], rel=0.3)


class TestWords:
    def decide(self, problem, past=(3.0, 1.0, 2.0), **options):
        memory = PerfectRecall()
        options = {"welfare": "egalitarian"} | options
        problem = replace(problem, agents=["Ana", "Ben", "Cem"])
        return allocate(problem, memory, memory.update(memory.init(3), past), **options)

    def test_of_a_turn(self):
        decision = self.decide(ChooseK([2, 2, 2], 1, kind="burden"))
        assert decision.reasons() == [
            "Ben takes the job: lowest recent workload of the three available.",
            "Each entry counts in full for ever (perfect recall).",
        ]
        assert decision.why_not("Cem").endswith("With Cem, the heaviest recent load would be 4 instead of 3.")
        data = decision.to_dict()
        assert data["kind"] == "burden"
        assert data["heaviest"] == {"agent": "Ana", "before": 3.0, "after": 3.0}
        assert (data["welfare_before"], data["welfare_after"]) == (-3.0, -3.0)

    def test_of_items_and_of_ties(self):
        decision = self.decide(Assign([[12, 4]] * 3, kind="burden", items=["night", "evening"]))
        assert decision.reasons()[0] == (
            "Ben takes night and Cem evening: with every other assignment someone would have a recent load as heavy "
            "or heavier."
        )
        assert (
            decision.why_not("Ana") == "If Ana took evening, the second-heaviest recent load would be 7 instead of 6."
        )

    def test_of_an_amount_and_of_who_is_passed_over(self):
        parts = self.decide(Divide(2.0, [1, 1, 1], kind="burden")).reasons()
        assert parts[0] == "Ben takes 1.5 of 2 and Cem 0.5 of 2: this raises the lowest recent loads to 2.50."
        passed = self.decide(ChooseK([2, 2, 2], 1, allowed=[True, False, True], kind="burden")).reasons()
        assert "Not available: Ben (1)." in passed
        light = self.decide(ChooseK([2, 9, 2], 1, kind="burden"), welfare="utilitarian")
        assert light.reasons()[0].endswith(": lowest load, then lowest recent workload of the three available.")
        assert light.why_not("Ben") == "Ben's load is 9, and Cem's is 2."

    def test_the_exempt_are_not_ranked(self):
        decision = self.decide(ChooseK([2, 2, 2], 1, kind="burden"), entitlements=[1, 0, 0.5])
        assert decision.to_dict()["remembered_before"] == [3.0, None, 4.0]
        assert decision.reasons()[0] == "Ana takes the job: lowest recent workload per share of the two available."
        assert [row[0] for row in decision.explanation.table.rows] == ["Ana", "Cem"]

    def test_of_prices(self):
        decision = self.decide(ChooseK([5, 6, 90], 1, kind="burden"), past=(9.0, 6.0, 1.0), rule="prices")
        mine, theirs = 5 * decision.prices[0], 6 * decision.prices[1]
        assert mine < theirs
        assert decision.reasons()[0] == "Ana takes the job: lowest load × price of the three available."
        assert decision.why_not("Ben") == f"Ben's load × price is {theirs:.1f}, and Ana's is {mine:.1f}."
        assert "Cem has the lowest recent workload (1), but a higher load × price (87.1)." in decision.reasons()
