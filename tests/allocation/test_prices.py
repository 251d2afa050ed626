"""Decisions by prices: exact for the prices they have, and prices that make them nearly the best in the long run."""

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

import bygones.pytrees  # noqa: F401
from bygones import Discounted, PerfectRecall
from bygones._text import amount
from bygones.allocation import Assign, ChooseK, Divide, Prices, allocate, calibrate, prices
from bygones.allocation.pricing import learning
from bygones.envs.needs import advantaged, lognormal, uniform
from bygones.memory.priced import Priced
from bygones.simulation import policy_named, simulate
from bygones.welfare import parse_welfare
from support.memories import LastSteps

OPTIMUM = 0.1784
"""The lowest agent's utility per step under the best policy in the paper's problem; see `bygones.paper.optimum`."""

amounts = st.floats(0.01, 10)


def after(memory, *utilities):
    state = memory.init(len(utilities[0]))
    for one in utilities:
        state = memory.update(state, np.asarray(one, dtype=float))
    return state


def lowest(memory, needs, name="prices", welfare="egalitarian", steps=10_000, k=2, seed=0):
    policy = policy_named(name, memory, welfare, needs, k)
    return simulate(policy, needs, memory, welfare, steps, k, seed).summary()["egalitarian"]


class TestTheDecision:
    @given(arrays(float, 6, elements=amounts), arrays(float, (3, 6), elements=amounts), st.integers(1, 6))
    def test_choosing_takes_the_largest_priced_needs(self, needs, past, k):
        memory = Discounted(gamma=0.9)
        decision = allocate(ChooseK(needs, k), memory, after(memory, *past), "nash", rule="prices")
        worth = decision.prices * needs
        best = max(sum(worth[list(some)]) for some in itertools.combinations(range(6), k))
        assert decision.utilities @ decision.prices == pytest.approx(best)
        assert decision.optimal

    @pytest.mark.parametrize("entitlements", [None, np.array([1.0, 2, 3, 4, 5, 6])])
    @pytest.mark.parametrize(
        "welfare", ["egalitarian", "nash", "utilitarian", "generalized_gini", "alpha_fair(alpha=2)"]
    )
    @pytest.mark.parametrize("learns", [True, False])
    def test_some_prices_are_those_of_everybody_up_to_a_factor(self, learns, welfare, entitlements):
        memory = Discounted(gamma=0.9)
        memory = learning(memory, welfare, entitlements) if learns else memory
        state, problem = after(memory, *np.random.default_rng(0).random((50, 6))), ChooseK(np.arange(1.0, 7.0), 2)
        found = allocate(problem, memory, state, welfare, rule="prices", entitlements=entitlements).price_list
        assert np.log(found.all).mean() == pytest.approx(0, abs=1e-9) or welfare == "generalized_gini"
        for some in (slice(None), slice(1, 4), np.array([5, 0, 2])):
            ratios = found.of(some) / found.all[some]
            np.testing.assert_allclose(ratios, ratios[0], rtol=1e-12)

    @given(
        arrays(float, 6, elements=st.just(0.0) | amounts), arrays(float, (3, 6), elements=amounts), st.integers(1, 6)
    )
    def test_nobody_without_a_need_is_chosen(self, needs, past, k):
        memory = Discounted(gamma=0.9)
        decision = allocate(ChooseK(needs, k), memory, after(memory, *past), "nash", rule="prices")
        ranked = np.sort(decision.prices * needs)[::-1]
        assert len(decision.served) == min(k, np.count_nonzero(needs))
        assert np.all(needs[decision.served] > 0)
        assert decision.utilities @ decision.prices == pytest.approx(ranked[:k].sum())
        if decision.runner_up is not None:
            assert np.all(needs[decision.problem.served(decision.runner_up.given)] > 0)

    @pytest.mark.parametrize("capacity", [1, 2, None])
    def test_assigning_takes_the_largest_priced_sum(self, capacity):
        rng, memory = np.random.default_rng(0), Discounted(gamma=0.9)
        for _ in range(20):
            utilities = rng.random((3, 4))
            state = after(memory, *rng.random((4, 3)))
            decision = allocate(Assign(utilities, capacity), memory, state, "egalitarian", rule="prices")
            limit = 4 if capacity is None else capacity
            best = max(
                sum(decision.prices[i] * utilities[i, j] for j, i in enumerate(owners) if i >= 0)
                for owners in itertools.product(range(-1, 3), repeat=4)
                if all(owners.count(i) <= limit for i in range(3))
            )
            assert decision.utilities @ decision.prices == pytest.approx(best)

    def test_dividing_takes_the_largest_priced_sum(self):
        rng, memory = np.random.default_rng(0), PerfectRecall(average=True)
        for _ in range(20):
            rates, caps = rng.random(5), rng.random(5)
            decision = allocate(
                Divide(1.3, rates, caps), memory, after(memory, *rng.random((4, 5))), "nash", rule="prices"
            )
            found = linprog(
                -decision.prices * rates, A_ub=np.ones((1, 5)), b_ub=[1.3], bounds=[(0, cap) for cap in caps]
            )
            assert decision.utilities @ decision.prices == pytest.approx(-found.fun)

    def test_it_waits_for_a_step_that_is_worth_it(self):
        memory = PerfectRecall()
        state = after(memory, [10.0, 11.0])
        needs = [0.05, 5.0]
        assert allocate(ChooseK(needs, 1), memory, state, "egalitarian").served.tolist() == [0]
        assert allocate(ChooseK(needs, 1), memory, state, "egalitarian", rule="prices").served.tolist() == [1]

    def test_the_explanation_compares_need_times_price(self):
        memory = PerfectRecall()
        state = after(memory, *[[0.1, 0.4, 0.45]] * 20)
        decision = allocate(ChooseK({"Ana": 5, "Ben": 6, "Cem": 1}), memory, state, "nash", rule="prices")
        assert decision.served.tolist() == [0]
        assert decision.reasons()[0] == "Ana gets the place: highest need × price of the three who asked."
        mine, theirs = amount(6 * decision.prices[1]), amount(5 * decision.prices[0])
        assert decision.why_not("Ben") == f"Ben's need × price is {mine}, and Ana's is {theirs}."
        assert decision.to_dict()["prices"] == pytest.approx(decision.prices.tolist())

    def test_the_explanation_names_the_agent_with_least_if_another_is_served(self):
        memory = PerfectRecall()
        decision = allocate(ChooseK({"Ana": 1, "Ben": 50}), memory, after(memory, [6.0, 8.0]), "nash", rule="prices")
        assert decision.reasons()[0] == "Ben gets the place: highest need × price of the two who asked."
        assert "Ana has the lowest recent total (6), but a lower need × price (1.0)." in decision.reasons()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"rule": "price"}, "policy must be one of prices, .*, got 'price'; did you mean prices"),
            ({"welfare": lambda Z: Z.min(axis=-1), "rule": "prices"}, "rule 'prices' needs a welfare of known form"),
            ({"calibration": learning(PerfectRecall(), "nash").init(2)}, "calibration is for rule 'prices'"),
        ],
    )
    def test_bad_input_is_refused(self, change, message):
        settings = {"problem": ChooseK([1, 2], 1), "memory": PerfectRecall(), "welfare": "nash"} | change
        with pytest.raises(ValueError, match=message):
            allocate(state=PerfectRecall().init(2), **settings)

    def test_a_memory_without_a_response_is_no_obstacle(self):
        memory = LastSteps(3)
        state = after(memory, *np.random.default_rng(0).random((5, 300)))
        needs = np.random.default_rng(1).random(300)
        decision = allocate(ChooseK(needs, 20), memory, state, "egalitarian", rule="prices")
        worth = needs * decision.prices
        assert worth[decision.served].min() >= np.delete(worth, decision.served).max()


