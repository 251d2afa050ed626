import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones import decay

WAYS = {
    "gamma": decay.gamma,
    "half_life": decay.half_life,
    "tenth_life": decay.tenth_life,
    "window": decay.window,
}
lives = st.floats(0.5, 1e12)


def test_half_life_halves_and_tenth_life_leaves_a_tenth():
    assert decay.gamma(half_life=7) ** 7 == pytest.approx(0.5, rel=1e-14)
    assert decay.gamma(tenth_life=7) ** 7 == pytest.approx(0.1, rel=1e-14)
    assert decay.half_life(gamma=0.5) == 1.0
    assert decay.tenth_life(gamma=0.1) == 1.0


def test_table_of_the_paper_with_its_two_slips_corrected():
    got = [(round(decay.half_life(gamma=g), 2), round(decay.window(gamma=g), 1)) for g in (0.8, 0.9, 0.95, 0.97, 0.99)]
    assert got == [(3.11, 5.0), (6.58, 10.0), (13.51, 20.0), (22.76, 33.3), (68.97, 100.0)]


@given(
    lives,
    st.sampled_from(["half_life", "tenth_life", "window"]),
    st.sampled_from(["half_life", "tenth_life", "window"]),
)
def test_all_directions_are_inverse_to_each_other(life, there, back):
    start = 1.0 + life if there == "window" else life
    assert WAYS[there](**{back: WAYS[back](**{there: start})}) == pytest.approx(start, rel=1e-9)


@given(st.floats(1e-6, 1 - 1e-9), st.sampled_from(["half_life", "tenth_life", "window"]))
def test_gamma_survives_the_way_there_and_back(g, way):
    assert decay.gamma(**{way: WAYS[way](gamma=g)}) == pytest.approx(g, rel=1e-9)
    assert decay.gamma(gamma=g) == g


def test_ends_of_the_scale():
    assert decay.gamma(half_life=math.inf) == decay.gamma(window=math.inf) == decay.gamma(tenth_life=math.inf) == 1.0
    assert decay.half_life(gamma=1) == decay.tenth_life(gamma=1) == decay.window(gamma=1) == math.inf
    assert decay.half_life(gamma=0) == decay.tenth_life(gamma=0) == 0.0
    assert decay.gamma(window=1) == 0.0
    assert decay.window(gamma=0) == 1.0
    assert decay.rate(gamma=0) == math.inf
    assert decay.rate(gamma=1) == 0.0


def test_long_half_lives_keep_their_digits():
    assert decay.window(half_life=1e15) == pytest.approx(1e15 / math.log(2), rel=1e-12)


@given(st.floats(0.5, 1e6), st.floats(0.001, 0.999))
def test_the_last_steps_hold_the_promised_share_and_no_larger_gamma_does(last, share):
    g = decay.gamma(last=last, share=share)
    assert decay.share_of_last(last, last=last, share=share) == pytest.approx(share, rel=1e-9)
    assert decay.steps_for_share(share, last=last, share=share) == pytest.approx(last, rel=1e-9)
    assert 1 - g**last == pytest.approx(share, abs=1e-6)


def test_share_of_last_at_the_ends():
    assert decay.share_of_last(5, gamma=1.0) == 0.0
    assert decay.share_of_last(5, gamma=0.0) == 1.0
    assert decay.share_of_last(0, gamma=0.0) == 0.0
    assert decay.share_of_last(2, gamma=0.5) == 0.75
    assert decay.share_of_last(0, gamma=0.5) == 0.0
    assert decay.steps_for_share(0.75, gamma=0.5) == pytest.approx(2)
    assert decay.steps_for_share(0.5, gamma=1.0) == math.inf


def test_equivalents_say_one_decay_in_every_unit():
    got = decay.equivalents(half_life=7)
    percents = [f"steps_for_{p}%" for p in (50, 90, 95, 99)]
    assert list(got) == ["gamma", "half_life", "tenth_life", "window", *percents]
    assert got["half_life"] == pytest.approx(7)
    assert got["steps_for_50%"] == pytest.approx(7)
    assert got["steps_for_90%"] == pytest.approx(got["tenth_life"])
    assert got["steps_for_99%"] == pytest.approx(2 * got["tenth_life"])
    assert got["gamma"] ** got["steps_for_95%"] == pytest.approx(0.05)
    assert got["window"] == pytest.approx(1 / (1 - got["gamma"]))


