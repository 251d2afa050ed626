"""Divisions in whole units are the best of all of them, and the table shows how they were rounded."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bygones import Discounted, Multiscale, PerfectRecall
from bygones.allocation import Divide, allocate
from bygones.allocation.problems import problem_from
from bygones.allocation.solvers.enumerate import COUNTLESS, count_divisions
from bygones.allocation.tables import read_needs
from support import brute_force
from support.command_line import refused, run
from support.memories import CappedRecall, LastSteps

GOODS = [*brute_force.WELFARES, "alpha_fair(alpha=6)"]
BURDENS = ["egalitarian", "utilitarian", "generalized_gini", "power_burden(p=2)", "power_burden(p=5)"]
NUMBERS = st.one_of(st.sampled_from([0.5, 1.0, 2.0]), st.floats(0.1, 3.0))


@st.composite
def divisions(draw):
    n = draw(st.integers(2, 4))
    numbers = st.lists(NUMBERS, min_size=n, max_size=n).map(np.array)
    caps = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    past = draw(st.lists(st.one_of(st.just(0.0), NUMBERS), min_size=n, max_size=n).map(np.array))
    return past, draw(numbers), caps, draw(st.integers(1, 5)), draw(st.none() | numbers)


def decided(division, welfare, kind="good", memory=None):
    past, rates, caps, units, entitlements = division
    memory = memory or PerfectRecall()
    state = memory.update(memory.init(len(past)), past)
    problem = Divide(units, rates, caps, kind=kind, whole=True)
    return allocate(problem, memory, state, welfare, entitlements=entitlements, rng=np.random.default_rng(0))


def every_division(division, kind, leave=False):
    """Every way to hand out the units; with `leave`, of goods some may be left over."""
    _, _, caps, units, _ = division
    for parts in itertools.product(*(range(min(cap, units) + 1) for cap in caps)):
        if sum(parts) == min(units, caps.sum()) or (leave and kind == "good" and sum(parts) < units):
            yield np.array(parts, dtype=float)


def judged(decision, parts):
    """The welfare, and what is remembered per unit of entitlement, worst-off first, of another division."""
    other = replace(decision, given=parts)
    after = np.sort(np.asarray(other.after))
    return other.welfare_after, tuple((-after[::-1] if decision.problem.is_burden else after).tolist())


@given(divisions(), st.sampled_from(GOODS))
@settings(max_examples=150, deadline=None)
def test_no_other_division_of_goods_is_better(division, welfare):
    decision = decided(division, welfare)
    assert (decision.given == np.round(decision.given)).all()
    best = max(judged(decision, parts)[0] for parts in every_division(division, "good"))
    assert decision.welfare_after >= best - 1e-9 * max(1.0, abs(best))


@given(divisions(), st.sampled_from(BURDENS))
@settings(max_examples=100, deadline=None)
def test_no_other_division_of_burdens_is_better(division, welfare):
    _, _, caps, units, _ = division
    if caps.sum() < units:
        with pytest.raises(ValueError, match="amount must be at most"):
            decided(division, welfare, "burden")
        return
    decision = decided(division, welfare, "burden")
    assert decision.given.sum() == units
    best = max(judged(decision, parts)[0] for parts in every_division(division, "burden"))
    assert decision.welfare_after >= best - 1e-9 * max(1.0, abs(best))


def best_and_second(Z):
    """A welfare of somebody's own, of which nothing is known but its values."""
    return np.sort(Z)[-2:] @ [0.5, 1.0] + 0.1 * np.min(Z)


@given(
    divisions(),
    st.sampled_from(["egalitarian", "utilitarian", "generalized_gini", best_and_second]),
    st.sampled_from(["good", "burden"]),
    st.sampled_from([CappedRecall(Discounted(gamma=0.9), 1.5), LastSteps(2), PerfectRecall()]),
)
@settings(max_examples=150, deadline=None)
def test_small_divisions_are_the_best_of_all_whatever_the_memory_and_the_welfare(division, welfare, kind, memory):
    assume(kind == "good" or division[2].sum() >= division[3])
    decision = decided(division, welfare, kind, memory)
    best = max(judged(decision, parts)[0] for parts in every_division(division, kind, leave=True))
    assert decision.welfare_after >= best - 1e-9 * max(1.0, abs(best))
    assert decision.optimal
    assert decision.explain()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4).map(np.array), st.integers(1, 6), st.booleans())
def test_divisions_are_counted(most, units, everything):
    parts = itertools.product(*(range(cap + 1) for cap in most))
    fitting = [sum(part) for part in parts if sum(part) <= units]
    count = fitting.count(units) if everything else len(fitting)
    assert count_divisions(most, units, everything=everything) == count


@pytest.mark.parametrize("welfare", ["egalitarian", "utilitarian", "power_burden", "generalized_gini"])
@pytest.mark.parametrize(
    ("memory", "rates"),
    [(PerfectRecall(), [0.0, 0.0, 0.0]), (Multiscale(gammas=(0.9, 0.5), weights=(1.0, -1.0)), [3.0, 2.0, 1.0])],
    ids=["nothing to carry", "nothing remembered of the last step"],
)
def test_a_burden_that_leaves_no_trace_is_carried_all_the_same(memory, rates, welfare):
    decision = allocate(Divide(2.0, rates, kind="burden", whole=True), memory, memory.init(3), welfare)
    assert decision.given.sum() == 2