class TestThePrices:
    def test_with_much_remembered_they_are_the_gradient(self):
        memory = PerfectRecall()
        Z = np.array([1e5, 2e5, 4e5])
        state = memory.init(3)._replace(Z=Z, d=np.array(1e6))
        for welfare, alpha in (("nash", 1), ("alpha_fair(alpha=2)", 2), ("alpha_fair(alpha=0.5)", 0.5)):
            found = prices(ChooseK([1.0, 1.0, 1.0], 1), memory, state, welfare)
            np.testing.assert_allclose(found / found[0], (Z / Z[0]) ** -alpha, rtol=1e-4)

    def test_total_utility_has_equal_prices(self):
        memory = PerfectRecall()
        assert prices(ChooseK([1, 2], 1), memory, after(memory, [5, 0]), "utilitarian").tolist() == [1.0, 1.0]

    @given(arrays(float, (12, 4), elements=amounts), st.permutations(range(4)), st.floats(1e-3, 1e3))
    def test_names_and_units_do_not_matter(self, past, order, unit):
        memory = learning(Discounted(gamma=0.9), "egalitarian")
        problem, other = ChooseK([1, 2, 3, 4], 2), ChooseK(unit * np.array([1, 2, 3, 4])[list(order)], 2)
        found = prices(problem, memory, after(memory, *past), "egalitarian")
        renamed = prices(other, memory, after(memory, *(unit * past[:, list(order)])), "egalitarian")
        np.testing.assert_allclose(renamed, found[list(order)], rtol=1e-9)

    def test_whoever_had_less_has_the_higher_price(self):
        for memory in (PerfectRecall(), Discounted(gamma=0.5), PerfectRecall(average=True), LastSteps(4)):
            for welfare in ("egalitarian", "nash", "generalized_gini"):
                found = prices(ChooseK([1, 1, 1], 1), memory, after(memory, [1, 0, 2], [1, 0, 2]), welfare)
                assert found[1] > found[0] > found[2]

    @given(arrays(float, 5, elements=st.floats(0, 100)))
    def test_ranked_prices_are_a_mixture_of_orders_of_the_weights(self, past):
        memory, weights = PerfectRecall(), np.array([5.0, 4.0, 3.0, 2.0, 1.0])
        found = prices(
            ChooseK(np.ones(5), 2),
            memory,
            after(memory, past, past),
            parse_welfare("generalized_gini", weights=weights),
        )
        scaled = weights * 5 / weights.sum()
        assert found.sum() == pytest.approx(5)
        largest = np.cumsum(np.sort(found)[::-1])
        assert (largest <= np.cumsum(scaled) + 1e-9).all()

    def test_a_sample_tells_who_is_hard_to_serve(self):
        rng = np.random.default_rng(0)
        sample = [ChooseK(needs, 1) for needs in rng.random((400, 3)) * [1.0, 0.3, 1.0]]
        start = calibrate(sample, PerfectRecall(), "egalitarian")
        assert start.log_prices[1] > start.log_prices[[0, 2]].max() + 0.5
        memory = PerfectRecall()
        found = prices(ChooseK([1, 1, 1], 1), memory, memory.init(3), "egalitarian", calibration=start)
        np.testing.assert_allclose(found / found[0], np.exp(start.log_prices - start.log_prices[0]))
        with pytest.raises(ValueError, match="at least one problem to calibrate"):
            calibrate([], PerfectRecall(), "nash")


