"""Inequality measures against PySAL's `inequality`, written by other people."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bygones import inequality

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pysal = pytest.importorskip("inequality")
    from inequality.atkinson import atkinson as pysal_atkinson
    from inequality.gini import Gini
    from inequality.theil import Theil

incomes = arrays(float, st.integers(2, 30), elements=st.floats(0.1, 1e4))


@given(incomes)
def test_gini(x):
    assert inequality.gini(x) == pytest.approx(Gini(x).g, abs=1e-9)


@given(incomes)
def test_theil(x):
    assert inequality.theil(x) == pytest.approx(float(Theil(x).T), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1, 2, 3])
@given(incomes)
def test_atkinson(epsilon, x):
    assert inequality.atkinson(x, epsilon) == pytest.approx(float(pysal_atkinson(x, epsilon)), abs=1e-9)


def test_all_equal():
    assert inequality.gini(np.ones(5)) == pytest.approx(Gini(np.ones(5)).g, abs=1e-12)
