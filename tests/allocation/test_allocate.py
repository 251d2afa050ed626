import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bygones import Discounted, Instantaneous, Linear, Multiscale, PerfectRecall, welfare
from bygones.allocation import Assign, ChooseK, Decision, Divide, RunnerUp, allocate
from bygones.forms import Ranked
from bygones.welfare import parse_welfare
from support import brute_force

NAMES = ["utilitarian", "egalitarian", "nash", "log_nash", "alpha_fair(alpha=2)", "generalized_gini"]

# Example 1: Alice and Bob, a cake and a donut.
SWEETS = np.array([[0.2, 0.5], [0.3, 0.5]])
ALICE, BOB = 0, 1


def play(memory, steps, *, bob_joins=0, capacity=None):
    """The owners of cake and donut in every step, under egalitarian welfare."""
    state, owners = memory.init(2), []
    for step in range(steps):
        allowed = np.array([[True, True], [step >= bob_joins] * 2])
        decision = allocate(
            Assign(SWEETS, capacity, allowed), memory, state, "egalitarian", rng=np.random.default_rng(step)
        )
        owners.append(decision.given)
        state = decision.state_after
    return np.array(owners)


def cumulative(owners):
    """Alice's and Bob's true utilities over time."""
    received = np.array([[SWEETS[i, o == i].sum() for i in (ALICE, BOB)] for o in owners])
    return np.cumsum(received, axis=0)


class TestExamplesOfThePaper:
    @pytest.mark.parametrize("capacity", [1, None])
    def test_example_1_instantaneous_fairness_gives_alice_every_donut(self, capacity):
        owners = play(Instantaneous(), 50, capacity=capacity)
        assert (owners == [BOB, ALICE]).all()
        np.testing.assert_allclose(cumulative(owners)[-1], [25.0, 15.0])

    @pytest.mark.parametrize("capacity", [1, None])
    def test_example_1_perfect_recall_keeps_the_totals_together(self, capacity):
        totals = cumulative(play(PerfectRecall(), 50, capacity=capacity))
        assert np.abs(totals[:, ALICE] - totals[:, BOB]).max() <= 0.5 + 1e-9

    def test_example_1_the_discount_is_in_between(self):
        apart = [
            abs(np.subtract(*cumulative(play(memory, 100))[-1]))
            for memory in (PerfectRecall(), Discounted(gamma=0.1), Instantaneous())
        ]
        assert apart[0] <= apart[1] <= apart[2]

    def test_example_2_perfect_recall_serves_bob_alone_until_he_has_caught_up(self):
        owners = play(PerfectRecall(), 40, bob_joins=10)
        assert (owners[:10] == [ALICE, ALICE]).all()
        # Alice has 7.0 when Bob joins, and both items give him 0.8 a step: the ninth time takes him past her.
        assert (owners[10:19] == [BOB, BOB]).all()
        assert (owners[19] == ALICE).any()
        totals = cumulative(owners)
        assert abs(totals[-1, ALICE] - totals[-1, BOB]) <= 0.8

    def test_example_2_the_discount_forgives_sooner_and_instantaneous_fairness_at_once(self):
        def bob_alone(memory):
            owners = play(memory, 40, bob_joins=10)[10:]
            return int(np.argmin((owners == BOB).all(axis=1)))

        assert bob_alone(Instantaneous()) == 0
        assert 0 < bob_alone(Discounted(gamma=0.9)) < bob_alone(PerfectRecall()) == 9