def test_arrays_are_converted_entry_by_entry():
    gammas = np.array([0.0, 0.5, 1.0])
    np.testing.assert_allclose(decay.half_life(gamma=gammas), [0.0, 1.0, math.inf])
    np.testing.assert_allclose(decay.window(gamma=gammas), [1.0, 2.0, math.inf])
    np.testing.assert_allclose(decay.denominator(gammas, 3), [1.0, 1.75, 3.0])
    np.testing.assert_allclose(decay.denominator(gammas, 0), [0.0, 0.0, 0.0])


@given(st.floats(0, 1, allow_subnormal=False), st.integers(0, 60))
def test_denominator_is_the_sum_of_the_weights(g, t):
    exact = sum((Fraction(g) ** k for k in range(t)), Fraction(0))
    assert decay.denominator(g, t) == pytest.approx(float(exact), rel=1e-9)


def test_denominator_over_an_infinite_horizon_is_the_window():
    assert decay.denominator(0.99) == pytest.approx(100)
    assert decay.denominator(0.0) == 1.0
    assert decay.denominator(1.0) == math.inf
    assert decay.denominator(1.0, 12) == 12
    assert decay.denominator(0.0, 0) == decay.denominator(1.0, 0) == 0


def test_bounds_and_responsiveness():
    assert decay.additive_bound(2.0, 0.5) == 4.0
    assert decay.additive_bound(2.0, 0.5, 2) == 3.0
    assert decay.additive_bound(2.0, 1.0) == math.inf
    assert decay.additive_bound(2.0, 1.0, 7) == 14.0
    assert decay.averaged_bound(3.0) == 3.0
    assert decay.responsiveness(0.5) == 0.5
    assert decay.responsiveness(0.5, 1) == 1.0
    assert decay.responsiveness(1.0, 4) == 0.25
    assert decay.responsiveness(1.0) == 0.0


def test_bin_counts_are_exact_integers_of_any_size():
    assert decay.bins_perfect_recall(10, 0.1) == 100
    assert decay.bins_perfect_recall(3, 0.3) == 10
    assert decay.bins_perfect_recall(1, 0.3, u_max=1.0) == 4
    assert decay.bins_perfect_recall(10_000, 0.1, n_agents=10) == 100_000**10
    assert decay.bins_perfect_recall(5, 0.5, u_max=2.0) == 20
    assert decay.bins_discounted(0.9, 0.1) == 100
    assert decay.bins_discounted(0.99, 1, u_max=0.5, n_agents=3) == 50**3
    assert decay.bins_discounted(0.0, 2.0) == 1
    assert isinstance(decay.bins_discounted(0.999999, 0.001, n_agents=100), int)


@pytest.mark.parametrize("elapsed", [0, 0.25, 1, 1.0, 3, np.float64(2.5)])
def test_kept_and_taken_add_up_to_one(elapsed):
    left, taken = decay.kept(0.7, elapsed)
    assert left == pytest.approx(0.7 ** float(elapsed), rel=1e-15)
    assert left + taken == pytest.approx(1.0, abs=1e-15)


def test_one_step_is_the_default_and_exact():
    assert decay.kept(0.7) == decay.kept(0.7, 1) == (0.7, 1 - 0.7)
    assert decay.kept(np.array([0.7]), 1.0)[1][0] == 1 - 0.7


def test_scalars_come_back_as_plain_floats():
    for value in (
        decay.half_life(gamma=0.5),
        decay.gamma(window=3),
        decay.denominator(0.5, 3),
        decay.window(gamma=0.5),
    ):
        assert type(value) is float


def test_kept_where_nothing_and_everything_is_kept():
    assert decay.kept(0.0, 0) == (1.0, 0.0)
    assert decay.kept(0.0, 0.0) == (1.0, 0.0)
    assert decay.kept(0.0) == (0.0, 1.0)
    assert decay.kept(1.0, 17.5) == (1.0, 0.0)


def test_what_is_taken_keeps_its_digits():
    _, taken = decay.kept(0.999999, 0.001)
    assert taken == pytest.approx(1.0000005e-9, rel=1e-7)
    _, taken = decay.kept(np.array([0.999999]), 0.001)
    assert taken[0] == pytest.approx(1.0000005e-9, rel=1e-7)


