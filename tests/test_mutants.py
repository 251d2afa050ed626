"""The changes that `make mutants` draws from, and how it tries them."""

import random
import sys
from pathlib import Path

import pytest

from support import mutants
from support.mutations import Change, places

LEFT_ALONE = '''
"""A docstring with 1 + 1."""
__all__ = ["f"] + ["g"]
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import os

@decorated(1, strict=True)
class Kept:
    size: dict[str, 1 + 1]

    def __repr__(self):
        return "x" * 2

def f(a: 1 + 1) -> 2 + 2:
    """Says 1."""
    assert a > 1
    print(f"{a + 1}", "text", strict=True, encoding="utf-8")
'''


def changed(source):
    """What a source can become, by kind."""
    found = {}
    for change in (change for place in places(source.encode()) for change in place):
        found.setdefault(change.kind, set()).add(change.applied(source.encode()).decode())
    return found


@pytest.mark.parametrize(
    ("source", "kind", "results"),
    [
        ("x = a + γ * b", "operator", {"x = a - γ * b", "x = a + γ / b"}),
        ("x = a and b and c", "operator", {"x = a or b and c", "x = a and b or c"}),
        ("x += 2", "operator", {"x -= 2"}),
        ("x += 2", "assignment removed", {"pass"}),
        ("x[0] = y", "assignment removed", {"pass"}),
        ("a < b", "comparison", {"a <= b", "a >= b"}),
        ("a < b <= c", "comparison", {"a <= b <= c", "a >= b <= c", "a < b < c", "a < b > c"}),
        ("a is not b", "comparison", {"a is b"}),
        ("x = 3", "constant", {"x = (4)", "x = (2)"}),
        ("x = True", "constant", {"x = False"}),
        ("x = -y", "operator removed", {"x = y"}),
        ("if a: b()", "condition negated", {"if (not (a)): b()"}),
        ("x = [a for a in b if a]", "condition negated", {"x = [a for a in b if (not (a))]"}),
        ("if a: b()", "call removed", {"if a: pass"}),
        ("def f(): return a", "nothing returned", {"def f(): return None"}),
        ("for a in b: break", "loop", {"for a in b: continue"}),
        ("raise ValueError(1 + 1)", "raise removed", {"pass"}),
        ("x = f(a, b=1, c=d)", "keyword dropped", {"x = f(a, c=d)", "x = f(a, b=1)"}),
        ("x = f(b=1)", "keyword dropped", {"x = f()"}),
        (
            "def f(a, b):\n    c = 1\n    return g(a)\n",
            "argument",
            {"def f(a, b):\n    c = 1\n    return g(b)\n", "def f(a, b):\n    c = 1\n    return g(c)\n"},
        ),
    ],
)
def test_changes(source, kind, results):
    assert changed(source)[kind] == results


def test_what_says_nothing_about_the_tests_is_left_alone():
    assert set(changed(LEFT_ALONE)) == {"call removed"}


def test_a_change_matters_if_it_makes_another_program():
    source = b"x = 1 + 1"
    assert Change("operator", 6, 7, b"-").matters(source)
    assert not Change("operator", 6, 7, b"+ 0 +").matters(source)
    assert not Change("operator", 6, 7, b"if").matters(source)


@pytest.mark.parametrize("area", mutants.AREAS)
def test_mutants_are_drawn_by_seed_and_without_repetition(area):
    areas = {area: mutants.AREAS[area]}
    once, again, other = (list(mutants.drawn(areas, random.Random(seed), 10)) for seed in (1, 1, 2))
    assert once == again != other
    assert len({(mutant.path, mutant.source) for mutant in once}) == 10
    for mutant in once:
        old = mutant.path.read_text().splitlines()
        assert mutant.source != mutant.path.read_bytes()
        assert f"-{old[mutant.line - 1]}\n" in mutant.diff or mutant.kind == "keyword dropped"
    assert mutants.tests_of(area)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("program", "outcome"), [("pass", "survived"), ("1 / 0", "noticed"), ("import time; time.sleep(60)", "out of time")]
)
def test_outcomes(program, outcome):
    assert mutants.outcome_of([sys.executable, "-c", program], {}, 2.0) == outcome


def test_a_scratch_folder_holds_a_copy_of_the_package():
    with mutants.scratch() as folder:
        copy = folder / "src" / "bygones" / "decay.py"
        assert copy.read_bytes() == (mutants.PACKAGE / "decay.py").read_bytes()
        assert not Path(copy).samefile(mutants.PACKAGE / "decay.py")


def test_the_summary_counts_and_shows_survivors():
    results = [
        {"area": "audit", "kind": "constant", "outcome": "noticed", "diff": "- 1\n+ 2"},
        {"area": "audit", "kind": "operator", "outcome": "out of time", "diff": "- 3\n+ 4"},
        {"area": "ledger", "kind": "constant", "outcome": "survived", "diff": "- 5\n+ 6"},
    ]
    text = mutants.summary(results)
    assert [line.split() for line in text.splitlines()[1:3]] == [
        ["audit", "1", "1", "0", "2", "100%"],
        ["ledger", "0", "0", "1", "1", "0%"],
    ]
    assert ["all", "1", "1", "1", "3", "67%"] in [line.split() for line in text.splitlines()]
    assert "- 5\n+ 6" in text
    assert "- 1" not in text