class TestTies:
    """Over many repetitions tied agents are served equally often; four standard deviations of a fair draw."""

    @staticmethod
    def served(problem, name, times=400, memory=None):
        memory = PerfectRecall() if memory is None else memory
        counts, rng = np.zeros(problem.n_agents), np.random.default_rng(7)
        for _ in range(times):
            counts[allocate(problem, memory, memory.init(problem.n_agents), name, rng=rng).served] += 1
        return counts

    @staticmethod
    def assert_even(counts, times=400):
        p = counts.sum() / len(counts) / times
        assert np.abs(counts / times - p).max() < 4 * math.sqrt(p * (1 - p) / times)

    @pytest.mark.parametrize("name", NAMES)
    def test_choose_k(self, name):
        self.assert_even(self.served(ChooseK(np.full(5, 0.1 + 0.2), 2), name))

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("sparsely", [False, True])
    def test_assign_fewer_items_than_agents(self, name, sparsely):
        utilities = np.ones((4, 2))
        self.assert_even(self.served(Assign(sparse.csr_array(utilities) if sparsely else utilities), name, 200), 200)

    @pytest.mark.parametrize("name", NAMES)
    def test_assign_the_better_item(self, name):
        memory, rng, best = PerfectRecall(), np.random.default_rng(7), np.zeros(3)
        for _ in range(200):
            decision = allocate(Assign([[1.0, 2.0, 3.0]] * 3), memory, memory.init(3), name, rng=rng)
            best[decision.given[2]] += 1
        self.assert_even(best, 200)

    @pytest.mark.parametrize("name", ["utilitarian", "egalitarian", "log_nash"])
    def test_bundles(self, name):
        memory, rng, more = PerfectRecall(), np.random.default_rng(7), np.zeros(2)
        for _ in range(200):
            decision = allocate(Assign(np.ones((2, 3)), None), memory, memory.init(2), name, rng=rng)
            more[np.argmax(decision.utilities)] += 1
        self.assert_even(more, 200)

    @pytest.mark.parametrize("name", NAMES)
    def test_leximin_comes_before_the_draw(self, name):
        # Whoever is served, utilitarian welfare is the same; the poorest comes first. The others prefer it anyway.
        memory = PerfectRecall()
        state = memory.update(memory.init(4), np.array([3.0, 1.0, 2.0, 1.5]))
        for problem in (ChooseK(np.ones(4), 1), Assign(np.ones((4, 1))), Assign(np.ones((4, 1)), None)):
            for seed in range(5):
                decision = allocate(problem, memory, state, name, rng=np.random.default_rng(seed))
                assert decision.served.tolist() == [1]

    def test_a_fresh_generator_is_the_default(self):
        memory, first = PerfectRecall(), set()
        for _ in range(60):
            first.add(int(allocate(ChooseK(np.ones(4), 1), memory, memory.init(4), "nash").served[0]))
        assert first == {0, 1, 2, 3}


class TestRunnerUp:
    @given(st.data(), st.sampled_from(NAMES))
    @settings(max_examples=60, deadline=None)
    def test_it_is_the_second_best_of_all(self, data, name):
        rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
        memory = Discounted(gamma=0.9)
        n = int(rng.integers(2, 5))
        state = memory.update(memory.init(n), rng.random(n))
        if rng.random() < 0.5:
            k = int(rng.integers(1, n + 1))
            needs = rng.random(n) + 0.01
            problem, rows = ChooseK(needs, k), brute_force.candidates(needs, k=k)
        else:
            capacity = rng.choice([1, n])
            table = rng.random((n, 2)) + 0.01
            problem = Assign(table, capacity)
            rows = brute_force.candidates(table, capacity=capacity, allowed=np.ones((n, 2), dtype=bool))
        decision = allocate(problem, memory, state, name, rng=rng)
        W = parse_welfare(name)
        Z = np.sort(memory.ahead(state, np.array(list(rows))), axis=1)
        order = sorted(range(len(Z)), key=lambda i: (round(float(W(Z[i])), 10), tuple(np.round(Z[i], 10))))
        other = decision.runner_up
        np.testing.assert_allclose(np.sort(decision.after), Z[order[-1]], atol=1e-9)
        np.testing.assert_allclose(np.sort(other.after), Z[order[-2]], atol=1e-9)
        assert other.cost == pytest.approx(decision.welfare_after - float(W(Z[order[-2]])), abs=1e-9)

    def test_where_nothing_can_be_given_there_is_none(self):
        memory = PerfectRecall()
        for problem in (ChooseK([0.0, 0.0], 1), Assign(np.zeros((2, 2))), Assign(np.zeros((2, 2)), None)):
            decision = allocate(problem, memory, memory.init(2), "utilitarian")
            assert decision.runner_up is None
            assert decision.explain().startswith("Nobody is served: ")