BAD = [
    (decay.gamma, {"half_life": 0}, "half_life must be above 0.*got 0"),
    (decay.gamma, {"half_life": -3}, "half_life must be above 0.*got -3"),
    (decay.gamma, {"half_life": math.nan}, "half_life must be above 0.*got nan"),
    (decay.gamma, {"half_life": "week"}, "half_life must be above 0.*got 'week'"),
    (decay.gamma, {"tenth_life": 0.0}, "tenth_life must be above 0"),
    (decay.half_life, {"gamma": 1.1}, "gamma must be between 0 and 1, got 1.1"),
    (decay.half_life, {"gamma": -0.1}, "gamma must be between 0 and 1, got -0.1"),
    (decay.half_life, {"gamma": math.nan}, "gamma must be between 0 and 1, got nan"),
    (decay.half_life, {"gamma": math.inf}, "gamma must be between 0 and 1, got inf"),
    (decay.window, {"window": 0.5}, "window must be at least 1.*got 0.5"),
    (decay.window, {"window": -math.inf}, "window must be at least 1"),
    (decay.rate, {}, "exactly one of gamma, half_life, tenth_life, window.*got none of them"),
    (decay.rate, {"gamma": 0.5, "window": 2}, "exactly one of.*got gamma and window"),
    (decay.rate, {"last": 5}, "last together with share; got last"),
    (decay.rate, {"share": 0.5}, "last together with share; got share"),
    (decay.rate, {"gamma": 0.5, "share": 0.5}, "got gamma and share"),
    (decay.rate, {"halflife": 5}, "unknown decay option 'halflife'; choose one of gamma, half_life"),
    (decay.rate, {"last": 0, "share": 0.5}, "last must be a finite number above 0, got 0"),
    (decay.rate, {"last": math.inf, "share": 0.5}, "last must be a finite number above 0, got inf"),
    (decay.rate, {"last": 5, "share": 0}, "share must be strictly between 0 and 1, got 0"),
    (decay.rate, {"last": 5, "share": 1}, "share must be strictly between 0 and 1, got 1"),
    (decay.share_of_last, {"steps": -1, "gamma": 0.5}, "steps must be a finite number of at least 0, got -1"),
    (decay.share_of_last, {"steps": math.inf, "gamma": 0.5}, "steps must be a finite number"),
    (decay.steps_for_share, {"wanted": 1.0, "gamma": 0.5}, "share must be strictly between 0 and 1"),
    (decay.denominator, {"gamma": 2}, "gamma must be between"),
    (decay.denominator, {"gamma": 0.5, "steps": -1}, "steps must be at least 0, got -1"),
    (decay.denominator, {"gamma": 0.5, "steps": math.nan}, "steps must be at least 0, got nan"),
    (decay.additive_bound, {"u_max": 0, "gamma": 0.5}, "u_max must be a finite number above 0, got 0"),
    (decay.averaged_bound, {"u_max": math.inf}, "u_max must be a finite number above 0, got inf"),
    (decay.responsiveness, {"gamma": 0.5, "steps": 0}, "steps must be at least 1, got 0"),
    (decay.bins_perfect_recall, {"steps": 0, "bin_width": 0.1}, "steps must be a whole number of at least 1, got 0"),
    (decay.bins_perfect_recall, {"steps": 2.5, "bin_width": 0.1}, "steps must be a whole number"),
    (decay.bins_perfect_recall, {"steps": 2, "bin_width": 0.0}, "bin_width must be a finite number above 0"),
    (decay.bins_perfect_recall, {"steps": 2, "bin_width": 1, "u_max": -1}, "u_max must be a finite number above 0"),
    (decay.bins_perfect_recall, {"steps": 2, "bin_width": 1, "n_agents": 0}, "n_agents must be a whole number"),
    (decay.bins_discounted, {"gamma": 1.0, "bin_width": 1}, "gamma must be at least 0 and below 1, got 1.0"),
    (decay.bins_discounted, {"gamma": 0.5, "bin_width": 1, "u_max": 0}, "u_max must be a finite number above 0"),
]


@pytest.mark.parametrize(("function", "arguments", "message"), BAD)
def test_bad_input_is_refused_with_name_value_and_what_is_accepted(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(**arguments)


def test_one_bad_entry_of_an_array_is_enough():
    with pytest.raises(ValueError, match="gamma must be between 0 and 1"):
        decay.half_life(gamma=np.array([0.5, 1.5]))
