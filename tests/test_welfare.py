import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bygones import inequality, welfare
from bygones.welfare import (
    Welfare,
    alpha_fair,
    egalitarian,
    generalized_gini,
    leximin_key,
    log_nash,
    nash,
    parse_welfare,
    utilitarian,
)

vectors = arrays(float, st.integers(1, 6), elements=st.floats(0, 100))
spread = arrays(float, 4, elements=st.floats(0.01, 100))
ALL = [
    utilitarian, egalitarian, nash, log_nash, generalized_gini,
    parse_welfare("alpha_fair", alpha=0.5), parse_welfare("alpha_fair", alpha=1), parse_welfare("alpha_fair", alpha=2),
    parse_welfare("alpha_fair", alpha=math.inf),
]  # fmt: skip


def label(W):
    return getattr(W, "__name__", str(W))


def test_by_hand():
    Z = [1.0, 2.0, 4.0]
    assert utilitarian(Z) == 7
    assert egalitarian(Z) == 1
    assert nash(Z) == 8
    assert log_nash(Z) == pytest.approx(math.log(8), abs=1e-5)
    assert log_nash(Z, eps=1) == pytest.approx(math.log(2 * 3 * 5))
    assert alpha_fair(Z, 2) == pytest.approx(-(1 + 0.5 + 0.25), abs=1e-5)
    assert alpha_fair(Z, 2, eps=1) == pytest.approx(-(1 / 2 + 1 / 3 + 1 / 5))
    assert alpha_fair(Z, 0.5) == pytest.approx(2 * (1 + math.sqrt(2) + 2))
    assert generalized_gini(Z, [3, 2, 1]) == 3 + 4 + 4
    assert generalized_gini([4, 2, 1], [3, 2, 1]) == 11


def test_log_nash_of_an_empty_memory():
    assert log_nash(np.zeros(10)) == pytest.approx(10 * math.log(1e-6))


@given(vectors)
def test_alpha_runs_from_utilitarian_over_log_nash_to_egalitarian(Z):
    assert alpha_fair(Z, 0) == utilitarian(Z)
    assert alpha_fair(Z, 1) == log_nash(Z)
    assert alpha_fair(Z, math.inf) == egalitarian(Z)
    assert alpha_fair(Z, 1, eps=0.5) == log_nash(Z, eps=0.5)


@given(spread, spread)
def test_a_large_alpha_ranks_as_the_worst_off_does(a, b):
    worse, better = sorted((a, b), key=min)
    assume(min(better) > 1.2 * min(worse))
    assert alpha_fair(better, 60) > alpha_fair(worse, 60)


@given(spread)
def test_alpha_fair_is_continuous_in_differences_around_one(Z):
    shifted = Z * 1.5
    gain = [alpha_fair(shifted, a) - alpha_fair(Z, a) for a in (1 - 1e-7, 1, 1 + 1e-7)]
    assert gain[0] == pytest.approx(gain[1], rel=1e-3, abs=1e-4)
    assert gain[2] == pytest.approx(gain[1], rel=1e-3, abs=1e-4)


@given(vectors)
def test_default_gini_weights_give_mean_times_one_minus_gini(Z):
    assert generalized_gini(Z) == pytest.approx(Z.mean() * (1 - inequality.gini(Z)), abs=1e-9)


@given(vectors)
def test_gini_weights_reach_both_ends(Z):
    first = np.eye(len(Z))[0]
    assert generalized_gini(Z, first) == egalitarian(Z)
    assert generalized_gini(Z, np.ones(len(Z))) == pytest.approx(utilitarian(Z))