class TestAllocation:
    def test_it_carries_the_memory_before_and_after(self):
        memory = Discounted(gamma=0.5)
        state = memory.update(memory.init(3), np.array([1.0, 2.0, 4.0]))
        decision = allocate(ChooseK([3.0, 3.0, 3.0], 1), memory, state, "egalitarian", entitlements=[1.0, 2.0, 8.0])
        assert isinstance(decision, Decision)
        np.testing.assert_array_equal(decision.served, [2])
        np.testing.assert_array_equal(decision.utilities, [0.0, 0.0, 3.0])
        np.testing.assert_allclose(decision.before, [1.0, 1.0, 0.5])
        np.testing.assert_allclose(decision.after, [0.5, 0.5, 0.625])
        np.testing.assert_allclose(decision.past_kept, [0.5, 0.5, 0.5])
        np.testing.assert_allclose(decision.state_after.Z, [0.5, 1.0, 5.0])
        assert (decision.welfare_before, decision.welfare_after) == (0.5, 0.5)
        assert (decision.optimal, decision.gap) == (True, 0.0)
        assert isinstance(decision.runner_up, RunnerUp)

    def test_it_says_why(self):
        memory = Discounted(half_life=30)
        state = memory.update(memory.init(3), np.array([1.0, 0.5, 0.25]))
        names = ["Ana", "Bo", "Cy"]
        decision = allocate(ChooseK(dict.fromkeys(names, 0.5)), memory, state, "egalitarian", elapsed=30)
        assert str(decision) == decision.explain()
        assert decision.explain().splitlines() == [
            "Cy gets the place: lowest recent total of the three who asked.",
            "",
            " agent       recent  with this",
            " ──────────────────────────────────",
            " Cy           0.125      0.625  <-",
            " Bo           0.250      0.750",
            " Ana          0.500      1.000",
            "",
            "Each entry counts half after 30 steps.",
        ]

    @pytest.mark.parametrize(
        ("half_life", "unit", "text"),
        [
            (30, "step", "30 steps"),
            (1, "step", "1 step"),
            (0.5, "step", "0.5 steps"),
            (30, "day", "30 days"),
            (1, "day", "1 day"),
            (0.5, "day", "12 hours"),
            (1 / 24, "day", "1 hour"),
            (1 / 48, "day", "30 minutes"),
            (8, "hour", "8 hours"),
        ],
    )
    def test_it_speaks_in_the_unit_of_time(self, half_life, unit, text):
        memory = Discounted(half_life=half_life)
        state = memory.update(memory.init(2), np.array([1.0, 0.5]))
        decision = allocate(ChooseK([1.0, 1.0], 1), memory, state, "egalitarian", time_unit=unit)
        assert f"Each entry counts half after {text}." in decision.reasons()
        assert decision.to_dict()["time_unit"] == unit

    def test_it_says_who_gets_which_item(self):
        memory = PerfectRecall()
        sweets = Assign(SWEETS, agents=["Alice", "Bob"], items=["the cake", "the donut"])
        decision = allocate(sweets, memory, memory.init(2), "nash")
        assert decision.reasons()[0] == (
            "Bob gets the cake and Alice the donut: no other assignment has a higher welfare (nash)."
        )
        assert decision.runner_up.cost == pytest.approx(0.05)

    def test_it_shows_how_much_of_each_past_counts_where_that_differs(self):
        memory = Multiscale(gammas=(0.0, 1.0), weights=(0.5, 0.5))
        state = memory.update(memory.update(memory.init(2), np.array([2.0, 0.0])), np.array([1.0, 1.0]))
        decision = allocate(ChooseK([1.0, 1.0], 1), memory, state, "nash")
        assert decision.past_kept.tolist() == [0.75, 0.5]
        assert decision.explanation.compared.recent.tolist() == [1.5, 0.5]

    def test_ties_are_owned_up_to(self):
        memory = PerfectRecall()
        reasons = allocate(ChooseK([1.0, 1.0], 1), memory, memory.init(2), "egalitarian").reasons()
        assert reasons[-1] == "agent 0 and agent 1 were tied, so a random draw decided."

    def test_long_lists_are_cut(self):
        memory = PerfectRecall()
        reasons = allocate(ChooseK(np.ones(40), 30), memory, memory.init(40), "nash").reasons()
        assert " and 20 others each get a place: " in reasons[0]

    @pytest.mark.parametrize(
        "problem", [ChooseK([1.0, 2.0], 1), Assign(SWEETS), Assign(SWEETS, None), Divide(1.0, [1.0, 2.0])]
    )
    def test_as_data_it_survives_json(self, problem):
        memory = Discounted(gamma=0.5)
        decision = allocate(problem, memory, memory.init(2), "log_nash", entitlements=[1.0, 2.0])
        data = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
        assert data["problem"] == type(problem).__name__
        assert data["explanation"] == " ".join(decision.reasons())
        assert data["utilities"] == decision.utilities.tolist()
        assert data["past_kept"] == [None, None]
        assert (data["runner_up"] is None) == isinstance(problem, Divide)
        assert ("owners" in data, "amounts" in data) == (isinstance(problem, Assign), isinstance(problem, Divide))

    def test_nothing_of_the_callers_is_changed(self):
        memory = PerfectRecall()
        state = memory.update(memory.init(3), np.array([1.0, 2.0, 4.0]))
        table = sparse.csr_array(np.array([[1.0, 2.0], [0.5, 1.0], [3.0, 1.0]]))
        kept = table.copy(), state.Z.copy()
        for name in NAMES:
            allocate(Assign(table), memory, state, name).explain()
        assert (table != kept[0]).nnz == 0
        np.testing.assert_array_equal(state.Z, kept[1])

    def test_the_next_best_of_a_large_matching_is_looked_for_only_if_asked_for(self):
        rng = np.random.default_rng(0)
        memory = PerfectRecall()
        decision = allocate(Assign(rng.random((110, 110))), memory, memory.init(110), "utilitarian")
        decision.explain()
        assert "runner_up" not in decision.__dict__


