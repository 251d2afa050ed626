"""A selection among many is the one that a full sort makes, and what ties with its last place is not forgotten."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones.allocation import ChooseK
from bygones.allocation.ties import (
    best_k,
    best_k_of_row,
    best_k_of_rows,
    best_of_rows,
    first_apart,
    first_by_leximin,
    is_tied,
    largest,
)

MANY = 40_000

patterns = {
    "random": lambda rng: rng.random(MANY),
    "few values": lambda rng: rng.integers(0, 4, MANY).astype(float),
    "sorted": lambda rng: np.arange(MANY, dtype=float),
    "negative": lambda rng: -rng.random(MANY),
    "all equal": lambda rng: np.full(MANY, 0.1),
    "infinite": lambda rng: np.where(rng.random(MANY) < 0.2, np.inf, rng.random(MANY)),
    # The sample takes every fourth: it sees all of the largest, or none of them.
    "where the sample looks": lambda rng: rng.random(MANY) + (np.arange(MANY) % 4 == 0),
    "where it does not look": lambda rng: rng.random(MANY) + (np.arange(MANY) % 4 == 1),
    "tied but for rounding": lambda rng: 1.0 + 1e-14 * rng.random(MANY),
}


@pytest.mark.parametrize("pattern", patterns)
@pytest.mark.parametrize("k", [1, 7, 500, 4_999, 5_001, MANY - 1])
def test_the_largest_of_many(pattern, k):
    values = patterns[pattern](np.random.default_rng(k))
    np.testing.assert_array_equal(np.sort(largest(values, k)), np.sort(values)[-k:])
    chosen = best_k([lambda who: values[who]], MANY, k, np.random.default_rng(0))
    assert len(np.unique(chosen)) == k
    np.testing.assert_allclose(np.sort(values[chosen]), np.sort(values)[-k:], rtol=1e-12)


def test_a_second_key_decides_among_all_who_tie():
    """Nobody who ties with the last place is lost to the sample, however many they are."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 3, MANY).astype(float) * (1.0 + 1e-14 * rng.random(MANY)), rng.random(MANY)
    chosen = best_k([lambda who: first[who], lambda who: second[who]], MANY, 100, rng)
    among = np.flatnonzero(first > 1.5)
    np.testing.assert_array_equal(chosen, np.sort(among[np.argsort(-second[among])[:100]]))


def test_lots_are_fair_among_many():
    chosen = [best_k([lambda who: np.ones(MANY)[who]], MANY, 1, np.random.default_rng(i))[0] for i in range(300)]
    assert np.mean(chosen) == pytest.approx(MANY / 2, rel=0.1)


def test_being_served_is_worth_the_mean_of_the_largest_needs():
    needs = np.random.default_rng(0).random(MANY)
    assert ChooseK(needs, 30).worth_once == pytest.approx(np.sort(needs)[-30:].mean())


numbers = st.sampled_from([0.25, 0.25 * (1 + 1e-14), 0.25 * (1 - 1e-14), 0.0, -1.0, float("inf"), 1e300])
tables = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.tuples(*[st.lists(numbers, min_size=n, max_size=n)] * 2), min_size=1, max_size=3)
)


@given(table=tables, k=st.integers(0, 6), seed=st.integers(0, 9))
def test_rows_are_chosen_from_as_one_alone_is(table, k, seed):
    """Whatever ties, one row, several rows and the selection among many come to the same choice by the same lots."""
    keys = np.moveaxis(np.array(table), 1, 0)
    k = min(k, keys.shape[-1])
    one_by_one = [best_k([key.__getitem__ for key in row], len(row[0]), k, _rng(seed)) for row in np.array(table)]
    rows = best_k_of_rows(keys, k, [_rng(seed) for _ in table]) if k else np.empty((len(table), 0))
    np.testing.assert_array_equal(rows, one_by_one)
    np.testing.assert_array_equal([best_k_of_row(row, k, _rng(seed)) for row in np.array(table)], one_by_one)


def _rng(seed):
    return np.random.default_rng(seed)


def test_rows_of_choices_are_decided_by_welfare_then_leximin_then_by_lot():
    welfare = np.array([[1.0, 2.0, 2.0], [3.0, 3.0 + 1e-12, 1.0], [0.0, 0.0, 0.0]])
    after = np.array([[[0, 9], [1, 5], [2, 4]], [[2, 2], [1, 3], [9, 9]], [[1, 2], [2, 1], [0, 9]]], dtype=float)
    chosen = [best_of_rows(welfare, after, np.random.default_rng(seed)).tolist() for seed in range(40)]
    assert {tuple(each[:2]) for each in chosen} == {(2, 0)}
    assert {each[2] for each in chosen} == {0, 1}


def test_what_told_two_choices_apart():
    one = np.array([1.0, 2.0, 3.0])
    assert first_apart(one, one * (1 + 1e-12)) is None
    assert first_apart(one, np.array([1.0, 2.1, 2.9])) == 1
    assert is_tied(10.0, 10.0 - 1e-12, 1e-12)
    assert not is_tied(10.0, 10.0 - 1e-10, 1e-10)
    assert first_by_leximin([np.array([3.0, 1.0]), np.array([2.0, 1.0 + 1e-12]), np.array([1.5, 2.5])]) == 2
    assert first_by_leximin([np.array([2.0, 1.0]), np.array([1.0, 2.0 + 1e-12])]) == 0
