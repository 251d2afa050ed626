"""The memories that people use beside the paper's: what each of them is, and that every promise is kept."""

import copy
import dataclasses
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bygones.allocation import ChooseK, allocate
from bygones.memory import (
    Capped,
    Discounted,
    Instantaneous,
    Linear,
    Memory,
    Multiscale,
    PerAgent,
    PerfectRecall,
    Relative,
    Reset,
    SlidingWindow,
)
from bygones.memory.contract import Response
from bygones.pytrees import register
from support.memories import LastSteps
from support.other_memories import MEMORIES

BELOW_ZERO = Relative(Multiscale(gammas=(0.5, 0.9), weights=(1.0, -0.5)))
every_memory = pytest.mark.parametrize(
    "memory", [*(make(3) for make in MEMORIES.values()), BELOW_ZERO], ids=[*MEMORIES, "below zero"]
)
whole = arrays(float, st.tuples(st.integers(1, 15), st.just(3)), elements=st.integers(0, 8).map(lambda k: k / 8))
waits = st.lists(st.integers(0, 6), min_size=15, max_size=15)


def remember(memory, history, elapsed=None):
    state = memory.init(np.shape(history)[-1])
    for t, utilities in enumerate(history):
        state = memory.update(state, utilities, 1 if elapsed is None else elapsed[t])
    return state


def remembered(memory, history, elapsed=None):
    return memory.values(remember(memory, history, elapsed))


# ---- what they are ---------------------------------------------------------------------------------------------


@given(whole, waits, st.integers(1, 9))
def test_a_window_is_the_sum_of_what_is_young_enough(history, elapsed, length):
    times = np.cumsum(elapsed[: len(history)])
    young = times > times[-1] - length
    Z = remembered(SlidingWindow(length), history, elapsed)
    np.testing.assert_array_equal(Z, history[young].sum(axis=0))


@given(whole, waits, st.integers(1, 9))
def test_a_reset_leaves_the_sum_of_the_period(history, elapsed, every):
    period = np.maximum(np.ceil(np.cumsum(elapsed[: len(history)]) / every), 1)
    Z = remembered(Reset(every), history, elapsed)
    np.testing.assert_array_equal(Z, history[period == period[-1]].sum(axis=0))


def test_periods_begin_where_the_calendar_says():
    ones = np.ones((7, 1))
    assert [float(remembered(Reset(3), ones[:t])[0]) for t in range(1, 8)] == [1, 2, 3, 1, 2, 3, 1]
    assert remembered(Reset(3), ones[:2], [1, 2])[0] == 2, "the end of a period belongs to it"
    assert remembered(Reset(3), ones[:2], [1, 2.5])[0] == 1
    assert remembered(Reset(3), ones[:3], [1, 8.5, 2])[0] == 2, "9.5 and 11.5 are in the same period"
    assert remembered(Reset(3), ones[:3], [1, 8.5, 2.75])[0] == 1, "9.5 and 12.25 are not"


@given(whole, waits, st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.sampled_from([0.5, 1.5, 100.0]))
def test_what_exceeds_the_cap_is_lost(history, elapsed, gamma, cap):
    Z = np.zeros(3)
    for utilities, wait in zip(history, elapsed, strict=False):
        Z = np.minimum(gamma**wait * Z + utilities, cap)
    got = remembered(Capped(Discounted(gamma=gamma), cap), history, elapsed)
    np.testing.assert_allclose(got, Z, rtol=1e-12, atol=1e-15)


def test_what_is_lost_does_not_come_back():
    assert remembered(Capped(Discounted(gamma=0.5), cap=1.0), [[8.0], [0.0]])[0] == 0.5
    # A window that held all 8 would be full until it slides out; of the second step nothing was taken.
    assert remembered(Capped(SlidingWindow(2), cap=1.0), [[8.0], [3.0], [0.0]])[0] == 0.0


def test_a_cap_on_a_mean_is_a_cap_on_the_mean():
    memory = Capped(PerfectRecall(average=True), cap=0.25)
    assert remembered(memory, [[0.0], [1.0], [0.0]])[0] == pytest.approx(1 / 6)


@given(whole, waits)
def test_relative_is_counted_from_the_lowest_before_the_latest_utilities(history, elapsed):
    for inside in (PerfectRecall(), Discounted(gamma=0.5, average=True), SlidingWindow(3), LastSteps(3)):
        Z = remembered(inside, history, elapsed)
        before = remembered(inside, np.vstack([history[:-1], np.zeros((1, 3))]), elapsed)
        np.testing.assert_array_equal(remembered(Relative(inside), history, elapsed), Z - before.min())


