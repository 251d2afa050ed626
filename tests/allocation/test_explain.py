"""The explanation of a decision: its headline, its table, its notes, and why another agent was not chosen."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bygones
from bygones import Discounted, PerfectRecall
from bygones.allocation import Assign, ChooseK, Divide, allocate
from bygones.allocation.comparison import MOST_ROWS
from bygones.kinds import Thing, check_word

FADING = Discounted(half_life=30)
NAMES = ["Ana", "Ben", "Cem", "Dana", "Elif"]


def decide(problem, remembered, elapsed=0, memory=None, welfare="egalitarian", **options):
    memory = memory or FADING
    n = len(remembered)
    state = memory.update(memory.init(n), np.asarray(remembered, dtype=float))
    options = {"time_unit": "day", "rng": np.random.default_rng(1), **options}
    return allocate(replace(problem, agents=NAMES[:n]), memory, state, welfare, elapsed=elapsed, **options)


def table_of(decision):
    """The cells of the table by heading, for each agent in it."""
    table = decision.explanation.table
    headings = [column.name for column in table.headings]
    return {row[0]: dict(zip(headings, row, strict=True)) for row in table.rows}


def why(decision):
    return decision.explanation.headline.split(": ", 1)[1].removesuffix(".")


class TestHeadline:
    @pytest.mark.parametrize(
        ("problem", "remembered", "welfare", "headline"),
        [
            (ChooseK([1, 1, 1]), [3, 2, 1], "egalitarian", "Cem gets the place: lowest recent total"),
            (ChooseK([1, 1, 1], kind="burden"), [3, 2, 1], "egalitarian", "Cem takes the job: lowest recent workload"),
            (ChooseK([1, 1, 1], 2), [3, 2, 1], "egalitarian", "Ben and Cem each get a place: lowest recent totals"),
            (ChooseK([1, 2, 3]), [1, 1, 2], "egalitarian",
             "Ben gets the place: lowest recent total, then largest need"),
            (ChooseK([3, 1, 2]), [1, 2, 3], "nash", "Ana gets the place: largest gain relative to the recent total,"),
            (ChooseK([1, 1, 1]), [3, 2, 1], "generalized_gini", "Cem gets the place: lowest recent total"),
            (ChooseK([1, 2, 3]), [3, 2, 9], "utilitarian", "Cem gets the place: highest need"),
            (ChooseK([3, 3, 1]), [3, 2, 1], "utilitarian",
             "Ben gets the place: highest need, then lowest recent total"),
            (ChooseK([3, 2, 1], kind="burden"), [3, 2, 9], "utilitarian", "Cem takes the job: lowest load"),
        ],
    )  # fmt: skip
    def test_it_gives_the_simplest_reason_that_is_true(self, problem, remembered, welfare, headline):
        others = "available" if problem.is_burden else "who asked"
        decision = decide(problem, remembered, welfare=welfare)
        assert decision.explanation.headline == f"{headline} of the three {others}."

    @pytest.mark.parametrize(
        ("problem", "remembered", "options", "reason"),
        [
            (ChooseK([3, 1, 2]), [1, 2, 1.5], {"welfare": "generalized_gini"},
             "no other choice has a higher welfare (generalized_gini)"),
            (ChooseK([3, 1, 2], kind="burden"), [1, 2, 1.5], {"welfare": "power_burden(p=2)"},
             "no other choice has a lower burden (power_burden(p=2))"),
            (ChooseK([1, 2]), [5, 9], {"welfare": lambda Z: np.sum(np.sqrt(Z))},
             "no other choice has a higher welfare"),
            (Assign([[3, 1], [0.5, 2]]), [1, 2], {},
             "with every other assignment someone would have a recent total as low or lower"),
            (Assign([[4, 10], [4, 10]], kind="burden"), [13, 0], {},
             "with every other assignment someone would have a recent load as heavy or heavier"),
            (Assign([[3, 1], [0.5, 2]]), [1, 2], {"rule": "prices"},
             "no other assignment has a higher sum of utility × price"),
            (Divide(2, [1, 1]), [1, 2], {}, "this brings both to a recent total of 2.50"),
            (Divide(1, [1, 1, 1]), [1, 2, 8], {"unit": "h"}, "this raises the lowest recent total to 2 h"),
            (Divide(2, [1, 1, 1], kind="burden"), [1, 2, 8], {}, "this raises the lowest recent loads to 2.50"),
            (Divide(4, [1, 1, 1], [1, 2, 2]), [1, 2, 8], {},
             "the requests of Ana and Ben are met in full, and the rest brings Cem to 9"),
            (Divide(9, [1, 1], [1, 2]), [1, 2], {}, "there is enough for everyone who asked"),
        ],
    )  # fmt: skip
    def test_where_no_simple_reason_is_true_it_names_the_aim(self, problem, remembered, options, reason):
        assert why(decide(problem, remembered, **options)) == reason

    def test_a_heavier_load_is_compared_with_it(self):
        decision = decide(ChooseK([12, 8, 4], kind="burden"), [1, 2, 9], thing="shift", unit="h")
        assert decision.explanation.headline == (
            "Ben takes the 8-hour shift: lowest recent workload with this shift, of the three available."
        )

    def test_where_everyone_is_served_there_was_no_choice(self):
        assert why(decide(ChooseK([1, 0], 1), [1, 1])) == "no one else asked"
        assert why(decide(ChooseK([1, 2, 0], 2), [1, 1, 1])) == "there is enough for everyone who asked"
        assert why(decide(ChooseK([1, 2], 2, kind="burden"), [1, 1])) == "no one else is available"
        nobody = decide(ChooseK([0, 0]), [1, 0])
        assert nobody.reasons()[0] == "Nobody is served: no choice would raise welfare."
        assert nobody.explanation.table.rows == []

    def test_those_who_get_the_same_are_named_together(self):
        whole = decide(Divide(10, [1, 1, 1], whole=True), [3, 2, 1.5], thing="dose")
        assert whole.explanation.headline.startswith("Ana gets 2 doses, and Ben and Cem each get 4 doses: ")
        shifts = Assign([[4, 10], [4, 10]], items=["evening", "night"], kind="burden")
        assert decide(shifts, [13, 0], thing="shift").explanation.headline.startswith(
            "Ana takes the evening shift and Ben the night shift: "
        )

    def test_among_many_ten_are_named(self):
        n = 40
        decision = allocate(ChooseK(np.ones(n), 30), FADING, FADING.init(n), "egalitarian", thing="dose")
        assert decision.explanation.headline.count("agent ") == 10
        assert re.search(r"agent \d+ and 20 others each get a dose: all 40 who asked are tied", decision.reasons()[0])
        parts = allocate(Divide(820.0, np.ones(n), np.arange(n) + 1.0), FADING, FADING.init(n), "egalitarian")
        assert "agent 9 10 of 820 and 30 others get a part: there is enough" in parts.explanation.headline

    def test_shares_are_named(self):
        decision = decide(ChooseK([1, 1], 1), [1, 2], entitlements=[1.0, 4.0])
        assert why(decision) == "lowest recent total per share of the two who asked"
        assert table_of(decision)["Ben"]["recent per share"] == 0.5


class TestTable:
    def test_it_has_everyone_who_came_into_question(self):
        decision = decide(ChooseK([3, 0, 2]), [1, 0, 1.5])
        assert list(table_of(decision)) == ["Ana", "Cem"]
        assert decision.explanation.table.chosen == {0}
        assert "Did not ask: Ben (0.00)." in decision.reasons()
        burden = decide(ChooseK([3, 3, 3], allowed=[True, False, True], kind="burden"), [2, 1, 1.5])
        assert list(table_of(burden)) == ["Cem", "Ana"]
        assert "Not available: Ben (1.00)." in burden.reasons()

    def test_the_exempt_do_not_come_into_question(self):
        decision = decide(ChooseK([8, 8, 8], kind="burden"), [4, 3, 5], entitlements=[1, 0, 1])
        assert list(table_of(decision)) == ["Ana", "Cem"]
        assert decision.why_not("Ben") == "Ben is exempt."

    def test_the_past_fades_up_to_the_decision(self):
        decision = decide(ChooseK([10, 10, 10], kind="burden"), [22, 6.4, 9.6], 30, thing="shift", unit="h")
        assert table_of(decision) == {
            "Ben": {"agent": "Ben", "recent h": pytest.approx(3.2), "with this": pytest.approx(13.2)},
            "Cem": {"agent": "Cem", "recent h": pytest.approx(4.8), "with this": pytest.approx(14.8)},
            "Ana": {"agent": "Ana", "recent h": pytest.approx(11), "with this": pytest.approx(21)},
        }

    def test_needs_prices_and_parts_are_columns_where_they_differ(self):
        assert "need" in table_of(decide(ChooseK([1, 2]), [1, 2]))["Ana"]
        assert "load" in table_of(decide(ChooseK([1, 2], kind="burden"), [1, 2]))["Ana"]
        priced = decide(ChooseK([3, 1]), [1, 2], rule="prices")
        ana = table_of(priced)["Ana"]
        assert ana["need × price"] == pytest.approx(ana["need"] * ana["price"])
        assert "rate × price" in table_of(decide(Divide(1, [3, 1]), [1, 2], rule="prices"))["Ana"]
        assert table_of(decide(Divide(3, [1, 1], whole=True), [1, 1.5]))["Ben"]["unrounded"] == 1.25
        assert "unrounded" not in table_of(decide(Divide(3, [1, 1], whole=True), [1, 2]))["Ben"]

    def test_a_long_one_ends_after_those_who_came_closest(self):
        n = 1000
        past = np.arange(n) + 1.0
        state = FADING.update(FADING.init(n), past)
        decision = allocate(ChooseK(np.ones(n), 50), FADING, state, "egalitarian")
        agents = list(table_of(decision))
        assert agents == [f"agent {i}" for i in [*range(10), *range(50, 60)]]
        assert len(agents) == MOST_ROWS
        assert "The table leaves out 980 others who asked." in decision.reasons()

    def test_what_a_mixing_memory_would_hold_is_not_claimed(self):
        decision = decide(ChooseK([1, 1]), [5, 9], memory=bygones.Linear([[0.5, 0.2], [0.1, 0.4]]))
        assert [cells["with this"] == cells["with this"] for cells in table_of(decision).values()] == [True, False]


class TestMemory:
    @pytest.mark.parametrize(
        ("memory", "sentence"),
        [
            (FADING, "Each dose counts half after 30 days."),
            (Discounted(half_life=0.5), "Each dose counts half after 12 hours."),
            (Discounted(half_life=1), "Each dose counts half after 1 day."),
            (PerfectRecall(), "Each dose counts in full for ever (perfect recall)."),
            (bygones.Instantaneous(), "The past does not count (no memory)."),
            (bygones.SlidingWindow(5), "Each dose counts in full for 5 days, then not at all."),
            (bygones.Reset(7), "Each dose counts in full, and counting starts over every 7 days."),
            (bygones.Capped(FADING, 4), "Each dose counts half after 30 days. No recent total counts above 4."),
            (bygones.PerAgent(half_lives=[3, 30]), "Each dose counts half after 3 to 30 days, depending on the agent."),
            (bygones.Linear([[0.5, 0.2], [0.1, 0.4]]),
             "The past counts by the memory Linear(matrix=array([[0.5, 0.2], [0.1, 0.4]]), readout=None)."),
        ],
    )  # fmt: skip
    def test_how_the_past_counts(self, memory, sentence):
        assert sentence in decide(ChooseK([1, 1]), [1, 2], memory=memory, thing="dose").reasons()


class TestDraws:
    def test_a_draw_is_mentioned_only_if_there_was_one(self):
        tied = decide(ChooseK([1, 1, 1]), [1, 1, 2])
        assert why(tied) == (
            "tied with Ben for the lowest recent total of the three who asked, and picked by a random draw"
        )
        assert tied.reasons()[-1] == "Ana and Ben were tied, so a random draw decided."
        assert "draw" not in decide(ChooseK([1, 1, 1]), [1, 1.5, 2]).explain()
        assert "draw" not in decide(ChooseK([1, 2, 1]), [1, 1, 2]).explain()  # leximin told them apart

    @pytest.mark.parametrize(
        ("problem", "remembered", "reason"),
        [
            (ChooseK([1, 1]), [2, 2], "both who asked are tied, so a random draw decided"),
            (ChooseK([8, 8, 8], kind="burden"), [2, 2, 2], "all three available are tied, so a random draw decided"),
            (ChooseK([1] * 4, 2), [0, 3, 3, 5],
             "lowest recent totals of the four who asked, with a random draw between Ben and Cem"),
            (ChooseK([1] * 4, 2), [2, 2, 2, 5],
             "tied with Cem for the lowest recent totals of the four who asked, and picked by a random draw"),
            (ChooseK([1, 4, 4]), [2, 2, 2],
             "tied with Cem for the lowest recent total, then largest need of the three who asked, and picked by a "
             "random draw"),
            (ChooseK([8, 6, 6], kind="burden"), [2, 2, 2],
             "tied with Cem for the lowest recent workload with this job, of the three available, and picked by a "
             "random draw"),
        ],
    )  # fmt: skip
    def test_no_agent_has_the_reason_of_a_draw_alone(self, problem, remembered, reason):
        assert why(decide(problem, remembered)) == reason

    @given(st.data())
    def test_the_lowest_is_claimed_only_where_no_one_else_is_as_low(self, data):
        kind = data.draw(st.sampled_from(["good", "burden"]))
        few = st.integers(1, 3)
        remembered, needs = (data.draw(st.lists(few, min_size=4, max_size=4)) for _ in range(2))
        decision = decide(ChooseK(needs, data.draw(st.integers(1, 3)), kind=kind), remembered)
        reason, served = why(decision), set(decision.served.tolist())
        if "lowest recent" not in reason:
            return
        if "with this" in reason:
            keys = [(total + need,) for total, need in zip(remembered, needs, strict=True)]
        elif "then" in reason:
            keys = [(total, -need) for total, need in zip(remembered, needs, strict=True)]
        else:
            keys = [(total,) for total in remembered]
        last = max(keys[agent] for agent in served)
        equals = {NAMES[agent] for agent in range(4) if keys[agent] == last}
        assert all(keys[agent] >= last for agent in set(range(4)) - served)
        assert ("draw" in reason) == (not equals <= {NAMES[agent] for agent in served})
        if "draw" in reason:
            assert all(name in decision.explanation.headline for name in equals)

    def test_of_the_last_unit_of_a_division(self):
        divided = decide(Divide(4, [1, 1, 1], whole=True), [2, 2, 2])
        assert divided.reasons()[-1] == "Ana, Ben and Cem were tied, so a random draw decided who got one more."
        assert "draw" not in decide(Divide(4, [1, 1, 1], whole=True), [2, 2, 1]).explain()
        shares = decide(Divide(1, [1, 2], whole=True), [1, 2], entitlements=[1, 2], welfare="nash")
        assert "draw" not in shares.explain()  # one unit more is not worth the same to both
        burden = decide(Divide(3, [1, 1, 1], whole=True, kind="burden"), [2, 2, 9])
        assert burden.reasons()[-1] == "Ana and Ben were tied, so a random draw decided who took one more."

    def test_of_equal_assignments(self):
        tied = decide(Assign([[1, 1], [1, 1]]), [1, 1])
        assert why(tied) == "one of several equally good assignments, picked by a random draw"
        assert tied.reasons()[-1] == "Several choices were equally good, so a random draw decided."
        other = decide(Assign([[1], [1]]), [1, 1])
        (left,) = {"Ana", "Ben"} - set(other.gets)
        assert other.why_not(left) == f"If {left} got item 0, that would be as good. A random draw decided."


class TestDoubt:
    @pytest.mark.parametrize(
        ("gap", "sentence"),
        [
            (0.5, "There may be a better choice, with a higher welfare by at most 0.5."),
            (np.inf, "There may be a better choice."),
        ],
    )
    def test_what_is_not_proven_is_not_claimed(self, gap, sentence):
        decision = replace(decide(Assign([[3, 1], [0.5, 2]]), [1, 2]), optimal=False, gap=gap)
        assert why(decision) == "the best assignment found"
        assert sentence in decision.reasons()


class TestLoads:
    def test_a_load_of_nothing_is_pointed_out(self):
        free = decide(ChooseK([0, 8, 8], kind="burden"), [1, 1, 2])
        assert free.reasons()[-1] == "The load of Ana is 0. Leave the cell empty for someone who is not available."
        assert "is 0" not in decide(ChooseK([8, 8, 8], kind="burden"), [9, 1, 2]).explain()
        assert "Leave" not in decide(ChooseK([0, 8, 8]), [1, 1, 2]).explain()


class TestPrices:
    def test_need_times_price_comes_before_the_totals_that_do_not_decide(self):
        table = decide(ChooseK([6, 1, 1]), [1, 2, 5], rule="prices").explanation.table
        assert [column.name for column in table.headings] == [
            "agent", "need", "price", "need × price", "recent", "with this",
        ]  # fmt: skip

    def test_the_agent_with_least_is_named_if_it_is_not_served(self):
        decision = decide(ChooseK([0.1, 6, 1]), [1, 2, 5], rule="prices")
        assert why(decision) == "highest need × price of the three who asked"
        assert "Ana has the lowest recent total (1.00), but a lower need × price (0.11)." in decision.reasons()
        assert "Ana has" not in decide(ChooseK([6, 1, 1]), [1, 2, 5], rule="prices").explain()


class TestWhyNot:
    def test_it_compares_with_the_agent_whose_place_it_is(self):
        decision = decide(ChooseK([10, 10, 10], kind="burden"), [11, 3.2, 4.8], thing="shift", unit="h")
        assert decision.why_not("Cem") == (
            "Cem has more recent work (4.8 h) than Ben (3.2 h). "
            "With Cem, the heaviest recent load would be 14.8 h instead of 13.2 h."
        )
        assert decision.why_not("Ben") == "Ben was chosen."
        with pytest.raises(ValueError, match="why_not must name an agent of the decision, such as Ana, Ben and Cem"):
            decision.why_not("Zoe")

    def test_where_the_next_of_the_worst_off_decided(self):
        decision = decide(ChooseK([1, 1, 0]), [1, 2, 0])
        assert decision.why_not("Ben").endswith("With Ben, the second-lowest recent total would be 1 instead of 2.")
        assert decision.why_not("Cem") == "Cem did not ask."

    def test_a_tie_and_a_lower_welfare(self):
        assert decide(ChooseK([1, 1]), [0, 0], rng=np.random.default_rng(0)).why_not("Ana") in (
            "Ana has the same recent total (0) as Ben (0). They were tied, so a random draw decided.",
            "Ana was chosen.",
        )
        assert decide(ChooseK([3, 1]), [1, 2], welfare="nash").why_not("Ben") == (
            "Ben has a higher recent total (2) than Ana (1). With Ben, welfare (nash) would be 5 lower."
        )
        gini = decide(ChooseK([3, 1], kind="burden"), [1, 2], welfare="power_burden(p=2)")
        assert gini.why_not("Ana").endswith("With Ana, the burden (power_burden(p=2)) would be 10 higher.")

    def test_under_prices_and_the_largest_total_it_compares_what_decided(self):
        assert decide(ChooseK([3, 1]), [1, 2], welfare="utilitarian").why_not("Ben") == (
            "Ben's need is 1, and Ana's is 3."
        )
        priced = decide(ChooseK([3, 1]), [1, 2], rule="prices").why_not("Ben")
        assert re.fullmatch(r"Ben's need × price is [\d.]+, and Ana's is [\d.]+\.", priced)

    def test_of_items_and_amounts(self):
        items = decide(Assign([[3, 1], [0.5, 2], [1, 1]]), [1, 2, 3])
        assert items.why_not("Cem") == "If Cem got item 1, the lowest recent total would be 2 instead of 3."
        amount = decide(Divide(1, [1, 1]), [1, 9], unit="h")
        assert amount.why_not("Ben") == (
            "Ben's recent total is 9 h. No choice that gives Ben something has a higher welfare."
        )


class TestAmounts:
    def test_amounts_that_were_entered_are_shown_exactly_and_faded_ones_with_one_precision(self):
        shift = decide(ChooseK([11.25, 12, 9.5], kind="burden"), [9.04, 3, 30], rule="prices", thing="shift", unit="h")
        headings, texts = shift.explanation.table.headings, shift.explanation.table.texts()
        loads = [row[[column.name for column in headings].index("load")] for row in texts]
        assert set(loads) == {"11.25", "12", "9.5"}
        recent = [row[[column.name for column in headings].index("recent h")] for row in texts]
        assert {number.rpartition(".")[2] for number in recent} == {"0"}
        parts = decide(Divide(10, [1, 1]), [0, 9.625], unit="€")
        assert parts.gets == {"Ana": "9.8125 €", "Ben": "0.1875 €"}

    def test_why_not_has_the_decimals_of_the_table(self):
        decision = decide(ChooseK([10, 10, 10], kind="burden"), [180.25, 6.44, 9.04], unit="h")
        table = decision.explanation.table.texts()
        assert [row[1] for row in table] == ["6", "9", "180"]
        assert decision.why_not("Cem").startswith("Cem has more recent work (9 h) than Ben (6 h).")

    def test_shares_are_shown_with_true_totals_where_they_differ_and_not_at_all_where_nobody_has_another(self):
        mixed = decide(ChooseK([1, 1], 1), [1, 2], entitlements=[1.0, 4.0], unit="h")
        assert {"share": 4, "recent h": 2, "recent h per share": 0.5}.items() <= table_of(mixed)["Ben"].items()
        alike = decide(ChooseK([1, 1, 1], allowed=[True, True, False]), [1, 2, 0.2], entitlements=[1, 1, 0.5], unit="h")
        assert list(table_of(alike)["Ana"]) == ["agent", "recent h", "with this"]
        assert "Did not ask: Cem (0.4 h per share)." in alike.reasons()


class TestOthers:
    def test_everyone_who_had_less_but_could_not_be_served_is_named(self):
        burden = ChooseK([3, 3, 3, 3, 3], allowed=[True, False, True, False, False], kind="burden")
        assert "Not available: Dana (0.50) and Ben (1.00)." in decide(burden, [2, 1, 1.5, 0.5, 4]).reasons()

    def test_names_with_commas_stay_apart(self):
        problem = ChooseK([1, 1, 1], 2, agents=["Krüger, Ben", "Ana", "Lê, Hồng"])
        decision = allocate(problem, FADING, FADING.update(FADING.init(3), np.array([1.0, 9.0, 2.0])), "egalitarian")
        assert decision.explanation.headline.startswith("Krüger, Ben; and Lê, Hồng each get a place: ")
        parts, recall = Divide(5, [1, 1], agents=["West, Klinik", "Ost"]), PerfectRecall()
        decision = allocate(parts, recall, recall.update(recall.init(2), np.array([1.0, 0.0])), "egalitarian")
        assert decision.explanation.headline.startswith("West, Klinik gets 2 of 5; and Ost 3 of 5: ")


class TestDivisions:
    def decide(self, **options):
        return decide(Divide(1000, [1, 1, 1], [60, 900, 900], **options), [90, 100, 220], thing="dose")

    def test_the_headline_tells_full_requests_from_the_level(self):
        assert why(self.decide()) == "Ana's request is met in full, and the rest brings Ben and Cem to 630"
        about = decide(Divide(11, [1, 1, 1], [2, 20, 20], whole=True), [1, 4, 4], thing="dose")
        assert why(about) == "Ana's request is met in full, and the rest brings Ben and Cem to about 8"
        burden = decide(Divide(20, [1, 1, 1], [2, 20, 20], kind="burden"), [0, 4, 4])
        assert why(burden) == "Ana takes as much as possible, and the rest brings Ben and Cem to 13"

    def test_the_table_has_the_caps_and_what_is_left_over_its_unit(self):
        assert [cells["cap"] for cells in table_of(self.decide()).values()] == [60, 900, 900]
        assert "cap" not in table_of(decide(Divide(4, [1, 1]), [1, 2]))["Ana"]
        left = decide(Divide(2000, [1, 1], [60, 850]), [1, 2], thing="dose")
        assert "1,090 of 2,000 doses are left over." in left.reasons()

    def test_why_not_more(self):
        decision = self.decide()
        assert decision.why_not("Ana") == "Ana gets 60 doses, so Ana's request is met in full."
        assert decision.why_not("Ben") == (
            "Ben gets 530 doses, which makes 630. More for Ben would bring someone else below that level."
        )
        nash = decide(Divide(4, [1, 2]), [1, 2], welfare="nash").why_not("Ana")
        assert nash.endswith("no other division has a higher welfare (nash).")


def test_prices_are_explained():
    assert (
        "A price is how much a unit counts for someone. It rises while they get little."
        in decide(ChooseK([3, 1]), [1, 2], rule="prices").reasons()
    )


def test_lent_things_are_not_what_fades():
    assert "Each entry counts half after 30 days." in decide(ChooseK([1, 1]), [1, 2], thing="GPU", unit="h").reasons()
    assert Thing("GPU", "GPU-hours").entry("burden") == "entry"
    assert Thing("shift", "h").entry("burden") == "shift"


def test_as_data():
    decision = decide(Assign([[3.0, 1.0], [0.5, 2.0]], items=["early", "late"]), [1, 2])
    data = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    assert data["gets"] == decision.gets == {"Ana": "early", "Ben": "late"}
    assert data["reasons"] == decision.reasons()
    assert data["explanation"] == " ".join(decision.reasons())
    assert str(decision) == decision.explain()
    assert (data["served"], data["owners"]) == (["Ana", "Ben"], {"early": "Ana", "late": "Ben"})


def test_names_where_none_are_given():
    memory = PerfectRecall()
    decision = allocate(Assign([[3.0, 1.0]]), memory, memory.init(1), "nash")
    assert (list(decision.agent_names), list(decision.problem.item_names)) == (["agent 0"], ["item 0", "item 1"])
    assert decision.explain().startswith("agent 0 gets item 0: ")
    assert "1 item is left over." in decision.reasons()


@pytest.mark.parametrize(
    ("thing", "kind", "worth", "is_only", "text"),
    [
        (Thing("shift", "h"), "burden", 10, True, "the 10-hour shift"),
        (Thing("shift", "h"), "burden", 8, False, "an 8-hour shift"),
        (Thing("shift", "h"), "burden", 110, False, "a 110-hour shift"),
        (Thing("", "GPU-hours"), "good", 12, True, "12 GPU-hours"),
        (Thing("", "GPU-hours"), "good", 1, True, "1 GPU-hour"),
        (Thing("", "GB/s"), "good", 1, True, "1 GB/s"),
        (Thing("GPU", "h"), "good", 12, True, "the GPU for 12 h"),
        (Thing("evening"), "good", 1, False, "an evening"),
        (Thing("dose"), "good", 3, False, "a dose (need 3)"),
        (Thing(), "burden", 3, True, "the job (load 3)"),
        (Thing("tour", "km"), "burden", 3, True, "the tour (3 km)"),
    ],
)
def test_a_place_in_words(thing, kind, worth, is_only, text):
    assert thing.place(worth, kind, is_only) == text


def test_a_part_in_words():
    assert [Thing("delivery").part(part, 9) for part in (1, 2.5)] == ["1 delivery", "2.5 deliveries"]
    assert [Thing().part(3, 9), Thing("", "l").part(3, 9)] == ["3 of 9", "3 l"]
    with pytest.raises(ValueError, match="unit must have at most 40 characters"):
        check_word("unit", "x" * 41)


numbers = st.integers(0, 4).map(float) | st.floats(0.1, 9.0, allow_nan=False)


@st.composite
def problems(draw):
    n = draw(st.integers(1, 5))
    kind = draw(st.sampled_from(["good", "burden"]))
    needs = draw(st.lists(numbers, min_size=n, max_size=n))
    form = draw(st.sampled_from(["choose", "divide", "assign"]))
    if form == "choose":
        return ChooseK(needs, draw(st.integers(1, n)), kind=kind)
    if form == "divide":
        return Divide(draw(st.floats(0.5, 9.0)), needs, kind=kind)
    m = draw(st.integers(1, 3))
    table = draw(st.lists(st.lists(numbers, min_size=m, max_size=m), min_size=n, max_size=n))
    return Assign(table, None, kind=kind)


@given(problems(), st.data())
def test_the_headline_is_true_of_the_table(problem, data):
    n = problem.n_agents
    welfares = ["egalitarian", "utilitarian", "generalized_gini"] + ["nash"] * (not problem.is_burden)
    remembered = data.draw(st.lists(numbers, min_size=n, max_size=n))
    rule = data.draw(st.sampled_from(["one-step", "prices"]))
    decision = decide(problem, remembered, welfare=data.draw(st.sampled_from(welfares)), rule=rule)
    cells, names = table_of(decision), decision.agent_names
    chosen = [names[i] for i in decision.served.tolist()]
    assert set(chosen) <= set(cells)
    table = decision.explanation.table
    assert {table.rows[i][0] for i in table.chosen} == set(chosen)
    reason = why(decision) if chosen else ""
    others = [name for name in cells if name not in chosen]
    is_drawn = "random draw" in reason
    assert is_drawn == any("random draw decided" in sentence for sentence in decision.reasons())
    if "of the" not in reason or not others:
        return
    # The column that the reason is about, and whether a small number comes first.
    column, sign = next(
        (column, sign)
        for start, column, sign in [
            ("lowest recent total", "recent", 1), ("lowest recent workload with this", "with this", 1),
            ("lowest recent workload", "recent", 1), ("highest need × price", "need × price", -1),
            ("lowest load × price", "load × price", 1), ("highest rate × price", "rate × price", -1),
            ("lowest rate × price", "rate × price", 1), ("highest need", "need", -1), ("lowest load", "load", 1),
            ("largest gain", "gain", -1),
        ]
        if reason.startswith(start)
    )  # fmt: skip
    for row in cells.values():
        row["gain"] = row["with this"] / row["recent"] if row.get("recent") and "with this" in row else np.inf
    worst = max(sign * cells[name][column] for name in chosen)
    best = min(sign * cells[name][column] for name in others)
    assert worst <= best + 1e-8 * abs(best)
    if not is_drawn and "then" not in reason:
        assert worst < best
    assert f"of the {len(cells)}" in reason.replace("two", "2").replace("three", "3").replace("four", "4").replace(
        "five", "5"
    )
