"""Prices from past needs: matched by name, cautious where little is known, and fast whatever the capacities."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from bygones import Discounted, PerfectRecall
from bygones.allocation import Assign, ChooseK, Divide, allocate, calibrate
from bygones.allocation.calibration import FEW, calibrate_by_name
from bygones.allocation.decide import at_prices, expected_at_prices
from bygones.allocation.problems import problem_from

MEMORY = PerfectRecall()


def sample(count, **scales):
    """Requests for one place, in which everybody's needs are uniform up to their scale."""
    rng = np.random.default_rng(0)
    return [ChooseK({name: scale * rng.random() for name, scale in scales.items()}) for _ in range(count)]


def logs(requests, agents, welfare="egalitarian", **settings):
    found = calibrate_by_name(requests, agents, MEMORY, welfare, **settings)
    return dict(zip(agents, found.prices.log_prices, strict=True))


class TestByName:
    def test_with_the_same_agents_throughout_it_is_the_plain_calibration(self):
        requests = sample(50, ana=1.0, ben=0.3, cem=1.0)
        plain = calibrate(requests, MEMORY, "egalitarian")
        found = calibrate_by_name(requests, ["ana", "ben", "cem"], MEMORY, "egalitarian")
        assert found.requests == 50
        np.testing.assert_array_equal(found.prices.log_prices, plain.log_prices)
        assert found.prices.log_prices[1] == found.prices.log_prices.max() > 0.2

    def test_the_order_of_names_does_not_matter(self):
        requests = sample(60, ana=1.0, ben=0.3, cem=1.0)
        one, other = (logs(requests, agents) for agents in (["ana", "ben", "cem"], ["cem", "ana", "ben"]))
        assert one == pytest.approx(other)

    def test_whoever_left_changes_nothing_between_those_who_stay(self):
        requests = sample(60, ana=1.0, ben=0.3, cem=0.6)
        three, two = logs(requests, ["ana", "ben", "cem"]), logs(requests, ["ana", "ben"])
        assert two["ben"] - two["ana"] == pytest.approx(three["ben"] - three["ana"])
        assert two["ana"] + two["ben"] == pytest.approx(0.0)

    def test_somebody_who_was_never_there_has_the_mean_price(self):
        requests = sample(60, ana=1.0, ben=0.3)
        found = logs(requests, ["new", "ana", "ben"])
        assert found["new"] == 0.0
        assert found["ana"] == -found["ben"] < -0.2

    def test_who_did_not_ask_is_left_where_they_were(self):
        """Cem is in the first half only: what happens without him moves the others apart, not him."""
        first, second = sample(40, ana=1.0, ben=1.0, cem=1.0), sample(40, ana=1.0, ben=0.1)
        before, after = logs(first, ["ana", "ben", "cem"]), logs(first + second, ["ana", "ben", "cem"])
        assert after["ben"] - after["ana"] > before["ben"] - before["ana"] + 0.3
        assert abs(after["cem"]) < 0.2

    @pytest.mark.parametrize("kind", ["good", "burden"])
    @pytest.mark.parametrize("count", [1, 2, 5, 31])
    def test_who_always_needed_the_same_has_the_same_price(self, count, kind):
        """Whoever was away meanwhile, and whoever came first."""
        rng = np.random.default_rng(count)
        names = ["ana", "ben", "cem", "dan"]
        requests = [ChooseK(dict.fromkeys(rng.permutation(names)[: 3 + i % 2].tolist(), 8.0)) for i in range(count)]
        assert set(logs(requests, names, kind=kind).values()) == {0.0}
        other = {"eva": 2.0}
        requests = [ChooseK(request.to_dict()["needs"] | other) for request in requests if request.n_agents == 4]
        if requests:
            found = logs(requests, [*names, "eva"], kind=kind)
            assert len({found[name] for name in names}) == 1
            assert found["eva"] != found["ana"]

    def test_a_few_needs_change_little(self):
        """After one decision, between equals, whoever did not get it is next, whatever a single lesson says."""
        for served in (0, 1):
            found = calibrate_by_name(sample(1, ana=1.0, ben=1.0), ["ana", "ben"], MEMORY, "egalitarian")
            state = MEMORY.update(MEMORY.init(2), np.eye(2)[served])
            decision = allocate(
                ChooseK([1.0, 1.0], 1), MEMORY, state, "egalitarian", rule="prices", calibration=found.prices
            )
            assert decision.served.tolist() == [1 - served]
        once, often = (logs(sample(1, ana=1.0, ben=0.2) * n, ["ana", "ben"])["ben"] for n in (1, 200))
        assert abs(once) < 1 / FEW < often

    @pytest.mark.parametrize(
        "requests",
        [
            [],
            [ChooseK({"ana": 1.0})],
            [ChooseK({"ana": 1.0, "ben": 2.0}, k=2)],
            [ChooseK({"ana": 1.0, "ben": None})],
            [Assign({"ana": {"x": 1.0}, "ben": {}})],
            [ChooseK({"cem": 1.0, "dan": 2.0})],
        ],
    )
    def test_where_nobody_had_to_do_without_nothing_is_learned(self, requests):
        assert calibrate_by_name(requests, ["ana", "ben"], MEMORY, "egalitarian") is None

    def test_total_utility_has_nothing_to_learn(self):
        assert calibrate_by_name(sample(9, ana=1.0, ben=0.2), ["ana", "ben"], MEMORY, "utilitarian") is None

    @pytest.mark.parametrize("kind", ["good", "burden"])
    def test_kinds_of_problem_may_differ(self, kind):
        small = {"ana": 4.0, "ben": 1.0}
        requests = [
            ChooseK(small),
            Assign({name: {"x": worth, "y": worth / 2} for name, worth in small.items()}, capacity=2),
            Divide(3.0, small, {"ana": 2.0, "ben": 2.0}),
        ]
        found = logs(requests * 30, ["ana", "ben"], kind=kind)
        # At equal prices Ana would have all goods, being easy to serve; and Ben all burdens, which are light for him.
        assert found["ben"] > found["ana"] + 0.3

    def test_entitlements_are_the_shares_to_be_had(self):
        requests = sample(300, ana=1.0, ben=1.0)
        found = logs(requests, ["ana", "ben"], entitlements={"ana": 3.0})
        assert found["ana"] > found["ben"] + 0.3

    def test_the_exempt_of_today_may_have_been_needed_then(self):
        requests = [ChooseK({"ana": 1.0, "ben": 2.0, "cem": 3.0}, k=2)] * 9
        found = logs(requests, ["ana", "ben", "cem"], kind="burden", entitlements={"ana": 0.0, "ben": 0.0})
        assert np.isfinite(list(found.values())).all()


