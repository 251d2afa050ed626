"""How comparisons become verdicts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones.paper.cells import Cells, NotEnoughRunsError, PerSeed, mean_of
from bygones.paper.judging import (
    CANNOT_TELL,
    DEPENDS_ON_SCALE,
    FAILS,
    HOLDS,
    LEVEL,
    LOOKS,
    TOO_FEW,
    Claim,
    DoesNotArise,
    Some,
    combined,
    difference_within,
    number_within,
    verdicts,
    within,
)
from bygones.paper.results import SCHEMA, Results
from bygones.paper.statistics import holm, median_chance

NO_CELLS = Cells(Results(SCHEMA.empty_table()), {})


def per_seed(*values):
    return PerSeed(dict(enumerate(values)))


def seeds(middle, spread=0.01, n=10):
    return per_seed(*(middle + spread * np.linspace(-1, 1, n)))


def asking(*asked, **details):
    return Claim("X", "a claim", "a criterion", lambda cells, welfare: asked, welfares=("nash",), **details)


def verdict(*asked, **details):
    (found,) = verdicts(asking(*asked, **details), NO_CELLS).by_welfare.values()
    return found


def test_arithmetic_is_seed_by_seed_over_the_seeds_in_common():
    a, b = PerSeed({2: 1.0, 0: 3.0, 1: 5.0}), PerSeed({1: 1.0, 2: 0.5, 7: 9.0})
    assert (a - b).by_seed == {2: 0.5, 1: 4.0}
    assert (0.5 * a).values.tolist() == [1.5, 2.5, 0.5]
    assert mean_of([a, b]).by_seed == {2: 0.75, 1: 3.0}
    assert a.shared(b).values.tolist() == [5.0, 1.0]


def test_a_comparison_carries_what_a_reader_needs():
    made = difference_within("x", seeds(0.5), seeds(0.1, 0.0), low=0.05)
    assert (made.value, made.mean) == pytest.approx((0.4, 0.4))
    assert made.interval.low <= made.value <= made.interval.high
    assert made.mean_interval.low < 0.4 < made.mean_interval.high
    assert (made.as_claimed, made.effect, made.splits) == (1.0, 1.0, False)
    assert made.p_holds == pytest.approx(2**-10)
    assert made.p_fails == 1.0
    assert [len(some) for some in made.seeds] == [10, 10]
    assert made.errors[1] == 0.0
    assert within("x", per_seed(*[0.02] * 5, *[0.4] * 5)).splits


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(-np.inf, 0.05, "below 0.05"), (0.5, np.inf, "above 0.5"), (1.7, 1.9, "between 1.7 and 1.9")],
)
def test_what_is_asked_in_words(low, high, words):
    assert within("utility", seeds(1.8), low, high).wanted == words


def test_the_three_verdicts():
    below = within("below", seeds(0.1), high=0.2)
    above = within("above", seeds(0.3), high=0.2)
    around = within("around", seeds(0.2), high=0.2)
    assert verdict(below).word == HOLDS
    assert verdict(below, above).word == FAILS
    assert verdict(below, around).word == CANNOT_TELL
    assert verdict(below, around, above).word == FAILS
    assert verdict(above).reason.startswith("1 of 1, first: above: 0.3 [")
    assert str(verdict(around).comparisons[0]).endswith("below 0.2? the seeds cannot tell")


def test_nine_of_ten_seeds_decide_and_eight_do_not():
    def with_contrary(number):
        return within("x", per_seed(*[0.8] * number, *[0.1] * (10 - number)), high=0.2)

    assert [verdict(with_contrary(number)).word for number in (1, 2, 8, 9)] == [HOLDS, CANNOT_TELL, CANNOT_TELL, FAILS]


def test_a_contradiction_among_many_comparisons_must_be_clearer():
    contrary = within("contrary", per_seed(0.1, *[0.8] * 9), high=0.2)
    others = [within("other", seeds(0.1), high=0.2)] * 5
    assert contrary.p_fails <= LEVEL
    assert verdict(contrary).word == FAILS
    assert verdict(contrary, *others).word == CANNOT_TELL
    (first, *_) = verdict(contrary, *others).comparisons
    assert first.p_adjusted == pytest.approx(6 * contrary.p_fails)


def test_the_correction_is_over_both_welfare_functions():
    contrary = within("contrary", per_seed(0.1, *[0.8] * 9), high=0.2)
    other = within("other", seeds(0.1), high=0.2)
    claim = Claim("X", "", "", lambda cells, welfare: [contrary] if welfare == "nash" else [other] * 5)
    found = verdicts(claim, NO_CELLS)
    assert {welfare: each.word for welfare, each in found.by_welfare.items()} == {
        "egalitarian": HOLDS,
        "nash": CANNOT_TELL,
    }
    assert found.word == CANNOT_TELL
    assert len(found.comparisons) == 6


def test_equivalence_needs_both_sides():
    assert verdict(within("x", seeds(0.0), -0.05, 0.05)).word == HOLDS
    assert verdict(within("x", seeds(0.04, 0.02), -0.05, 0.05)).word == CANNOT_TELL
    assert verdict(within("x", seeds(-0.2), -0.05, 0.05)).word == FAILS
    assert within("x", seeds(0.2), -0.05, 0.05).p_fails == pytest.approx(2 * 2**-10)


def test_at_least_one_alternative():
    yes, no = within("yes", seeds(0.1), high=0.2), within("no", seeds(0.3), high=0.2)
    unsure = within("unsure", seeds(0.2), high=0.2)
    assert verdict(Some(((no,), (yes,)))).word == HOLDS
    assert verdict(Some(((no, yes), (yes, no)))).word == FAILS
    assert verdict(Some(((no,), (unsure,)))).word == CANNOT_TELL
    assert verdict(Some(((no,), (yes, unsure)))).word == CANNOT_TELL
    once = Some(((within("x", per_seed(0.8, *[0.1] * 9), high=0.2),), (no,)))
    assert once.p_holds == pytest.approx(2 * 11 / 1024)
    assert verdict(once).word == CANNOT_TELL
    assert [made.outcome for made in verdict(Some(((no,), (yes,)))).comparisons] == [False, True]


def test_comparisons_say_which_alternative_they_belong_to():
    yes = within("x", per_seed(*[0.1] * 10), high=0.2)
    assert [made.place for made in verdict(Some(((yes, yes), (yes,)))).comparisons] == [
        "alternative 1 of 2", "alternative 1 of 2", "alternative 2 of 2",
    ]  # fmt: skip
    assert [made.place for made in verdict(yes).comparisons] == [""]


def test_too_few_seeds_are_not_judged():
    with pytest.raises(NotEnoughRunsError, match="x: 9 seeds, at least 10 are needed"):
        within("x", seeds(0.1, n=9))
    with pytest.raises(NotEnoughRunsError, match="x: 1 seed, at least 10"):
        difference_within("x", seeds(0.1), per_seed(0.1))

    def asks(cells, welfare):
        yield within("x", seeds(0.1, n=9))

    (found,) = verdicts(Claim("X", "", "", asks, welfares=("nash",)), NO_CELLS).by_welfare.values()
    assert (found.word, found.short, found.comparisons) == (CANNOT_TELL, TOO_FEW, ())


def test_what_does_not_arise_cannot_be_told():
    premise = within("premise", seeds(0.1), low=0.2)

    def asks(cells, welfare):
        raise DoesNotArise("nothing to catch up", [premise])

    (found,) = verdicts(Claim("X", "", "", asks, welfares=("nash",)), NO_CELLS).by_welfare.values()
    assert found == (CANNOT_TELL, "nothing to catch up", (premise,))
    assert found.short == CANNOT_TELL


def test_numbers_without_uncertainty():
    assert verdict(number_within("x", -1.0, high=0.0)).word == HOLDS
    assert verdict(number_within("x", 1.0, high=0.0), *[number_within("y", -1.0, high=0.0)] * 50).word == FAILS
    assert math.isinf(number_within("x", 0.0).asked.low)


@given(st.lists(st.sampled_from([HOLDS, FAILS, CANNOT_TELL]), min_size=1))
def test_combined_words_lose_nothing(words):
    found = combined(words, DEPENDS_ON_SCALE)
    assert (found == DEPENDS_ON_SCALE) == ({HOLDS, FAILS} <= set(words))
    assert found in words or found == DEPENDS_ON_SCALE
    if found in (HOLDS, FAILS):
        assert set(words) == {found}


@pytest.mark.parametrize("true", [True, False])
def test_two_looks_together_err_as_rarely_as_one_is_allowed_to(true):
    """Three comparisons of cells with two humps, whose medians lie on the bound: ten seeds and, if open, a hundred.

    A true claim must not be called false, and a claim of which one comparison is false must not be called true.
    """
    rng = np.random.default_rng(int(true))
    wrong = 0
    for _ in range(4000):
        cells = np.where(rng.random((3, 100)) < 0.5, 0.8, 0.1)
        if not true:
            cells[1:] = 0.1
        for n in (10, 100):
            shown, contradicted = (
                [median_chance(cell[:n], 0.45, side) for cell in cells] for side in ("less", "greater")
            )
            holds, fails = max(shown) <= LEVEL, min(holm(contradicted)) <= LEVEL
            wrong += fails if true else holds
            if holds or fails:
                break
    allowed = LOOKS * LEVEL
    assert wrong / 4000 <= allowed + 3 * math.sqrt(allowed * (1 - allowed) / 4000)


@pytest.mark.parametrize("n", [10, 100])
def test_a_true_claim_is_called_false_as_rarely_as_promised(n):
    """Twenty comparisons whose medians lie on the bound, of cells with two humps."""
    rng = np.random.default_rng(n)
    wrong = 0
    for _ in range(1000):
        cells = np.where(rng.random((20, n)) < 0.5, 0.8, 0.1)
        wrong += min(holm([median_chance(cell, 0.45, "greater") for cell in cells])) <= LEVEL
    assert wrong / 1000 <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / 1000)