def test_a_counter_that_takes_the_minimum_off_at_every_step_says_the_same():
    history, Z = np.random.default_rng(0).random((50, 4)), np.zeros(4)
    for utilities in history:
        Z = 0.9 * Z
        Z += utilities - Z.min()
    np.testing.assert_allclose(remembered(Relative(Discounted(gamma=0.9)), history), Z, atol=1e-13)


@given(whole, waits, st.booleans())
def test_each_agent_has_a_memory_of_its_own_decay(history, elapsed, average):
    gammas = (0.0, 0.4, 1.0)
    Z = remembered(PerAgent(gammas, average=average), history, elapsed)
    for i, gamma in enumerate(gammas):
        alone = remembered(Discounted(gamma=gamma, average=average), history[:, i : i + 1], elapsed)
        assert Z[i] == alone[0]


def test_a_decay_per_agent_in_three_units():
    half_lives = [1.0, 7.0, 1e12]
    windows = [1 / (1 - 0.5 ** (1 / h)) for h in half_lives]
    assert PerAgent(half_lives=half_lives).matches(PerAgent(gammas=[0.5 ** (1 / h) for h in half_lives]))
    assert PerAgent(windows=windows[:2]).matches(PerAgent(half_lives=half_lives[:2]))
    np.testing.assert_allclose(PerAgent(half_lives=half_lives[:2]).half_life, half_lives[:2])
    # 1 − γ is not rounded to what the nearest γ gives.
    assert PerAgent(half_lives=half_lives).forgets[2] == pytest.approx(math.log(2) * 1e-12, rel=1e-9, abs=0)


def test_one_step_of_a_window_is_instantaneous():
    history = np.random.default_rng(1).random((6, 3))
    for memory in (SlidingWindow(1), Reset(1)):
        np.testing.assert_array_equal(remembered(memory, history), remembered(Instantaneous(), history))
        assert memory.forgets_at_once


# ---- promises --------------------------------------------------------------------------------------------------


@every_memory
@settings(max_examples=30)
@given(data=st.data())
def test_the_bound_holds(memory, data):
    u_max = data.draw(st.sampled_from([0.25, 1.0, 3.0]))
    state = memory.init(3)
    for step, utilities in enumerate(data.draw(whole), 1):
        state = memory.update(state, u_max * utilities)
        Z = memory.values(state)
        assert np.abs(Z).max() <= memory.bound(u_max, step) * (1 + 1e-12)
        assert memory.bound(u_max, step) <= memory.bound(u_max)
        assert memory.can_be_negative or Z.min() >= 0


@every_memory
def test_the_bound_is_reached(memory):
    if isinstance(getattr(memory, "memory", None), Multiscale):
        return  # of weights of both signs, no input reaches the bound
    state = memory.init(3)
    for step in range(1, 12):
        state = memory.update(state, [0.0, 0.0, 2.0] if isinstance(memory, Relative) else [2.0, 2.0, 2.0])
        if not isinstance(memory, Reset) and not isinstance(getattr(memory, "memory", None), Capped):
            assert memory.values(state).max() == pytest.approx(memory.bound(2.0, step))
        elif step <= 4:
            assert memory.values(state).max() == pytest.approx(memory.bound(2.0, min(step, 4)))


@pytest.mark.parametrize(
    ("memory", "bound"),
    [
        (SlidingWindow(7), 14.0),
        (Reset(7), 14.0),
        (Capped(PerfectRecall(), 5.0), 5.0),
        (Capped(SlidingWindow(2), 5.0), 4.0),
        (Relative(PerfectRecall()), math.inf),
        (Relative(Discounted(gamma=0.75)), 8.0),
        (Relative(Multiscale((0.5,), (-1.0,))), 8.0),
        (PerAgent((0.0, 0.75)), 8.0),
        (PerAgent((0.0, 1.0)), math.inf),
        (PerAgent((0.0, 1.0), average=True), 2.0),
    ],
    ids=repr,
)
def test_bounds_over_an_infinite_horizon(memory, bound):
    assert memory.bound(2.0) == bound


@every_memory
@settings(max_examples=30)
@given(data=st.data())
def test_who_keeps_agents_apart_does(memory, data):
    history, others = data.draw(whole), data.draw(whole)
    steps = min(len(history), len(others))
    mixed = np.column_stack([history[:steps, 0], others[:steps, 1:]])
    if memory.keeps_agents_apart:
        assert remembered(memory, history[:steps])[0] == remembered(memory, mixed)[0]
    else:
        assert isinstance(memory, Relative)