@pytest.mark.parametrize("W", ALL, ids=label)
@given(vectors, st.randoms())
def test_names_do_not_matter(W, Z, random):
    shuffled = Z.tolist()
    random.shuffle(shuffled)
    assert W(np.array(shuffled)) == pytest.approx(W(Z), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("W", ALL, ids=label)
@given(spread, st.integers(0, 3), st.floats(0.01, 1))
def test_more_for_one_is_never_worse(W, Z, i, more):
    better = Z.copy()
    better[i] += more
    assert W(better) >= W(Z) - 1e-9 * abs(W(Z))


@pytest.mark.parametrize("W", ALL, ids=label)
@given(spread, st.floats(0, 0.5))
def test_a_transfer_from_rich_to_poor_is_never_worse(W, Z, part):
    rich, poor = Z.argmax(), Z.argmin()
    after = Z.copy()
    amount = part * (Z[rich] - Z[poor])
    after[rich] -= amount
    after[poor] += amount
    assert W(after) >= W(Z) - 1e-9 * max(1.0, abs(W(Z)))


@pytest.mark.parametrize("W", ALL, ids=label)
def test_the_last_axis_is_agents(W):
    batch = np.random.default_rng(0).random((2, 5, 3))
    assert W(batch).shape == (2, 5)
    for i, j in itertools.product(range(2), range(5)):
        assert W(batch)[i, j] == pytest.approx(W(batch[i, j]))
    assert leximin_key(batch).shape == batch.shape


def test_leximin_breaks_the_ties_of_egalitarian():
    a, b = [3.0, 1.0, 2.0], [1.0, 1.0, 9.0]
    assert egalitarian(a) == egalitarian(b)
    assert tuple(leximin_key(a)) == (1, 2, 3) > tuple(leximin_key(b))


@given(spread, spread)
def test_leximin_agrees_with_egalitarian_where_that_decides(a, b):
    worse, better = sorted((a, b), key=egalitarian)
    assume(egalitarian(better) > egalitarian(worse))
    assert tuple(leximin_key(better)) > tuple(leximin_key(worse))


@pytest.mark.parametrize("function", [utilitarian, egalitarian, nash, log_nash, generalized_gini, leximin_key])
@pytest.mark.parametrize(
    ("Z", "message"),
    [
        ([1, math.nan], "Z must be finite, got nan at index 1"),
        ([math.inf, 1], "Z must be finite, got inf at index 0"),
        (1.0, r"Z must have at least one agent along its last axis, got shape \(\)"),
        (np.zeros((2, 0)), r"Z must have at least one agent along its last axis, got shape \(2, 0\)"),
        (["a"], "Z must be an array of numbers"),
    ],
)
def test_bad_vectors_are_refused(function, Z, message):
    with pytest.raises(ValueError, match=message):
        function(Z)


@pytest.mark.parametrize(
    "W", [nash, log_nash, parse_welfare("alpha_fair", alpha=0.5), parse_welfare("alpha_fair", alpha=3)], ids=label
)
def test_negative_memories_are_refused_where_they_have_no_value(W):
    name = label(W).partition("(")[0]
    with pytest.raises(ValueError, match=f"Z must be at least 0 for {name} welfare, got"):
        W([1.0, -0.1])


@pytest.mark.parametrize(
    "W", [utilitarian, egalitarian, generalized_gini, parse_welfare("alpha_fair", alpha=0)], ids=label
)
def test_negative_memories_are_fine_where_they_have_a_value(W):
    assert W([-1.0, -1.0]) < 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: log_nash([1], eps=0), "eps must be a finite number above 0, got 0"),
        (lambda: log_nash([1], eps=math.inf), "eps must be a finite number above 0, got inf"),
        (lambda: alpha_fair([1], 2, eps=-1), "eps must be a finite number above 0, got -1"),
        (lambda: alpha_fair([1], -1), r"alpha must be at least 0 \(infinity is egalitarian\), got -1"),
        (lambda: alpha_fair([1], math.nan), "alpha must be at least 0"),
        (lambda: alpha_fair([math.nan], 0), "Z must be finite"),
        (lambda: generalized_gini([1, 2], [1]), r"weights must have one entry per agent \(2\), got shape \(1,\)"),
        (lambda: generalized_gini([1, 2], [1, 2]), "weights must not increase and not be negative"),
        (lambda: generalized_gini([1, 2], [1, -1]), "weights must not increase and not be negative"),
        (lambda: generalized_gini([1, 2], [math.nan, 1]), "weights must be finite"),
        (
            lambda: parse_welfare("nice"),
            "welfare must be one of utilitarian, egalitarian, nash, log_nash, .* got 'nice'",
        ),
        (lambda: parse_welfare(3), "welfare must be a name such as"),
        (lambda: parse_welfare("alpha_fair"), r"^welfare alpha_fair needs its alpha, as in alpha_fair\(alpha=...\)$"),
        (lambda: parse_welfare("nash", eps=1), "welfare nash takes no parameters, got 'eps'"),
        (lambda: parse_welfare("log_nash", alpha=1), "welfare log_nash takes eps, got 'alpha'"),
        (lambda: parse_welfare("alpha_fair", beta=1), "welfare alpha_fair takes alpha, eps, got 'beta'"),
        (
            lambda: parse_welfare("alpha_fair(alpha=x)"),
            "alpha must be a number or a list of numbers, got 'x' in welfare alpha_",
        ),
        (lambda: parse_welfare("alpha_fair(alpha=2"), "welfare must be written as name or"),
        (lambda: parse_welfare("log_nash(eps=1).real"), "welfare must be written as name or"),
    ],
)
def test_bad_parameters_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_weights_may_be_equal_or_end_in_zero():
    assert generalized_gini([1, 2], [1, 1]) == 3
    assert generalized_gini([1, 2], [1, 0]) == 1


