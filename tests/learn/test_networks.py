import jax
import jax.numpy as jnp
import numpy as np

from bygones.learn.networks import apply, initial


def test_weights_are_orthogonal_with_the_gains_of_the_paper() -> None:
    networks = initial(0, 20, 45, (64, 64))
    shapes = [layer.weight.shape for layer in (*networks.policy, *networks.value)]
    assert shapes == [(20, 64), (64, 64), (64, 45), (20, 64), (64, 64), (64, 1)]
    for layers, gain in ((networks.policy, 0.01), (networks.value, 1.0)):
        for layer, expected in zip(layers, (np.sqrt(2), np.sqrt(2), gain), strict=True):
            weight = layer.weight if layer.weight.shape[0] >= layer.weight.shape[1] else layer.weight.T
            gram = weight.T @ weight
            np.testing.assert_allclose(gram, expected**2 * np.eye(len(gram)), atol=1e-6)
            assert not layer.bias.any()


def test_a_seed_is_a_start() -> None:
    first, again, other = (initial(seed, 4, 3, (8,)) for seed in (0, 0, 1))
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, first, again)))
    assert not np.array_equal(first.policy[0].weight, other.policy[0].weight)


def test_numpy_and_jax_give_the_same_outputs() -> None:
    networks = initial(0, 4, 3, (8, 8))
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    np.testing.assert_allclose(apply(networks.policy, x), apply(networks.policy, jnp.asarray(x)), atol=1e-6)
    assert isinstance(apply(networks.policy, x), np.ndarray)