class TestThePricedMemory:
    def test_it_remembers_what_the_fairness_memory_remembers(self):
        rng = np.random.default_rng(0)
        for inner in (Discounted(half_life=5), PerfectRecall(average=True), LastSteps(3)):
            memory = Priced(inner)
            past = rng.random((20, 3))
            np.testing.assert_array_equal(memory.values(after(memory, *past)), inner.values(after(inner, *past)))
            assert memory.bound(2.0, 7) == inner.bound(2.0, 7)
            assert memory.half_life == inner.half_life
            assert memory.n_agents(memory.init(3)) == 3

    def test_a_batch_is_each_of_its_rows(self):
        memory = learning(Discounted(gamma=0.9), "nash")
        past = np.random.default_rng(0).random((15, 2, 3))
        state = memory.init(3)
        for utilities in past:
            state = memory.advance(state, utilities)
        for row in range(2):
            np.testing.assert_allclose(state.log_prices[row], after(memory, *past[:, row]).log_prices, rtol=1e-12)

    @pytest.mark.parametrize(
        ("kind", "welfare"), [("good", "egalitarian"), ("good", "nash"), ("burden", "power_burden")]
    )
    @pytest.mark.parametrize("weights", [None, np.array([2.0, 1.0, 0.5])], ids=["equal", "entitled"])
    def test_under_jax_it_is_the_same(self, kind, welfare, weights):
        """Step by step under `jit`, in one `scan`, and several memories side by side under `vmap`."""
        memory = learning(Discounted(gamma=0.9), welfare, weights, kind)
        past = np.random.default_rng(0).random((15, 2, 3))
        with jax.enable_x64(True):
            traced, utilities = jax.tree.map(jax.numpy.asarray, (memory, past))
            empty = jax.tree.map(jax.numpy.asarray, memory.init(3))

            def many_steps(memory, rows):
                return jax.lax.scan(lambda state, row: (memory.advance(state, row), None), empty, rows)[0]

            in_a_row = jax.vmap(jax.jit(many_steps), in_axes=(None, 1))(traced, utilities)
            one_by_one, step = empty, jax.jit(lambda memory, state, row: memory.advance(state, row))
            for row in utilities[:, 0]:
                one_by_one = step(traced, one_by_one, row)
        for agent in range(2):
            ours = after(memory, *past[:, agent])
            same = [in_a_row] if agent else [in_a_row, jax.tree.map(lambda x: x[None], one_by_one)]
            for theirs in same:
                found = jax.tree.leaves(jax.tree.map(lambda x, i=agent: np.asarray(x)[i], theirs))
                for mine, other in zip(jax.tree.leaves(ours), found, strict=True):
                    np.testing.assert_allclose(other, mine, rtol=1e-12, atol=1e-12)

    def test_single_precision_under_jax_is_close(self):
        memory = learning(Discounted(gamma=0.9), "egalitarian")
        past = np.random.default_rng(0).random((15, 3))
        state = jax.tree.map(jax.numpy.asarray, memory.init(3))
        step = jax.jit(memory.advance)
        for utilities in past:
            state = step(state, jax.numpy.asarray(utilities))
        np.testing.assert_allclose(state.log_prices, after(memory, *past).log_prices, rtol=1e-4, atol=1e-5)

    def test_it_promises_what_the_fairness_memory_promises(self):
        past = np.random.default_rng(0).random((20, 3))
        for inner in (PerfectRecall(), Discounted(half_life=5), PerfectRecall(average=True), LastSteps(3)):
            memory = Priced(inner)
            state, held = after(memory, *past), after(inner, *past)
            assert memory.average == inner.average
            assert memory.can_be_negative == inner.can_be_negative
            assert memory.keeps_agents_apart == inner.keeps_agents_apart
            assert memory.denominator(state) == inner.denominator(held)
            assert memory.largest_denominator(9) == inner.largest_denominator(9)
            assert memory.after_ones(3, 9) == pytest.approx(inner.after_ones(3, 9))
            response = inner.response(held, 2.5)
            if response is None:
                assert memory.response(state, 2.5) is None
                continue
            base, gain = memory.response(state, 2.5)
            np.testing.assert_allclose(base + gain * past[:4], memory.ahead(state, past[:4], 2.5), rtol=1e-12)

    def test_equal_utilities_move_nothing(self):
        memory = learning(Discounted(gamma=0.9), "nash")
        assert after(memory, *np.ones((9, 4))).log_prices == pytest.approx(np.zeros(4))
        assert after(memory, *np.zeros((9, 4))).log_prices == pytest.approx(np.zeros(4))

    def test_entitlements_are_the_shares_that_prices_imply(self):
        memory = Priced(PerfectRecall(), math.inf, np.array([2.0, 1.0, 1.0]))
        assert memory.shares(memory.init(3)) == pytest.approx([1.5, 0.75, 0.75])

    def test_a_start_of_other_agents_is_refused(self):
        start = learning(PerfectRecall(), "nash").init(3)
        with pytest.raises(ValueError, match=r"start must have one price per agent \(2\)"):
            Priced(PerfectRecall(), start=start).init(2)
        with pytest.raises(ValueError, match="alpha must be above 0"):
            Priced(PerfectRecall(), alpha=0.0)


