"""Every function gives the same on NumPy and on JAX: float32 and float64, under jit, vmap and, where smooth, grad."""

import contextlib
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bygones.pytrees  # noqa: F401
from bygones import decay, inequality, stability, welfare
from bygones.memory import (
    Capped,
    Discounted,
    Instantaneous,
    Linear,
    MemoryState,
    Multiscale,
    PerAgent,
    PerfectRecall,
    Relative,
    Reset,
    SlidingWindow,
)

TOLERANCE = {"float32": 2e-6, "float64": 1e-12}
precisions = pytest.mark.parametrize("dtype", ["float32", "float64"])
MIXING = np.array([[0.6, 0.1, 0.0], [0.2, 0.5, 0.1], [0.0, 0.3, 0.4]])

WELFARE = {
    "utilitarian": welfare.utilitarian,
    "egalitarian": welfare.egalitarian,
    "nash": welfare.nash,
    "log_nash": welfare.log_nash,
    "alpha 0.5": lambda Z: welfare.alpha_fair(Z, 0.5),
    "alpha 2": lambda Z: welfare.alpha_fair(Z, 2),
    "gini welfare": welfare.generalized_gini,
    "leximin": welfare.leximin_key,
}
INEQUALITY = {
    "gini": inequality.gini,
    "lorenz": inequality.lorenz,
    "jain": inequality.jain,
    "theil": inequality.theil,
    **{f"atkinson {e}": lambda x, e=e: inequality.atkinson(x, e) for e in (0.5, 1, 2, math.inf)},
}
MEMORIES = [
    Instantaneous(),
    PerfectRecall(),
    PerfectRecall(average=True),
    Discounted(gamma=0.99),
    Discounted(gamma=0.3, average=True),
    Discounted(half_life=7),
    Linear(MIXING, readout=2 * np.eye(3)),
    Multiscale(gammas=(0.5, 0.99), weights=(0.7, 0.3)),
    PerAgent(gammas=(0.0, 0.5, 0.99)),
    PerAgent(half_lives=(1, 7, 30), average=True),
    SlidingWindow(7),
    Reset(8),
    Capped(Discounted(gamma=0.9), cap=3.0),
    Capped(SlidingWindow(7), cap=3.0),
    Relative(Discounted(gamma=0.9)),
]
DECAY = {
    "half_life": (lambda g: decay.half_life(gamma=g), [0.1, 0.9, 0.99]),
    "tenth_life": (lambda g: decay.tenth_life(gamma=g), [0.1, 0.9, 0.99]),
    "window": (lambda g: decay.window(gamma=g), [0.1, 0.9, 0.99]),
    "gamma of half-life": (lambda h: decay.gamma(half_life=h), [0.5, 7.0, 100.0]),
    "gamma of window": (lambda w: decay.gamma(window=w), [1.5, 7.0, 100.0]),
    "gamma of last": (lambda m: decay.gamma(last=m, share=0.9), [1.5, 7.0, 100.0]),
    "share_of_last": (lambda g: decay.share_of_last(5, gamma=g), [0.1, 0.9, 0.99]),
    "steps_for_share": (lambda g: decay.steps_for_share(0.9, gamma=g), [0.1, 0.9, 0.99]),
    "denominator": (lambda g: decay.denominator(g, 12), [0.1, 0.9, 1.0]),
    "additive_bound": (lambda g: decay.additive_bound(2.0, g, 12), [0.1, 0.9, 1.0]),
    "responsiveness": (lambda g: decay.responsiveness(g, 12), [0.1, 0.9, 1.0]),
    "kept": (lambda g: decay.kept(g, 2.5)[1], [0.1, 0.9, 1.0]),
}


@pytest.fixture
def precise(dtype):
    with jax.enable_x64(True) if dtype == "float64" else contextlib.nullcontext():
        yield


def agree(ours, theirs, dtype, scale=1.0):
    assert isinstance(ours, jax.Array)
    assert ours.dtype == dtype
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=TOLERANCE[dtype] * scale, atol=TOLERANCE[dtype] * scale)


