"""The mathematics of welfare functions: derivatives, water levels, and a form of one's own that is decided exactly."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones import PerfectRecall, forms, welfare
from bygones.allocation import Assign, ChooseK, Divide, allocate
from bygones.forms import AlphaFair, Curves, PowerOfLoads, Ranked

MASS = np.array([1.0, 2.0, 0.5])


@dataclasses.dataclass(frozen=True)
class Exponential(Curves):
    """A form that bygones does not have: the curve (1 - exp(-az))/a, of slope exp(-az)."""

    a: float

    steepness = math.inf
    order = 1.0

    def value(self, z):
        return -self.mass * np.expm1(-self.a * z) / self.a

    def slope(self, z):
        return self.mass * np.exp(-self.a * z)

    def gain(self, base, step, unit=1.0):
        return -self.mass * np.exp(-self.a * base) * np.expm1(-self.a * step) / self.a

    def levels(self, base, step):
        return self.a * base - np.log(self.mass * step), 1.0 / (self.a * step)

    def in_units(self, unit):
        form, worth = super().in_units(unit)
        return dataclasses.replace(form, a=self.a * unit), worth


CURVES = [
    *(AlphaFair(alpha, 1e-3, mass=MASS) for alpha in (0.0, 0.5, 1.0, 2.0, 7.5)),
    PowerOfLoads(2.0, mass=MASS),
    PowerOfLoads(1.5, mass=MASS),
    Exponential(0.7, mass=MASS),
]


def sign(form):
    return -1.0 if form.of_loads else 1.0


@pytest.mark.parametrize("form", CURVES, ids=str)
@given(z=st.lists(st.floats(0.5, 5), min_size=3, max_size=3), step=st.floats(0.1, 2), unit=st.sampled_from([1.0, 3.0]))
def test_slopes_and_gains_are_those_of_the_values(form, z, step, unit):
    z, step = sign(form) * np.array(z), sign(form) * step
    h = 1e-5
    numeric = (form.value(z + h) - form.value(z - h)) / (2 * h)
    np.testing.assert_allclose(form.slope(z), np.broadcast_to(numeric, 3), rtol=1e-5)
    gained = form.value(z + step) - form.value(z)
    if not isinstance(form, Exponential):
        gained = gained / unit**form.order
    np.testing.assert_allclose(form.gain(z, np.full(3, step), unit), gained, rtol=1e-9, atol=1e-12)
    assert np.argsort(form.rank(z, np.full(3, step))).tolist() == np.argsort(form.gain(z, np.full(3, step))).tolist()


@pytest.mark.parametrize("form", [each for each in CURVES if each.is_curved], ids=str)
def test_at_one_water_level_all_marginal_gains_are_equal(form):
    base, step = sign(form) * np.array([1.0, 2.0, 3.0]), sign(form) * np.array([0.5, 1.0, 2.0])
    beta, kappa = form.levels(base, step)
    x = kappa * (beta.max() + 1.0 - beta)
    marginal = np.abs(step * form.slope(base + step * x))
    np.testing.assert_allclose(marginal, marginal[0], rtol=1e-9)


@pytest.mark.parametrize("form", CURVES, ids=str)
def test_another_unit_of_z_changes_nothing_else(form):
    small, worth = form.in_units(4.0)
    z, step = sign(form) * np.array([1.0, 2.0, 3.0]), sign(form) * np.ones(3)
    np.testing.assert_allclose(worth * small.gain(z / 4.0, step / 4.0), form.gain(z, step), rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_the_inverse_and_the_conjugate_of_a_curve(alpha):
    form, z = AlphaFair(alpha, 1e-2), np.array([0.5, 1.0, 4.0])
    slopes = form.slope(z)
    np.testing.assert_allclose(form.inverse(slopes), z)
    assert form.conjugate(slopes) == pytest.approx(float((form.value(z) - slopes * z).sum()))


def test_leximin_is_the_worst_off_whatever_the_entitlements():
    form = AlphaFair(math.inf).shared(MASS, 3)
    assert form == forms.LEXIMIN
    assert form.of(np.array([2.0, 1.0, 3.0])) == 1.0
    assert form.in_units(4.0)[1] == 4.0


def test_weights_that_amount_to_a_plainer_form_are_that_form():
    assert Ranked([0.5, 0.5, 0.5]).shared(None, 3) == AlphaFair(0.0)
    assert Ranked([1.0, 0.0, 0.0]).shared(None, 3) is forms.LEXIMIN
    assert isinstance(Ranked([3.0, 2.0, 1.0]).shared(None, 3), Ranked)
    assert isinstance(Ranked([1.0, 0.0, 0.0]).shared(MASS, 3), Ranked)


def test_what_forms_are_for():
    for form, goods, burdens in (
        (AlphaFair(0.0), True, True), (AlphaFair(1.0), True, False), (AlphaFair(math.inf), True, True),
        (Ranked(), True, True), (PowerOfLoads(2.0), False, True), (Exponential(1.0), True, False),
    ):  # fmt: skip
        assert (form.judges("good"), form.judges("burden")) == (goods, burdens)


@pytest.fixture
def saturating(monkeypatch):
    """A welfare with the form above: one class and one registered function, and nothing else in bygones."""
    monkeypatch.setattr(welfare.functions, "_parts", dict(welfare.functions._parts))

    @welfare.register(form=lambda a=0.7: Exponential(a))
    def saturating(Z, a=0.7):
        return -np.expm1(-a * np.asarray(Z)).sum(axis=-1) / a

    return "saturating(a=0.7)"


class TestAFormOfOnesOwn:
    PAST = np.array([1.0, 0.2, 2.0, 0.7])
    WEIGHTS = np.array([1.0, 2.0, 1.5, 1.0])

    def decide(self, problem, function, **options):
        memory = PerfectRecall()
        state = memory.update(memory.init(4), self.PAST)
        return allocate(problem, memory, state, function, entitlements=self.WEIGHTS, **options)

    def worth(self, utilities):
        return float(Exponential(0.7, mass=self.WEIGHTS).of((self.PAST + utilities) / self.WEIGHTS))

    def test_choosing(self, saturating):
        needs = np.array([1.0, 3.0, 2.0, 1.5])
        decision = self.decide(ChooseK(needs, 2), saturating)
        best = max(self.worth(needs * np.isin(range(4), who)) for who in itertools.combinations(range(4), 2))
        assert decision.welfare_after == pytest.approx(best, rel=1e-12)

    def test_assigning_one_each(self, saturating):
        table = np.random.default_rng(0).uniform(0.1, 3, (4, 3))
        decision = self.decide(Assign(table), saturating)
        owners = itertools.permutations(range(4), 3)
        best = max(self.worth(Assign(table).utilities_of(np.array(each))) for each in owners)
        assert decision.welfare_after == pytest.approx(best, rel=1e-12)

    def test_assigning_bundles_by_an_integer_programme(self, saturating):
        table = np.random.default_rng(1).uniform(0.1, 3, (4, 9))
        decision = self.decide(Assign(table, None), saturating)
        owners = itertools.product(range(4), repeat=9)
        best = max(
            self.worth(np.bincount(each, table[each, range(9)], 4)) for each in itertools.islice(owners, 0, None, 61)
        )
        assert decision.optimal
        assert decision.welfare_after >= best

    def test_dividing(self, saturating):
        rates = np.array([1.0, 2.0, 0.5, 1.0])
        decision = self.decide(Divide(5.0, rates, 3.0), saturating)
        parts = decision.given
        assert parts.sum() == pytest.approx(5.0)
        marginal = rates * np.exp(-0.7 * (self.PAST + rates * parts) / self.WEIGHTS)
        inside = (parts > 0) & (parts < 3.0)
        assert np.ptp(marginal[inside]) < 1e-12
        assert (marginal[parts == 0] <= marginal[inside].max() + 1e-12).all()

    def test_dividing_in_whole_units(self, saturating):
        rates = np.array([1.0, 2.0, 0.5, 1.0])
        decision = self.decide(Divide(5, rates, whole=True), saturating)
        every = (np.array(x) for x in itertools.product(range(6), repeat=4) if sum(x) == 5)
        assert decision.welfare_after == pytest.approx(max(self.worth(rates * x) for x in every), rel=1e-12)

    def test_by_prices(self, saturating):
        assert self.decide(ChooseK([1.0, 3.0, 2.0, 1.5], 2), saturating, rule="prices").prices[1] > 1

    def test_it_is_not_for_burdens(self, saturating):
        with pytest.raises(ValueError, match="has no meaning for burdens"):
            self.decide(ChooseK([1.0, 3.0, 2.0, 1.5], 2, kind="burden"), saturating)