@every_memory
@settings(max_examples=30)
@given(data=st.data())
def test_the_response_is_what_the_memory_does(memory, data):
    state = remember(memory, data.draw(whole), data.draw(waits))
    elapsed, utilities = data.draw(st.integers(0, 5)), data.draw(whole)
    response = memory.response(state, elapsed)
    is_capped = isinstance(memory, Capped) or isinstance(getattr(memory, "memory", None), Capped)
    assert (response is None) == is_capped
    if response is not None:
        expected = response.base + utilities * response.gain
        np.testing.assert_allclose(memory.ahead(state, utilities, elapsed), expected, rtol=1e-12, atol=1e-15)


@every_memory
@settings(max_examples=30)
@given(data=st.data())
def test_the_denominator_is_what_ones_would_have_left(memory, data):
    history, elapsed = data.draw(whole), data.draw(waits)
    d = memory.denominator(remember(memory, history, elapsed))
    if d is None:
        assert isinstance(memory, Capped | Relative)
        return
    additive = dataclasses.replace(memory, average=False) if memory.average else memory
    assert d == pytest.approx(remembered(additive, np.ones_like(history), elapsed).mean())
    at_each_step = memory.denominator(remember(memory, history))
    assert at_each_step <= memory.largest_denominator(len(history)) * (1 + 1e-12)


@every_memory
@pytest.mark.parametrize("steps", [0, 1, 3, 4, 5, 20])
def test_after_ones_is_what_ones_leave(memory, steps):
    Z = memory.values(memory.init(3)) if steps == 0 else remembered(memory, np.ones((steps, 3)))
    if steps or not memory.average:  # an averaged memory says 1 before the first step, as Discounted does
        assert memory.after_ones(3, steps) == pytest.approx(Z.mean(), abs=1e-15)


@every_memory
@settings(max_examples=30)
@given(data=st.data())
def test_who_forgets_at_once_has_no_past(memory, data):
    utilities = np.array([0.25, 0.5, 1.0])
    past = remember(memory, data.draw(whole))
    if memory.forgets_at_once:
        np.testing.assert_array_equal(memory.ahead(past, utilities), memory.ahead(memory.init(3), utilities))


def test_who_forgets_at_once():
    assert PerAgent((0.0, 0.0)).forgets_at_once
    assert not PerAgent((0.0, 0.5)).forgets_at_once
    assert Capped(Instantaneous(), 1.0).forgets_at_once
    assert Relative(Instantaneous()).forgets_at_once
    for memory in (SlidingWindow(2), Reset(2), Capped(PerfectRecall(), 1.0), Relative(PerfectRecall())):
        assert not memory.forgets_at_once


@every_memory
def test_after_a_half_life_half_is_left(memory):
    half_life = memory.half_life
    if half_life is None:
        assert not isinstance(getattr(memory, "memory", memory), Discounted | PerAgent)
        return
    state = memory.update(memory.init(3), [0.0, 0.5, 0.25])
    for i, length in enumerate(np.broadcast_to(half_life, 3)):
        if 0 < length < math.inf and not memory.average:
            left = memory.values(memory.update(state, np.zeros(3), length))
            assert left[i] == pytest.approx(memory.values(state)[i] / 2, abs=1e-15)


@pytest.mark.parametrize("average", [False, True])
def test_an_explanation_gives_the_range_of_half_lives(average):
    memory = PerAgent(half_lives=[7, 30], average=average)
    state = memory.update(memory.init(2), [1.0, 1.0])
    text = allocate(ChooseK([1.0, 1.0], 1), memory, state, "egalitarian", time_unit="day").explain()
    assert "Each entry counts half after 7 to 30 days, depending on the agent." in text
    same = PerAgent(half_lives=[7, 7])
    assert (
        "Each entry counts half after 7 days."
        in allocate(
            ChooseK([1.0, 1.0], 1), same, same.update(same.init(2), [1.0, 1.0]), "egalitarian", time_unit="day"
        ).explain()
    )
    never = PerAgent((0.5, 1.0))
    reasons = allocate(ChooseK([1.0, 1.0], 1), never, never.init(2), "egalitarian").reasons()
    assert "Each entry counts half after 1 step or never, depending on the agent." in reasons


# ---- laws that every memory keeps ------------------------------------------------------------------------------


@every_memory
def test_nothing_the_caller_passes_is_changed(memory):
    state, utilities = remember(memory, [[1, 2, 3]]), np.array([1.0, 0.0, 2.0])
    before = copy.deepcopy((state, utilities))
    memory.update(state, utilities, 2)
    memory.ahead(state, np.stack([utilities, utilities]))
    memory.response(state, 2)
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves((state, utilities)), strict=True):
        np.testing.assert_array_equal(old, new)