@pytest.mark.parametrize(
    "request_",
    [
        ChooseK({"ana": 1.5, "ben": None}, 2),
        Assign({"ana": {"x": 1.0}, "ben": {}}, None),
        Assign({"ana": {"x": 1.0}}, 2, items=("y", "x")),
        Divide(3.0, {"ana": 1.0}, {"ana": 2.0}),
        Divide(3.0, {"ana": 1.0}),
    ],
)
def test_a_stored_request_is_read_again(request_):
    """As it was, and of items with the order that it had."""
    again = problem_from(request_.to_dict())
    assert (type(again), again.to_dict(), again.items) == (type(request_), request_.to_dict(), request_.items)


def test_a_request_of_a_kind_of_your_own_is_not_read():
    assert problem_from({"rooms": 3}) is None


class TestAtPrices:
    @pytest.mark.parametrize("kind", ["good", "burden"])
    def test_what_is_expected_is_the_mean_over_draws(self, kind):
        problem = ChooseK([2.0, 2.0, 2.0, 1.0, 4.0, 8.0], 3, allowed=[True] * 5 + [False], kind=kind)
        paid, weights = np.array([1.0, 1.0, 1.0, 0.5, 3.0, 1.0]), np.array([1.0, 1, 1, 1, 1, 1])
        drawn = [
            problem.utilities_of(at_prices(problem, paid, np.random.default_rng(seed), weights)) for seed in range(2000)
        ]
        expected = expected_at_prices(problem, paid, np.random.default_rng(0), weights)
        np.testing.assert_allclose(np.mean(drawn, axis=0), expected, atol=0.1)
        assert np.count_nonzero(np.std(drawn, axis=0)) == 3

    def test_nobody_can_carry_more_than_there_are_hands(self):
        problem = ChooseK([1.0, 2.0, 3.0], 2)
        expected = expected_at_prices(problem, np.ones(3), np.random.default_rng(0), np.array([0.0, 1.0, 0.0]))
        assert expected.tolist() == [0.0, 2.0, 0.0]

    @pytest.mark.parametrize("kind", ["good", "burden"])
    @pytest.mark.parametrize("capacity", [1, 2, None, [2, 1, 1]])
    def test_items_go_to_the_best_sum(self, kind, capacity):
        rng = np.random.default_rng(0)
        for _ in range(30):
            utilities, allowed, paid = rng.random((3, 3)), rng.random((3, 3)) < 0.8, rng.random(3) + 0.1
            problem = Assign(utilities, capacity, allowed, kind=kind)
            none = () if kind == "burden" else (-1,)
            sums = [
                sum(paid[i] * utilities[i, j] for j, i in enumerate(owners) if i >= 0)
                for owners in itertools.product((*none, 0, 1, 2), repeat=3)
                if all(i < 0 or allowed[i, j] for j, i in enumerate(owners))
                and all(owners.count(i) <= problem.room[i] for i in range(3))
            ]
            if not sums:
                with pytest.raises(ValueError, match="every item must be taken"):
                    at_prices(problem, paid)
                continue
            owners = at_prices(problem, paid)
            assert all(allowed[i, j] for j, i in enumerate(owners) if i >= 0)
            best = min(sums) if kind == "burden" else max(sums)
            assert problem.utilities_of(owners) @ paid == pytest.approx(best)

    def test_a_burden_without_weight_is_carried_all_the_same(self):
        owners = at_prices(Assign([[0.0, 1.0], [0.0, 2.0]], 2, kind="burden"), np.ones(2))
        assert (owners >= 0).all()

    def test_the_exempt_carry_nothing(self):
        problem = Assign([[1.0, 1.0], [9.0, 9.0]], 2, kind="burden")
        assert at_prices(problem, np.ones(2), entitlements=np.array([0.0, 1.0])).tolist() == [1, 1]