@precisions
@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("name", [*WELFARE, *INEQUALITY])
def test_functions_of_a_vector(name, dtype):
    function = {**WELFARE, **INEQUALITY}[name]
    Z = np.random.default_rng(0).random((6, 5)) + 0.1
    Z[0] = 0.0 if name in INEQUALITY else Z[0]
    on_jax = jnp.asarray(Z, dtype)
    agree(function(on_jax), function(Z), dtype)
    agree(jax.jit(function)(on_jax), function(Z), dtype)
    agree(jax.vmap(function)(on_jax), function(Z), dtype)


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("dtype", ["float64"])
@pytest.mark.parametrize("name", [n for n in [*WELFARE, *INEQUALITY] if n not in ("leximin", "lorenz")])
def test_gradients_are_finite_differences(name):
    function = {**WELFARE, **INEQUALITY}[name]
    Z = np.array([0.3, 1.1, 0.7, 2.0])
    gradient = jax.grad(lambda z: function(z).sum())(jnp.asarray(Z))
    for i, step in enumerate(np.eye(4) * 1e-6):
        slope = (function(Z + step) - function(Z - step)) / 2e-6
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-7)


@precisions
@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 2.0, math.inf])
def test_one_compiled_program_serves_every_alpha(alpha, dtype):
    Z = np.random.default_rng(1).random((3, 4)) + 0.2
    traced = jax.jit(welfare.alpha_fair)(jnp.asarray(Z, dtype), alpha)
    agree(traced, welfare.alpha_fair(Z, alpha), dtype)
    gradient = jax.grad(lambda z: welfare.alpha_fair(z, jnp.asarray(alpha)).sum())(jnp.asarray([0.0, 1.0]))
    assert np.isfinite(np.asarray(jax.jit(lambda z, a: welfare.alpha_fair(z, a))(jnp.asarray(Z), alpha))).all()
    if alpha in (0.0, 1.0, math.inf):
        assert np.isfinite(np.asarray(gradient)).all()


@precisions
@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("name", DECAY)
def test_decay_conversions(name, dtype):
    function, values = DECAY[name]
    numbers = jnp.asarray(values, dtype)
    expected = function(np.asarray(numbers, float))
    # Near γ = 1 a conversion divides by 1 − γ, which multiplies the rounding of γ itself by up to the window.
    agree(function(numbers), expected, dtype, scale=300)
    agree(jax.jit(function)(numbers), expected, dtype, scale=300)
    agree(jax.vmap(function)(numbers), expected, dtype, scale=300)
    assert np.isfinite(np.asarray(jax.vmap(jax.grad(function))(numbers)[:2])).all()


@precisions
@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("memory", MEMORIES, ids=lambda m: type(m).__name__)
def test_memories_under_scan_jit_and_vmap(memory, dtype):
    history = np.random.default_rng(2).random((200, 4, 3))

    def run(utilities):
        def step(state, u):
            return memory.update(state, u), None

        start = jax.tree.map(lambda x: jnp.asarray(x, dtype), memory.init(3))
        state, _ = jax.lax.scan(step, start, utilities)
        return memory.values(state), memory.ahead(state, utilities[:5], elapsed=2), memory.values(state, [1, 2, 4])

    on_jax = jnp.asarray(history, dtype)
    got = jax.jit(jax.vmap(run, in_axes=1))(on_jax)
    for b in range(4):
        state = memory.init(3)
        for u in history[:, b]:
            state = memory.update(state, u)
        expected = memory.values(state), memory.ahead(state, history[:5, b], elapsed=2), memory.values(state, [1, 2, 4])
        for ours, theirs in zip(got, expected, strict=True):
            agree(ours[b], theirs, dtype)


def test_one_compiled_program_runs_many_memories_side_by_side():
    traces = []

    @jax.jit
    @jax.vmap
    def run(gamma, average):
        traces.append(1)
        memory = Discounted(gamma=gamma, average=average)
        state = memory.init(2)
        for u in (jnp.array([1.0, 0.0]), jnp.array([0.5, 2.0]), jnp.array([0.0, 1.0])):
            state = memory.update(state, u)
        return memory.values(state)

    for average in (False, True):
        gammas = np.array([0.0, 0.4, 0.9, 1.0])
        got = run(jnp.asarray(gammas), jnp.full(4, average))
        for g, row in zip(gammas, got, strict=True):
            memory = Discounted(gamma=float(g), average=average)
            state = memory.init(2)
            for u in ([1.0, 0.0], [0.5, 2.0], [0.0, 1.0]):
                state = memory.update(state, u)
            np.testing.assert_allclose(row, memory.values(state), rtol=1e-6)
    assert len(traces) == 1


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda m: type(m).__name__)
def test_memories_are_pytrees_whose_numbers_do_not_recompile(memory):
    traces = []

    @jax.jit
    def run(memory, u):
        traces.append(1)
        return memory.values(memory.update(memory.init(3), u))

    leaves, structure = jax.tree.flatten(memory)
    other = jax.tree.unflatten(structure, [np.asarray(leaf, float) * 0.5 for leaf in leaves])
    first = run(jax.tree.unflatten(structure, [np.asarray(leaf, float) for leaf in leaves]), jnp.ones(3))
    run(other, jnp.ones(3))
    assert len(traces) == 1
    np.testing.assert_allclose(first, memory.values(memory.update(memory.init(3), np.ones(3))), rtol=1e-6)