@every_memory
def test_candidates_and_batches_are_one_memory_each(memory):
    rng = np.random.default_rng(2)
    history, elapsed = rng.random((6, 4, 3)), rng.integers(0, 5, (6, 4))
    together = memory.init(3)
    for utilities, wait in zip(history, elapsed, strict=True):
        together = memory.update(together, utilities, wait)
    alone = [remembered(memory, history[:, b], elapsed[:, b]) for b in range(4)]
    np.testing.assert_allclose(memory.values(together), alone, rtol=1e-13, atol=1e-15)
    state, candidates = remember(memory, history[:, 0]), rng.random((2, 5, 3))
    one_by_one = [[memory.ahead(state, each, 2) for each in row] for row in candidates]
    np.testing.assert_allclose(memory.ahead(state, candidates, 2), one_by_one, rtol=1e-13, atol=1e-15)


@every_memory
@settings(max_examples=30)
@given(data=st.data())
def test_two_short_times_are_one_long_time(memory, data):
    if memory.average:
        return  # a mean counts how often utilities arrived
    state = remember(memory, data.draw(whole))
    first, second = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    waited = memory.update(memory.update(state, np.zeros(3), first), [1.0, 0.0, 0.5], second)
    at_once = memory.update(state, [1.0, 0.0, 0.5], first + second)
    np.testing.assert_allclose(memory.values(waited), memory.values(at_once), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("memory", [Reset(3), PerAgent((0.2, 0.9, 1.0)), Capped(Discounted(gamma=0.5), 1.0)], ids=repr)
def test_half_steps(memory):
    state = remember(memory, [[1.0, 2.0, 3.0], [1.0, 0.0, 0.0]])
    halves = memory.update(memory.update(state, np.zeros(3), 0.5), np.zeros(3), 0.5)
    np.testing.assert_allclose(memory.values(halves), memory.values(memory.update(state, np.zeros(3))), rtol=1e-14)


@every_memory
def test_memories_are_frozen_pickle_and_match(memory):
    with pytest.raises(dataclasses.FrozenInstanceError):
        memory.length = 2
    again = pickle.loads(pickle.dumps(memory))
    assert again.matches(memory)
    assert memory.matches(again.canonical())
    assert not memory.matches(Discounted(gamma=0.123))
    assert repr(again) == repr(memory)


def test_what_matches_is_the_same_memory():
    assert Capped(Discounted(half_life=69), 2.0).matches(Capped(Discounted(gamma=0.5 ** (1 / 69)), 2.0))
    assert Relative(PerfectRecall()).matches(Relative(Discounted(gamma=1.0)))
    for memory in (Relative(PerfectRecall()), Capped(PerfectRecall(), 2)):
        assert memory.canonical().memory == Discounted(gamma=1.0)
    assert not Capped(Discounted(half_life=69), 2.0).matches(Capped(Discounted(half_life=70), 2.0))
    assert not Capped(Discounted(half_life=69), 2.0).matches(Capped(Discounted(half_life=69), 2.1))
    assert not Relative(PerfectRecall()).matches(Relative(SlidingWindow(3)))
    assert not SlidingWindow(3).matches(SlidingWindow(4))
    assert not Reset(3).matches(Reset(4))
    assert not PerAgent((0.5, 0.9)).matches(PerAgent((0.5, 0.8)))
    assert not PerAgent((0.5, 0.9)).matches(PerAgent((0.5, 0.9), average=True))


@every_memory
@settings(max_examples=25)
@given(data=st.data())
def test_numpy_and_jax_agree_over_any_time(memory, data):
    history, elapsed = data.draw(whole), data.draw(waits)
    state = jax.tree.map(jnp.asarray, memory.init(3))
    for utilities, wait in zip(history, elapsed, strict=False):
        state = ADVANCE(memory, state, utilities, wait)
    np.testing.assert_allclose(memory.read(state), remembered(memory, history, elapsed), rtol=2e-5, atol=2e-5)


ADVANCE = jax.jit(lambda memory, state, utilities, elapsed: memory.advance(state, utilities, elapsed))


@register("share")
@dataclasses.dataclass(frozen=True)
class Fading(Memory):
    """A memory that takes the library from the utilities, as `docs/extending.md` says."""

    share: float

    def init(self, n_agents):
        return (np.zeros(n_agents),)

    def advance(self, state, utilities, elapsed=1):
        xp = utilities.__array_namespace__()
        return (xp.power(self.share, elapsed) * xp.asarray(state[0]) + utilities,)

    def read(self, state):
        return state[0]

    def response(self, state, elapsed=1):
        return Response(base=self.read(self.advance(state, np.zeros(self.n_agents(state)), elapsed)), gain=1.0)

    can_be_negative = False
    keeps_agents_apart = True


@pytest.mark.parametrize("around", [lambda memory: Capped(memory, 1.0), Relative], ids=["capped", "relative"])
def test_a_memory_of_ones_own_inside_another_gets_the_arrays_of_the_caller(around):
    history = np.array([[0.75, 0.0, 0.5], [0.75, 0.25, 0.0]])
    memory = around(Fading(0.5))
    state = jax.tree.map(jnp.asarray, memory.init(3))
    for utilities in history:
        state = ADVANCE(memory, state, jnp.asarray(utilities), 1)
    np.testing.assert_allclose(memory.read(state), remembered(around(Discounted(gamma=0.5)), history, [1, 1]))
    np.testing.assert_allclose(memory.faded(state), np.asarray(memory.read(ADVANCE(memory, state, jnp.zeros(3), 1))))


def test_under_tracing_a_window_drops_part_of_a_step():
    memory = SlidingWindow(3)
    state = jax.tree.map(jnp.asarray, remember(memory, np.eye(3)))
    for elapsed, steps in ((1.75, 1), (2.0, 2), (1e9, 3)):
        got = ADVANCE(memory, state, jnp.zeros(3), elapsed)
        np.testing.assert_array_equal(memory.read(got), memory.ahead(state, np.zeros(3), steps))


def test_a_million_steps_leave_no_trace_in_a_window():
    memory = SlidingWindow(10)
    rng = np.random.default_rng(3)
    last = jnp.asarray(rng.random((10, 2)), jnp.float32)

    @jax.jit
    def run(first):
        def step(state, t):
            return memory.advance(state, jnp.where(t < 999_990, first * (1 + jnp.sin(t)), last[t - 999_990])), None

        start = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), memory.init(2))
        return memory.read(jax.lax.scan(step, start, jnp.arange(1_000_000))[0])

    np.testing.assert_array_equal(run(jnp.asarray([1e6, 0.1])), run(jnp.zeros(2)))