@pytest.mark.parametrize("name", welfare.names())
def test_every_name_works(name):
    W = parse_welfare(name, **({"alpha": 2} if name == "alpha_fair" else {}))
    assert W([1.0, 2.0]) == getattr(welfare, name)([1.0, 2.0], **W.parameters)


JUDGED = ["utilitarian", "egalitarian", "nash", "log_nash", "log_nash(eps=0.5)", "generalized_gini"]
JUDGED += ["alpha_fair(alpha=0.5)", "alpha_fair(alpha=2)", "alpha_fair(alpha=2, eps=0.5)"]
JUDGED += ["generalized_gini(weights=(0.5, 0.3, 0.2))"]


@pytest.mark.parametrize("name", JUDGED)
def test_the_judge_is_the_same_function_without_its_checks(name):
    Z = np.array([[3.0, 0.0, 2.0], [1e-7, 0.1, 4.0]])
    np.testing.assert_array_equal(parse_welfare(name).judge(Z), parse_welfare(name)(Z))
    assert np.isnan(parse_welfare(name).judge(np.array([math.nan, 1.0, 1.0])))


def test_names_parse_and_print():
    assert parse_welfare("alpha_fair(alpha=2)") == parse_welfare("alpha_fair", alpha=2)
    assert str(parse_welfare("alpha_fair(alpha=2, eps=0.5)")) == "alpha_fair(alpha=2, eps=0.5)"
    assert parse_welfare(str(parse_welfare("alpha-fair", alpha=3))) == parse_welfare("alpha_fair", alpha=3)
    assert parse_welfare(" nash ") == Welfare("nash")
    assert str(parse_welfare("nash")) == "nash"
    assert parse_welfare("generalized_gini(weights=[2, 1])")([5.0, 1.0]) == 7
    assert parse_welfare(parse_welfare("log_nash"), eps=0.1).parameters["eps"] == 0.1
    assert parse_welfare(parse_welfare("log_nash", eps=0.3)) == parse_welfare("log_nash", eps=0.3)
    assert welfare.parse_welfare("log_nash()") == parse_welfare("log_nash")


def test_a_welfare_is_a_value():
    W = parse_welfare("alpha_fair", alpha=2)
    assert pickle.loads(pickle.dumps(W)) == W
    assert hash(W) == hash(parse_welfare("alpha_fair", alpha=2))
    assert len({W, parse_welfare("alpha_fair", alpha=2), parse_welfare("alpha_fair", alpha=3)}) == 2
    assert len({hash(parse_welfare("alpha_fair", alpha=a)) for a in range(2, 30)}) > 20
    with pytest.raises(TypeError):
        W.parameters["alpha"] = 3
