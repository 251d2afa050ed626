"""The examples of the property tests: the same ones in `make test`, new ones that can be replayed in `make explore`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = ("own", "usual", "plain")
TOY = """
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent

def tried(name, number):
    with (HERE / name).open("a") as file:
        print(number, file=file)

@settings(max_examples=7)
@given(st.integers())
def test_with_its_own_number(number):
    tried("own", number)

@given(st.floats(0, 1))
def test_with_the_usual_number(number):
    tried("usual", number)

@given(st.integers(0, 10**6))
def test_that_fails(number):
    assert number < 1000

def test_without_hypothesis():
    tried("plain", 0)
"""


def run(folder, *options, profile, constants=()):
    """What pytest prints of the toy tests, and what they tried; they import a module with these constants."""
    folder.mkdir()
    (folder / "test_toy.py").write_text("import numbers_beside\n" + TOY)
    (folder / "numbers_beside.py").write_text(f"VALUES = {list(constants)}")
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "BYGONES_HYPOTHESIS": profile}
    command = [sys.executable, "-m", "pytest", "-p", "support.examples", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr, {
        path.name: path.read_text().split() for path in folder.iterdir() if path.name in FILES
    }


@pytest.mark.soak
def test_exploring_takes_ten_times_the_examples_and_says_how_to_replay(tmp_path):
    out, tried = run(tmp_path / "two", "-n", "2", "-m", "hypothesis", "--hypothesis-seed=5", profile="explore")
    assert {name: len(numbers) for name, numbers in tried.items()} == {"own": 70, "usual": 1000}
    assert "exploring with seed 5\n" in out
    assert "make explore SEED=5 TEST='test_toy.py::test_that_fails'\n" in out
    assert "@reproduce_failure(" in out
    assert "number=1000" in out

    alone, again = run(tmp_path / "alone", "-k", "usual", "--hypothesis-seed=5", profile="explore")
    assert again == {"usual": tried["usual"]}
    assert "make explore" not in alone

    _, other = run(tmp_path / "other", "-k", "usual", "--hypothesis-seed=6", profile="explore")
    assert other["usual"] != tried["usual"]


def test_exploring_needs_a_seed(tmp_path):
    out, tried = run(tmp_path / "toy", profile="explore")
    assert "exploring needs a seed: use `make explore`, or give --hypothesis-seed" in out
    assert not tried


def test_otherwise_the_examples_are_always_the_same_whatever_was_imported(tmp_path):
    out, once = run(tmp_path / "once", profile="bygones")
    _, again = run(tmp_path / "again", "-k", "usual", profile="bygones", constants=[k / 1000 for k in range(1000)])
    assert {name: len(numbers) for name, numbers in once.items()} == {"own": 7, "usual": 100, "plain": 1}
    assert again["usual"] == once["usual"]
    assert "@reproduce_failure(" in out
