from fractions import Fraction

import numpy as np
import pytest

from bygones.memory import Discounted, Instantaneous, PerfectRecall
from bygones.paper import examples
from bygones.paper.examples import EXAMPLE_1, EXAMPLE_2, Example, figure_1, run


def test_example_1_instantaneous_gives_alice_every_donut():
    history = run(EXAMPLE_1, Instantaneous(), steps=20)
    assert (history.owners == [1, 0]).all()
    np.testing.assert_allclose(history.difference, 0.2 * np.arange(1, 21))
    np.testing.assert_allclose(history.perceived_difference, 0.2)


def test_example_1_perfect_recall_keeps_them_together():
    history = run(EXAMPLE_1, PerfectRecall(), steps=200)
    assert np.abs(history.difference).max() < 0.5
    np.testing.assert_allclose(history.perceived_difference, history.difference, atol=1e-12)


def exact_perfect_recall(joins: int, steps: int) -> list[Fraction]:
    """Alice's lead, played out in exact fractions; fails if a tie ever has to be drawn."""
    worth = {"Alice": (Fraction(1, 5), Fraction(1, 2)), "Bob": (Fraction(3, 10), Fraction(1, 2))}
    Z, lead = {"Alice": Fraction(0), "Bob": Fraction(0)}, []
    for t in range(steps):
        present = ["Alice"] if t < joins else ["Alice", "Bob"]
        options = []
        for cake in present:
            for donut in present:
                after = dict(Z)
                after[cake] += worth[cake][0]
                after[donut] += worth[donut][1]
                options.append((sorted(after[name] for name in present), after))
        best = max(key for key, _ in options)
        winners = [after for key, after in options if key == best]
        assert len(winners) == 1
        Z = winners[0]
        lead.append(Z["Alice"] - Z["Bob"])
    return lead


@pytest.mark.parametrize(("example", "joins"), [(EXAMPLE_1, 0), (EXAMPLE_2, 10)])
def test_perfect_recall_agrees_with_exact_fractions(example, joins):
    history = run(example, PerfectRecall(), steps=50)
    np.testing.assert_allclose(history.difference, [float(x) for x in exact_perfect_recall(joins, 50)], atol=1e-12)


def test_example_2_alice_alone_has_everything_then_bob_catches_up():
    history = run(EXAMPLE_2, PerfectRecall(), steps=50)
    assert (history.owners[:10] == 0).all()
    np.testing.assert_allclose(history.difference[9], 7.0)
    caught_up = int(np.argmax(history.difference[10:] < 0.5)) + 10
    assert (history.owners[10:18] == 1).all()
    assert 17 <= caught_up <= 19


def test_example_2_a_shorter_memory_forgives_sooner():
    lead = [run(EXAMPLE_2, Discounted(gamma=g), steps=50).difference[-1] for g in (0.9, 0.95, 0.99, 1.0)]
    assert lead == sorted(lead, reverse=True)
    assert lead[0] > 3
    assert run(EXAMPLE_2, Instantaneous(), steps=50).difference[-1] == pytest.approx(15)


def test_without_bundles_everyone_takes_at_most_one_item():
    history = run(EXAMPLE_2, PerfectRecall(), steps=60, bundles=False)
    assert set(map(tuple, history.owners[:10].tolist())) == {(-1, 0)}
    assert all(sorted(row) == [0, 1] for row in history.owners[10:].tolist())


def test_ties_are_drawn_not_given_to_the_first():
    twins = Example(("Ann", "Ben"), ("cake",), ((1.0,), (1.0,)), joins=(0, 0))
    firsts = [int(run(twins, Instantaneous(), steps=1, seed=s).owners[0, 0]) for s in range(200)]
    assert 60 < sum(firsts) < 140
    again = [int(run(twins, Instantaneous(), steps=1, seed=s).owners[0, 0]) for s in range(200)]
    assert firsts == again


def test_ties_in_the_minimum_go_to_the_leximin_better():
    three = Example(("A", "B", "C"), ("x",), ((0.0,), (1.0,), (2.0,)), joins=(0, 0, 0))
    assert all(run(three, Instantaneous(), steps=1, seed=s).owners[0, 0] == 2 for s in range(20))


@pytest.mark.parametrize("welfare", ["utilitarian", "nash", "log_nash", "alpha_fair(alpha=2)", "generalized_gini"])
def test_any_welfare(welfare):
    history = run(EXAMPLE_1, Discounted(half_life=10), welfare, steps=30)
    assert history.utilities.shape == (30, 2)
    assert history.cumulative[-1].sum() > 15


def test_figure_1_has_every_memory_in_both_examples():
    calls = []
    histories = figure_1(steps=5, done=lambda: calls.append(1))
    assert list(histories) == ["example-1", "example-2"]
    assert all(list(h) == list(examples.FIGURE_1_MEMORIES) for h in histories.values())
    assert len(calls) == 10
    assert [m.gamma for m in examples.FIGURE_1_MEMORIES.values()] == [0.0, 0.9, 0.95, 0.99, 1.0]


def test_history_as_plain_data():
    data = run(EXAMPLE_1, PerfectRecall(), steps=2).to_dict()
    assert data["agents"] == ["Alice", "Bob"]
    assert data["owners"] == [[1, 0], [0, 1]]
    assert data["utilities"] == [[0.5, 0.3], [0.2, 0.5]]
    assert data["cumulative"][-1] == pytest.approx([0.7, 0.8])
    assert data["remembered"][-1] == pytest.approx([0.7, 0.8])
    assert data["items"] == ["cake", "donut"]


def test_bad_steps_are_refused():
    with pytest.raises(ValueError, match="steps must be a whole number of at least 1, got 0"):
        run(EXAMPLE_1, PerfectRecall(), steps=0)
    with pytest.raises(ValueError, match="welfare must be one of"):
        run(EXAMPLE_1, PerfectRecall(), "kindness")