class TestWelfare:
    @pytest.mark.parametrize("form", ["nash", parse_welfare("nash"), welfare.nash])
    def test_it_is_a_name_an_object_or_a_function(self, form):
        memory = PerfectRecall()
        decision = allocate(ChooseK([1.0, 2.0], 2), memory, memory.init(2), form)
        assert decision.welfare_after == 2.0

    def test_a_function_of_ones_own_is_maximised_by_looking_at_every_allocation(self):
        memory = PerfectRecall()
        decision = allocate(ChooseK([1.0, 2.0, 3.0], 2), memory, memory.init(3), lambda z: -abs(z[0] - z[1]) + z[2])
        np.testing.assert_array_equal(decision.utilities, [0.0, 0.0, 3.0])

    def test_a_function_of_ones_own_is_refused_where_there_are_too_many(self):
        memory = PerfectRecall()
        with pytest.raises(ValueError, match=r"no known form.*100,000"):
            allocate(ChooseK(np.ones(60), 30), memory, memory.init(60), lambda z: z.sum())

    def test_gini_weights_that_amount_to_less_are_taken_for_what_they_are(self):
        rng = np.random.default_rng(0)
        memory = PerfectRecall()
        state = memory.update(memory.init(300), rng.random(300))
        problem = ChooseK(rng.random(300), 30)
        for weights, name in [
            (np.ones(300), "utilitarian"),
            (np.eye(300)[0], "egalitarian"),
            (np.zeros(300), "egalitarian"),
        ]:
            decision = allocate(problem, memory, state, parse_welfare("generalized_gini", weights=weights))
            np.testing.assert_array_equal(decision.served, allocate(problem, memory, state, name).served)

    @pytest.mark.parametrize("kind", ["good", "burden"])
    def test_weights_may_be_a_function_of_the_number_of_agents(self, kind, monkeypatch):
        monkeypatch.setattr(welfare.functions, "_parts", {**welfare.functions._parts})

        def weights(n):
            return np.clip(0.3 * n - np.arange(n), 0, 1) / (0.3 * n)

        def lowest_share(Z):
            return (np.sort(Z, axis=-1) * weights(Z.shape[-1])).sum(axis=-1)

        welfare.register(form=lambda: Ranked(weights))(lowest_share)
        rng, memory = np.random.default_rng(5), PerfectRecall()
        for n, k in ((5, 2), (8, 3), (10, 7)):
            state = memory.update(memory.init(n), 3 * rng.random(n))
            problem = ChooseK(rng.random(n), k, kind=kind)
            decision = allocate(problem, memory, state, "lowest_share")
            sign = 1 if kind == "good" else -1
            served = np.array(list(itertools.combinations(range(n), k)))
            after = np.repeat(memory.values(state)[None], len(served), axis=0)
            np.put_along_axis(after, served, np.take_along_axis(after, served, 1) + problem.needs[served], 1)
            assert lowest_share(sign * memory.values(state) + sign * decision.utilities) == pytest.approx(
                lowest_share(sign * after).max()
            )
            assert decision.optimal
        # More subsets than can be looked at one by one.
        state = memory.update(memory.init(30), 3 * rng.random(30))
        decision = allocate(ChooseK(rng.random(30), 8, kind=kind), memory, state, "lowest_share")
        assert decision.optimal
        assert len(decision.served) == 8

    def test_weights_from_a_function_are_checked(self):
        assert Ranked(lambda n: np.arange(n, 0, -1)).by_rank(3).tolist() == [3.0, 2.0, 1.0]
        with pytest.raises(ValueError, match="weights must not increase"):
            Ranked(np.arange).by_rank(3)
        with pytest.raises(ValueError, match=r"one entry per agent \(3\)"):
            Ranked(lambda n: [1.0]).by_rank(3)

    def test_very_steep_curves_neither_overflow_nor_tie(self):
        memory, needs = PerfectRecall(), np.full(6, 0.5)
        state = memory.update(memory.init(6), np.array([1e-3, 2e-3, 1.0, 2.0, 50.0, 51.0]))
        for k in range(1, 6):
            decision = allocate(ChooseK(needs, k), memory, state, parse_welfare("alpha_fair", alpha=40.0))
            np.testing.assert_array_equal(decision.served, np.arange(k))
        decision = allocate(Assign(np.full((6, 2), 0.5)), memory, state, parse_welfare("alpha_fair", alpha=40.0))
        np.testing.assert_array_equal(decision.served, [0, 1])

    def test_having_nothing_may_be_far_worse_than_all_differences_between_items(self):
        memory = PerfectRecall()
        state = memory.update(memory.init(3), np.array([0.0, 0.0, 2.0]))
        utilities = np.array([[0.0, 0.0, 2.0, 1.875], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0]])
        for table in (utilities, sparse.csr_array(utilities)):
            decision = allocate(Assign(table), memory, state, parse_welfare("alpha_fair", alpha=6.0))
            np.testing.assert_array_equal(decision.given, [-1, 1, 2, 0])