@pytest.mark.parametrize(("agents", "cap", "units"), [(40, 1, 20), (1000, 1, 500), (2000, 10, 1000), (400, 50, 3000)])
@pytest.mark.parametrize("everything", [True, False])
def test_more_divisions_than_can_be_counted_are_not_few(agents, cap, units, everything):
    assert count_divisions(np.full(agents, cap), units, everything=everything) == COUNTLESS


def test_large_divisions_are_refused_with_the_number_of_allocations():
    memory = CappedRecall(Discounted(gamma=0.9), 1.5)
    with pytest.raises(ValueError, match=r"CappedRecall memory does not say .* about 1\.85e\+05 allocations.* smaller"):
        allocate(Divide(10, np.ones(10), whole=True), memory, memory.init(10), "nash")  # 20 over 10
    with pytest.raises(ValueError, match=r"at least 1e\+09 allocations"):
        allocate(Divide(2000, np.ones(2000), whole=True), memory, memory.init(2000), "nash")
    with pytest.raises(ValueError, match=r"infinitely many allocations: .*, or divide in whole units \(whole=True\)"):
        allocate(Divide(2, np.ones(2)), memory, memory.init(2), "nash")


def test_a_draw_among_equal_divisions_does_not_favour_who_may_have_more():
    memory, problem = PerfectRecall(), Divide(3, np.ones(2), [3, 2], whole=True)
    more = np.zeros(2)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        more += allocate(problem, memory, memory.init(2), "generalized_gini", rng=rng).given - 1
    np.testing.assert_allclose(more / 300, 1 / 2, atol=0.08)


@given(divisions(), st.sampled_from(["good", "burden"]))
@settings(max_examples=100, deadline=None)
def test_egalitarian_divisions_are_leximin(division, kind):
    if kind == "burden" and division[2].sum() < division[3]:
        return
    decision = decided(division, "egalitarian", kind)
    best = max(judged(decision, parts)[1] for parts in every_division(division, kind))
    np.testing.assert_allclose(judged(decision, decision.given)[1], best, atol=1e-9)


def test_the_last_unit_goes_to_everybody_equally_often():
    memory, problem = PerfectRecall(), Divide(20, np.ones(3), whole=True)
    more = np.zeros(3)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        more += allocate(problem, memory, memory.init(3), "nash", rng=rng).given - 6
    np.testing.assert_allclose(more / 300, 2 / 3, atol=0.08)


def test_the_table_shows_the_parts_before_rounding():
    memory = PerfectRecall()
    state = memory.update(memory.init(3), [0.0, 1.0, 0.5])
    decision = allocate(Divide(20, dict.fromkeys("abc", 1), whole=True), memory, state, "egalitarian")
    assert decision.given.tolist() == [7, 6, 7]
    table = decision.explanation.table
    column = [heading.name for heading in table.headings].index("unrounded")
    parts = {row[0]: row[column] for row in table.rows}
    assert parts == {"a": pytest.approx(7 + 1 / 6), "b": pytest.approx(6 + 1 / 6), "c": pytest.approx(6 + 2 / 3)}
    exact = allocate(Divide(21, np.ones(3), whole=True), memory, memory.init(3), "egalitarian")
    assert "unrounded" not in [heading.name for heading in exact.explanation.table.headings]


@pytest.mark.parametrize("amount", [12.5, 1e9])
def test_an_amount_in_whole_units_is_a_whole_number(amount):
    with pytest.raises(ValueError, match="amount must be a whole number of at most 100,000 units"):
        Divide(amount, [1.0, 1.0], whole=True)


def test_a_request_stays_whole_in_a_ledger():
    request = Divide(5.0, {"a": 1.0}, whole=True)
    assert problem_from(request.to_dict()).to_dict() == request.to_dict()
    assert "whole" not in Divide(5.0, {"a": 1.0}).to_dict()


def test_needs_limit_what_an_amount_is_divided_into(tmp_path, capsys):
    table = tmp_path / "needs.csv"
    table.write_text("agent,need\na,5\nb,3\nc,30\nd,\n", encoding="utf-8")
    request = read_needs(table, amount=20.0)
    expected = Divide(20.0, {"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 5.0, "b": 3.0, "c": 30.0})
    assert request.to_dict() == expected.to_dict()
    printed = run(capsys, "allocate", table, "--half-life", "3", "--amount", "20")
    assert printed.startswith("a gets 5 of 20, b 3 of 20 and c 12 of 20: ")
    printed = run(capsys, "allocate", table, "--half-life", "3", "--amount", "10", "--whole", "--seed", "0")
    assert "unrounded" in printed
    assert "whole is for an amount" in refused(capsys, "allocate", table, "--half-life", "3", "--whole")


def test_names_that_differ_in_case_alone_are_printed_as_they_are(tmp_path, capsys):
    table = tmp_path / "items.csv"
    table.write_text("agent,i1,i2\na,1,\nA,,1\n", encoding="utf-8")
    assert run(capsys, "allocate", table, "--half-life", "3").startswith("a gets i1 and A i2: ")