def test_slow_time_scales_are_not_rounded_away_in_float32():
    memory = Multiscale(gammas=(1 - 1e-7,), weights=(1.0,))  # in float32 the nearest γ forgets a fifth faster

    @jax.jit
    def run(memory, u):
        start = memory.update(memory.init(1), u)
        return jax.lax.fori_loop(0, 2000, lambda _, state: memory.update(state, 0 * u), start)

    state = run(jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), memory), jnp.ones(1, jnp.float32))
    assert 1 - float(state.Z[0, 0]) == pytest.approx(2000e-7, rel=1e-2)


def test_weights_and_shares_may_be_traced():
    Z, weights = np.array([3.0, 1.0, 2.0]), np.array([0.5, 0.3, 0.2])
    total = jax.jit(lambda w: welfare.generalized_gini(jnp.asarray(Z), w))(weights)
    assert total == pytest.approx(welfare.generalized_gini(Z, weights), rel=1e-6)
    for function in (lambda s: decay.steps_for_share(s, half_life=7), lambda s: decay.gamma(last=5, share=s)):
        assert jax.jit(function)(0.9) == pytest.approx(function(0.9), rel=1e-6)


def test_stability_counts_in_float64_whatever_the_matrix_is_made_of():
    whole, single = np.array([[2, 1], [0, 3]]), np.array([[0.9, 0.3], [0.0, 0.7]], dtype=np.float32)
    assert not stability.is_bounded(jnp.asarray(whole))
    assert stability.spectral_radius(jnp.asarray(whole)) == 3
    for matrix in (single, jnp.asarray(single)):
        assert stability.bound(matrix) == stability.bound(single.astype(float))
        assert stability.transient_growth(matrix) == stability.transient_growth(single.astype(float))


def test_welfare_is_a_pytree():
    total = jax.jit(lambda W, Z: W(Z))(welfare.parse_welfare("alpha_fair", alpha=2.0), jnp.ones(3))
    assert total == pytest.approx(welfare.alpha_fair(np.ones(3), 2))


def test_the_memory_is_smooth_in_gamma():
    def remembered(gamma):
        memory = Discounted(gamma=gamma)
        state = memory.init(1)
        for _ in range(5):
            state = memory.update(state, jnp.ones(1))
        return memory.values(state)[0]

    for gamma in (0.2, 0.5, 0.9):
        expected = sum(k * gamma ** (k - 1) for k in range(1, 5))
        assert jax.grad(remembered)(gamma) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("gamma", [1.0, 0.999999])
def test_a_million_float32_updates_stay_exact_under_jit(gamma):
    memory = Discounted(gamma=gamma)

    @jax.jit
    def run():
        def step(state, _):
            return memory.advance(state, jnp.full(1, 0.1)), None

        zero = jnp.zeros(1)
        start = MemoryState(zero, jnp.zeros(()), zero, jnp.zeros(()))
        return jax.lax.scan(step, start, length=1_000_000)[0]

    state, tenth = run(), float(np.float32(0.1))
    expected = tenth * float(decay.denominator(gamma, 1_000_000))
    assert float(state.Z[0]) == pytest.approx(expected, rel=2e-7)
    assert float(state.d) == pytest.approx(expected / tenth, rel=2e-7)


def test_stability_takes_jax_matrices():
    on_jax, expected = jnp.asarray(MIXING), stability.design(MIXING)
    got = stability.design(on_jax)
    assert got.accepted == expected.accepted
    assert got.spectral_radius == pytest.approx(expected.spectral_radius, rel=1e-6)
    assert got.bound.value == pytest.approx(expected.bound.value, rel=1e-5)
    np.testing.assert_allclose(stability.power(on_jax, 3), stability.power(MIXING, 3), rtol=1e-5)


def test_shapes_are_checked_even_under_jit():
    memory = Discounted(gamma=0.9)
    with pytest.raises(ValueError, match="utilities must have one entry per agent"):
        jax.jit(lambda u: memory.update(memory.init(3), u))(jnp.ones(2))
    with pytest.raises(ValueError, match="utilities must be finite"):
        memory.update(memory.init(2), jnp.array([1.0, jnp.nan]))