class TestMemories:
    def test_a_weight_below_zero_turns_gains_into_losses(self):
        memory = Multiscale(gammas=(0.5, 1.0), weights=(-1.0, 0.5))
        decision = allocate(ChooseK([1.0, 1.0], 2), memory, memory.init(2), "utilitarian")
        assert decision.served.tolist() == []

    def test_a_mixing_memory_with_losses_is_refused_by_nash(self):
        memory = Linear(0.5 * np.eye(2), readout=np.array([[1.0, -0.5], [0.0, 1.0]]))
        with pytest.raises(ValueError, match="a gain of agent 1 lowers the recent total of agent 0"):
            allocate(ChooseK([1.0, 1.0], 1), memory, memory.init(2), "log_nash")
        assert allocate(ChooseK([1.0, 1.0], 1), memory, memory.init(2), "egalitarian").served.tolist() == [0]

    def test_of_several_losses_the_first_agent_s_is_named(self):
        memory = Linear(0.5 * np.eye(3), readout=np.array([[1.0, 0.0, -0.5], [0.0, 1.0, 0.0], [-0.5, 0.0, 1.0]]))
        with pytest.raises(ValueError, match="a gain of agent 2 lowers the recent total of agent 0"):
            allocate(ChooseK([1.0, 1.0, 1.0], 1), memory, memory.init(3), "log_nash")

    def test_a_past_below_zero_is_refused_by_nash(self):
        memory = Linear(np.array([[0.5, -0.5], [0.0, 0.5]]))
        state = memory.update(memory.init(2), np.array([0.0, 1.0]))
        with pytest.raises(ValueError, match=r"at least 0, got -0.5 for agent 0"):
            allocate(ChooseK([1.0, 1.0], 1), memory, state, "nash")