# ---- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SlidingWindow(0), "length must be a whole number of at least 1, got 0"),
        (lambda: SlidingWindow(2.5), "length must be a whole number of at least 1, got 2.5"),
        (lambda: Reset(0), "every must be a whole number of at least 1, got 0"),
        (lambda: Capped(PerfectRecall(), 0.0), "cap must be a finite number above 0, got 0"),
        (lambda: Capped(PerfectRecall(), math.inf), "cap must be a finite number above 0, got inf"),
        (lambda: Capped(Relative(PerfectRecall()), 1.0), "memory must keep agents apart, .* to be capped"),
        (lambda: Capped(Linear(np.eye(2)), 1.0), "memory must keep agents apart"),
        (lambda: Capped(LastSteps(3), 1.0), "memory must .* promise its response to utilities"),
        (lambda: Capped(Capped(PerfectRecall(), 1.0), 2.0), "memory must .* promise its response to utilities"),
        (lambda: Capped(Multiscale((0.5,), (-1.0,)), 1.0), "memory must .* never fall below 0 to be capped"),
        (lambda: PerAgent(), "give exactly one of gammas, half_lives or windows, got none of them"),
        (lambda: PerAgent((0.5,), windows=(3,)), "give exactly one of .* got gammas and windows"),
        (lambda: PerAgent((0.5, 1.5)), "gamma must be between 0 and 1"),
        (lambda: PerAgent(half_lives=(0.0, 3.0)), "half_life must be above 0"),
        (lambda: PerAgent(0.5), "gammas must be a list of one number per agent, got 0.5"),
        (lambda: PerAgent(half_lives=[]), r"half_lives must be a list of one number per agent, got \[\]"),
        (lambda: PerAgent((0.5, 0.9)).init(3), "this memory has a decay for each of 2 agents, got 3 agents"),
    ],
)
def test_bad_settings_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("elapsed", [0.5, np.array([1.0, 2.5])])
def test_a_window_takes_whole_steps_only(elapsed):
    memory = SlidingWindow(3)
    sentence = "elapsed must be a whole number of steps for a sliding window, got"
    for ask in (memory.update, memory.advance, Capped(memory, 1.0).update):
        with pytest.raises(ValueError, match=sentence):
            ask(memory.init(2), np.ones((2, 2)), elapsed)
    with pytest.raises(ValueError, match=sentence):
        memory.response(memory.init(2), elapsed)
