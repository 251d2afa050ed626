import numpy as np
import pytest

from bygones import Discounted, Instantaneous, Linear, Multiscale, PerfectRecall
from bygones.allocation.outlook import outlook
from support.memories import LastSteps, Recent

MEMORIES = [
    Instantaneous(),
    PerfectRecall(),
    PerfectRecall(average=True),
    Discounted(gamma=0.3),
    Discounted(gamma=0.999, average=True),
    Multiscale(gammas=(0.5, 0.99), weights=(0.5, 2.0)),
    Multiscale(gammas=(0.5, 0.99), weights=(-2.0, 0.5)),
    Linear(0.5 * np.eye(4) + 0.1),
    Linear(np.kron(np.diag([0.5, 0.9]), np.eye(4)), readout=np.hstack([np.eye(4), np.full((4, 4), 0.1)])),
]


@pytest.mark.parametrize("memory", MEMORIES, ids=repr)
@pytest.mark.parametrize("elapsed", [0, 1, 3])
@pytest.mark.parametrize("entitlements", [None, [0.5, 1.0, 2.0, 4.0]])
def test_it_foresees_what_the_memory_will_be(memory, elapsed, entitlements):
    rng = np.random.default_rng(0)
    state = memory.init(4)
    for _ in range(50):
        state = memory.update(state, rng.random(4))
    look = outlook(memory, state, 4, elapsed, entitlements)
    candidates = rng.random((6, 4))
    expected = memory.ahead(state, candidates, elapsed, entitlements)
    np.testing.assert_allclose(look.after(candidates), expected, rtol=1e-13, atol=1e-14)


def test_agents_mix_only_where_the_readout_mixes_them():
    assert outlook(Linear(0.5 * np.eye(4) + 0.1), Linear(0.5 * np.eye(4) + 0.1).init(4), 4).mixing is None
    assert outlook(MEMORIES[-1], MEMORIES[-1].init(4), 4).slope is None


@pytest.mark.parametrize("at_once", [1, 4, 1000])
def test_a_memory_of_unknown_structure_is_asked_in_parts(at_once, monkeypatch):
    monkeypatch.setattr("bygones.allocation.outlook._AT_ONCE", at_once)
    rng, memory = np.random.default_rng(0), LastSteps(3)
    state = memory.init(4)
    for _ in range(5):
        state = memory.update(state, rng.random(4))
    for shape in ((4,), (6, 4), (2, 3, 4)):
        candidates = rng.random(shape)
        expected = [memory.read(memory.update(state, each)) for each in candidates.reshape(-1, 4)]
        np.testing.assert_allclose(outlook(memory, state, 4).after(candidates), np.reshape(expected, shape))


def test_a_batch_of_memories_is_refused_even_if_the_memory_has_to_be_asked():
    memory = LastSteps(3)
    np.testing.assert_array_equal(outlook(memory, memory.init(4), 4).base, np.zeros(4))
    with pytest.raises(ValueError, match=r"state must be one memory, not a batch of them, .* shape \(7, 4\)"):
        outlook(memory, Recent(np.zeros((7, 3, 4))), 4)