class TestBadInput:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: ChooseK([1.0, math.nan], 1), "needs must be finite and at least 0, got nan for agent 1"),
            (lambda: ChooseK([1.0, -2.0], 1), r"needs must be finite and at least 0, got -2.0 for agent 1"),
            (lambda: ChooseK([math.inf], 1), "got inf for agent 0"),
            (lambda: ChooseK(["a"], 1), "needs must be an array of numbers"),
            (lambda: ChooseK([], 1), "needs must be one number per agent"),
            (lambda: ChooseK([1.0], 2), r"k must be at most the number of agents \(1\), got 2"),
            (lambda: ChooseK([1.0], 0), "k must be a whole number of at least 1, got 0"),
            (lambda: ChooseK([1.0], 0.5), "k must be a whole number"),
            (lambda: Assign([[1.0, 2.0], [3.0, math.nan]]), "got nan in row 1, column 1"),
            (lambda: Assign([[1.0, -2.0]]), r"got -2.0 in row 0, column 1"),
            (lambda: Assign(sparse.csr_array([[1.0, -2.0]])), r"got -2.0 in row 0, column 1"),
            (lambda: Assign([1.0, 2.0]), "one row per agent and one column per item"),
            (lambda: Assign([[1.0]], 0), "capacity must be a whole number of at least 1.*got 0$"),
            (
                lambda: Assign([[1.0], [1.0]], [1, 0]),
                "capacity must be a whole number of at least 1.*got 0 for agent 1",
            ),
            (lambda: Assign([[1.0], [1.0]], [1, 1.5]), r"got 1.5 for agent 1"),
            (lambda: Assign([[1.0]], [1, 2]), r"capacity must be one number or one per agent \(1\)"),
            (lambda: Assign([[1.0]], allowed=[[False]]), "at least one pair of agent and item"),
            (lambda: Assign([[1.0]], allowed=[[True, True]]), "allowed must have the shape of utilities"),
            (lambda: Assign(sparse.csr_array((2, 2))), "at least one pair of agent and item"),
            (lambda: Assign(sparse.csr_array([[1.0]]), allowed=[[True]]), "allowed must be None for sparse"),
            (lambda: Divide(0.0, [1.0]), "amount must be a finite number above 0"),
            (lambda: Divide(1.0, [-1.0]), r"rates must be finite and at least 0, got -1.0 for agent 0"),
            (lambda: Divide(1.0, [1.0], [-1.0]), r"caps must be at least 0, got -1.0 for agent 0"),
            (lambda: Divide(1.0, [1.0], -1.0), "caps must be one number of at least 0"),
            (lambda: Divide(1.0, [1.0], [1.0, 1.0]), r"one per agent \(1\)"),
        ],
    )
    def test_a_problem_says_what_is_wrong(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"problem": "both"}, "problem must be one of ChooseK, Assign, Divide, got 'both'"),
            ({"welfare": 3}, "welfare must be a name"),
            ({"welfare": "happiness"}, "welfare must be one of"),
            ({"welfare": "alpha_fair(alpha=-1)"}, "alpha must be at least 0"),
            ({"welfare": parse_welfare("generalized_gini", weights=[1.0])}, "weights must have one entry per agent"),
            ({"elapsed": -1}, "elapsed must be"),
            ({"entitlements": [1.0, 0.0]}, "entitlements must be"),
            ({"time_limit": 0}, "time_limit must be"),
            ({"state": PerfectRecall().init(3)}, "problem's 2 agents, got 3"),
        ],
    )
    def test_a_decision_says_what_is_wrong(self, change, message):
        memory = PerfectRecall()
        usual = {"problem": ChooseK([1.0, 2.0], 1), "memory": memory, "state": memory.init(2), "welfare": "nash"}
        with pytest.raises(ValueError, match=message):
            allocate(**(usual | change))

    def test_a_batch_of_memories_is_refused(self):
        memory = PerfectRecall()
        batch = memory.update(memory.init(2), np.ones((3, 2)))
        with pytest.raises(ValueError, match="not a batch"):
            allocate(ChooseK([1.0, 2.0], 1), memory, batch, "nash")
