import numpy as np

from bygones.envs.noise import Noise, NoiseBatch


def generators(n):
    return [np.random.default_rng(i) for i in range(n)]


def test_what_is_seen_does_not_depend_on_the_length_of_blocks():
    expected = np.random.default_rng(0).random((40, 3))
    for ahead in (1, 7, 64):
        noise = Noise(np.random.default_rng(0), 3, ahead)
        np.testing.assert_array_equal([noise.row() for _ in range(40)], expected)


def test_a_batch_gives_each_environment_what_it_would_see_alone():
    batch, alone = NoiseBatch(generators(3), 2, ahead=4), [Noise(g, 2) for g in generators(3)]
    rng = np.random.default_rng(1)
    for _ in range(50):
        which = np.flatnonzero(rng.random(3) < 0.6)
        np.testing.assert_array_equal(batch.row(which), np.array([alone[i].row() for i in which]).reshape(-1, 2))
    np.testing.assert_array_equal(batch.row(), [noise.row() for noise in alone])


def test_reseeding_one_leaves_the_others():
    batch, alone = NoiseBatch(generators(2), 2), [Noise(g, 2) for g in generators(2)]
    batch.row()
    alone[1].row()
    batch.reseed(0, np.random.default_rng(9))
    np.testing.assert_array_equal(batch.row(), [Noise(np.random.default_rng(9), 2).row(), alone[1].row()])