class TestTheReasons:
    def reasons(self, problem, Z, calibration=None, **settings):
        state = MEMORY.init(2)._replace(Z=np.array(Z), d=np.array(20.0))
        options = {"rule": "prices", "calibration": calibration, **settings}
        return allocate(replace(problem, agents=["Ana", "Ben"]), MEMORY, state, "egalitarian", **options).reasons()

    def test_they_say_what_prices_rest_on(self):
        learned = calibrate_by_name(sample(90, Ana=0.3, Ben=1.0), ["Ana", "Ben"], MEMORY, "egalitarian").prices
        reasons = self.reasons(ChooseK([5.0, 6.0], 1), [8.0, 9.0], learned)
        assert reasons[0] == "Ana gets the place: highest need × price of the two who asked."
        assert "Prices were learned from a sample of past needs." in reasons
        reasons = self.reasons(ChooseK([5.0, 6.0], 1), [9.0, 9.0], learned, learned_from="the 90 decisions before")
        assert "Prices were learned from the 90 decisions before." in reasons
        assert "learned" not in " ".join(self.reasons(ChooseK([5.0, 6.0], 1), [8.0, 9.0]))

    def test_of_burdens(self):
        learned = calibrate_by_name(
            sample(90, Ana=0.3, Ben=1.0), ["Ana", "Ben"], MEMORY, "egalitarian", kind="burden"
        ).prices
        reasons = self.reasons(ChooseK([5.0, 6.0], 1, kind="burden"), [11.0, 9.0], learned)
        assert reasons[0].endswith(": lowest load × price of the two available.")

    def test_an_amount_is_explained_by_its_rates(self):
        reasons = self.reasons(Divide(2.0, [5.0, 6.0]), [2.0, 20.0])
        assert reasons[0] == "Ana gets 2 of 2: highest rate × price of the two who asked."
        reasons = self.reasons(Divide(2.0, [5.0, 6.0], [1.0, 1.0]), [2.0, 20.0])
        assert reasons[0].endswith(": there is enough for everyone who asked.")
        reasons = self.reasons(Divide(2.0, [5.0, 5.0], kind="burden"), [2.0, 20.0])
        assert reasons[0] == "Ana takes 2 of 2: lowest rate × price of the two available."

    def test_items_are_explained_by_the_sum(self):
        """Ana has both; the next best choice gives Ben the second, worth 3 to Ana and 2 to him."""
        reasons = self.reasons(Assign([[9.0, 3.0], [0.0, 2.0]], 2), [5.0, 5.0])
        assert reasons[0].endswith(": no other assignment has a higher sum of utility × price.")


def test_below_zero_prices_are_still_prices():
    """An offset may take somebody below zero in a ledger; they then come first."""
    memory = Discounted(gamma=0.9)
    state = memory.init(3)._replace(Z=np.array([-5.0, 1.0, 2.0]), d=np.array(3.0))
    decision = allocate(ChooseK([1.0, 1.0, 1.0], 1), memory, state, "nash", rule="prices")
    assert decision.prices[0] > decision.prices[1] > decision.prices[2] > 0
    assert decision.served.tolist() == [0]