class TestTurns:
    """Where all need the same there is nothing to wait for, and turns go round."""

    @staticmethod
    def play(memory, n, k, rounds, kind):
        """Who is served, one row per round of n/k steps."""
        problem = ChooseK(np.full(n, 8.0), k, kind=kind)
        state, served, rng = memory.init(n), [], np.random.default_rng(0)
        for _ in range(rounds * n // k):
            decision = allocate(problem, memory, state, "egalitarian", rule="prices", rng=rng)
            served.append(decision.served)
            state = memory.update(state, problem.utilities_of(decision.given))
        return np.reshape(served, (rounds, n))

    @pytest.mark.parametrize("kind", ["good", "burden"])
    @pytest.mark.parametrize("gamma", [0.9, 0.99, 0.999])
    @pytest.mark.parametrize(("n", "k"), [(3, 1), (10, 2), (12, 1)])
    def test_a_memory_that_fades_keeps_their_order(self, n, k, gamma, kind):
        turns = self.play(learning(Discounted(gamma=gamma), "egalitarian", kind=kind), n, k, 20, kind)
        in_a_step = np.sort(turns.reshape(20, n // k, k), axis=-1)
        np.testing.assert_array_equal(np.sort(turns, axis=1), [range(n)] * 20)
        np.testing.assert_array_equal(in_a_step, np.broadcast_to(in_a_step[0], in_a_step.shape))

    def test_under_perfect_recall_each_round_is_drawn(self):
        turns = self.play(learning(PerfectRecall(), "egalitarian"), 6, 1, 20, "good")
        np.testing.assert_array_equal(np.sort(turns, axis=1), [range(6)] * 20)
        assert len({tuple(turn) for turn in turns.tolist()}) > 10


class TestTheLongRun:
    @pytest.mark.parametrize(("gamma", "share"), [(1.0, 0.98), (0.999, 0.98), (0.99, 0.98), (0.9, 0.96)])
    def test_the_papers_problem_from_an_empty_memory(self, gamma, share):
        assert lowest(Discounted(gamma=gamma), advantaged()) >= share * OPTIMUM

    def test_people_may_differ(self):
        """Log-normal needs of different scales, of which the best policy makes 0.556 for the lowest."""
        needs = lognormal(np.linspace(-1, 1, 10), np.linspace(1.2, 0.3, 10))
        assert lowest(Discounted(gamma=0.99), needs) >= 0.95 * 0.556
        assert lowest(Discounted(gamma=0.99), needs, "calibrated") >= 0.95 * 0.556

    def test_nash_is_nearly_the_best_too(self):
        memory = Discounted(gamma=0.9)
        made = [
            simulate(
                policy_named(name, memory, "nash", advantaged(), 2), advantaged(), memory, "nash", 10_000
            ).summary()
            for name in ("prices", "proportional-fair")
        ]
        learned, ratio = (each["nash"] for each in made)
        assert learned >= 0.98 * 0.17906  # exp(-17.197 / 10), the optimum
        assert learned > ratio

    def test_twice_the_entitlement_gets_twice_as_much(self):
        memory, needs = Discounted(gamma=0.99), uniform(4)
        policy = Prices(memory, "egalitarian", entitlements=np.array([2.0, 1.0, 1.0, 1.0]))
        received = simulate(policy, needs, memory, "egalitarian", 10_000, 1).utilities.sum(axis=0)
        assert received[0] / received[1:].mean() == pytest.approx(2.0, rel=0.03)
