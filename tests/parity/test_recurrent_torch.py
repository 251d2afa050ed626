"""The units of a recurrent policy are torch's, with torch's weights."""

from __future__ import annotations

import numpy as np
import pytest

from bygones.learn.recurrent import Recurrent, unit

torch = pytest.importorskip("torch")


def test_units_are_those_of_torch() -> None:
    rng = np.random.default_rng(0)
    network = Recurrent(observation_size=3, n_actions=2, hidden=(), units=5).initial(0).policy
    network = tuple(layer._replace(bias=rng.normal(size=layer.bias.shape).astype(np.float32)) for layer in network)
    cell = torch.nn.GRUCell(3, 5)
    inward, across, _ = network
    with torch.no_grad():
        for name, layer in (("ih", inward), ("hh", across)):
            getattr(cell, f"weight_{name}").copy_(torch.tensor(layer.weight.T))
            getattr(cell, f"bias_{name}").copy_(torch.tensor(layer.bias))
        x, h = (rng.normal(size=(4, size)).astype(np.float32) for size in (3, 5))
        theirs = cell(torch.tensor(x), torch.tensor(h)).numpy()
    np.testing.assert_allclose(unit(network, x, h), theirs, rtol=1e-5, atol=1e-6)
