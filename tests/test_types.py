"""The types of arrays mean something: mypy accepts the arrays of NumPy and JAX, and nothing that is not an array."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SNIPPET = """
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bygones._arrays import Array, ArrayModule, Number, namespace
from bygones.envs.needs import Needs
from bygones.memory import Linear, Memory, MemoryState
from bygones.welfare import nash


def total(values: Array) -> Array:
    return values.sum(axis=-1)


def double(number: Number) -> Number:
    return 2 * number


def accepted(
    any_kind: np.ndarray, floats: NDArray[np.float64], singles: NDArray[np.float32], ints: NDArray[np.intp],
    bools: NDArray[np.bool_], device: jax.Array, memory: Memory[MemoryState], state: MemoryState, needs: Needs,
) -> None:
    for kind in (total(any_kind), total(floats), total(singles), total(ints), total(bools), total(device)):
        double(kind)
    double(1), double(0.5), double(np.float32(1)), double(device)
    numpy: ArrayModule = np
    jax_numpy: ArrayModule = jnp
    total(numpy.log(floats) + jax_numpy.log(device) + namespace(floats).exp(floats))
    total(memory.read(memory.update(state, [1.0, 2.0])))
    nash([1, 2]), nash(floats), nash(device)
    Linear([[0.5, 0.0], [0.0, 0.5]]).matrix.T


def refused(
    array: Array, memory: Memory[MemoryState], state: MemoryState, needs: Needs, discounts: Linear
) -> None:
    total("words")  # refused: arg-type
    total(["a", "list", "of", "words"])  # refused: arg-type
    total([1.0, 2.0])  # refused: arg-type
    total(None)  # refused: arg-type
    total(1.0)  # refused: arg-type
    double("word")  # refused: arg-type
    double(None)  # refused: arg-type
    array.append(1.0)  # refused: attr-defined
    array.sum(axis="agents")  # refused: arg-type
    namespace(array).logarithm(array)  # refused: attr-defined
    memory.advance(state, "words")  # refused: arg-type
    memory.update(state, ["a", "list", "of", "words"])  # refused: arg-type
    memory.read(state).agents  # refused: attr-defined
    needs.draw(array, array, 1).sum()  # refused: attr-defined
    nash("words")  # refused: arg-type
    nash(None)  # refused: arg-type
    words: str = total(array)  # refused: assignment
    Linear("words")  # refused: arg-type
    discounts.matrix.agents  # refused: attr-defined
"""


@pytest.mark.soak
def test_mypy_accepts_arrays_and_refuses_all_else(tmp_path):
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", "--no-pretty", str(file)],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    found = re.findall(r":(\d+): error: .*\[([a-z-]+)\]$", checked.stdout, flags=re.MULTILINE)
    marked = [
        (str(i), code)
        for i, line in enumerate(SNIPPET.splitlines(), start=1)
        for code in re.findall(r"# refused: ([a-z-]+)", line)
    ]
    assert sorted(set(found)) == sorted(marked), checked.stdout + checked.stderr
