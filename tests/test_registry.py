"""Parts by name: one grammar for memories, welfare functions, policies, scenarios and learners."""

import math
import re
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bygones._registry import TRUSTED, Registry, as_text, no_imports


def window(length, every=1):
    return "window", length, every


def scaled(Z, *, factor):
    return Z * factor


@pytest.fixture
def parts():
    parts = Registry("part", synonyms={"view": "window"})
    parts.add(window)
    parts.add(dict, name="any-thing")
    return parts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a module of one's own in it."""
    (tmp_path / "own_parts.py").write_text("def mine(x=1):\n    return x\n\nnumber = 3\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("own_parts", None)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("window(length=3)", {"length": 3}),
        (" Window ( length = 3 , every=2 ) ", {"length": 3, "every": 2}),
        ("view(3)", {"length": 3}),
        ("window(28d, every=month)", {"length": "28d", "every": "month"}),
        ("window(length=1 day, every=None)", {"length": "1 day", "every": None}),
        ("window(length=inf, every=-inf)", {"length": math.inf, "every": -math.inf}),
        ("window(length=(0.9, inf), every=[[1, 2], [3, 4]])", {"length": (0.9, math.inf), "every": [[1, 2], [3, 4]]}),
        ("window(length='a, (b=2', every=\"it's\")", {"length": "a, (b=2", "every": "it's"}),
        ("window(length=(one, two,), every=True)", {"length": ("one", "two"), "every": True}),
    ],
)
def test_one_grammar(parts, text, parameters):
    named = parts.read(text)
    assert (named.name, named.parameters) == ("window", parameters)
    assert parts.read(str(named)) == named
    assert named.build() == ("window", parameters["length"], parameters.get("every", 1))


@pytest.mark.parametrize("text", ["any-thing", "any_thing", "ANY-thing()", " any-thing( ) "])
def test_a_name_is_spelled_as_it_was_added(parts, text):
    assert str(parts.read(text)) == "any-thing"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.lists(inside, max_size=3).map(tuple),
    max_leaves=5,
)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,5}", fullmatch=True), values, max_size=3))
@example({"a": "28d", "b": "inf", "c": "1", "d": " x", "e": "a=b, c", "f": "'", "g": "\\", "h": ""})
def test_all_that_is_written_is_read_again(parameters):
    parts = Registry("part")
    parts.add(dict, name="part")
    parameters = {f"x{name}": value for name, value in parameters.items()}
    assert parts.read(as_text("part", parameters)).parameters == parameters


def test_arrays_and_their_numbers_are_written_as_plain_values():
    parameters = {"weights": np.array([[0.5, 0.5]]), "alpha": np.float64(2.0)}
    assert as_text("part", parameters) == "part(weights=([0.5, 0.5],), alpha=2.0)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("windw(length=3)", "part must be one of window, any-thing, or your own as module:name, got 'windw'; did you "),
        ("", "part must be one of window, any-thing, or your own as module:name, got ''"),
        ("window(lenth=3)", "part window takes length, every, got 'lenth'; did you mean length?"),
        ("window", "part window needs its length, as in window(length=...)"),
        ("window(1, 2, 3)", "part window needs a name for each value, as in name(parameter=value), got 'window(1,"),
        ("window(1, length=3)", "part window needs a name for each value"),
        *(
            (f"window({inside}", "part must be written as name or name(parameter=value, ...), got 'window(")
            for inside in (
                "",
                "length=3",
                "length=)",
                "length=3))",
                "length=3)(every=2)",
                "length=3, length=4)",
                "(" * 999,
            )
        ),
        ("window(length=open('x'))", 'part must be written as name or name(parameter=value, ...), got "window('),
    ],
)
def test_refusals_say_what_there_is(parts, text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        parts.read(text)


def test_arguments_that_come_first_are_not_parameters():
    functions = Registry("function", given=1)
    functions.add(scaled)
    assert functions.read("scaled(factor=3)").build(2) == 6
    assert functions.read("scaled(factor=3)").build(2, factor=5) == 10
    with pytest.raises(ValueError, match="function scaled takes factor, got 'Z'"):
        functions.read("scaled(factor=3, Z=2)")
    with pytest.raises(ValueError, match=r"function scaled\(factor=None\) cannot be made: unsupported operand"):
        functions.read("scaled(factor=None)").build(2)


def test_a_part_is_added_once_under_its_own_name(parts):
    @parts.add
    class SlidingWindow:
        pass

    first = SlidingWindow

    @parts.add
    class SlidingWindow:
        """The same one again, as in a notebook."""

    assert parts.names() == ("window", "any-thing", "sliding_window")
    assert parts.part("sliding-window") is SlidingWindow
    assert (parts.name_of(SlidingWindow), parts.name_of(first)) == ("sliding_window", None)
    with pytest.raises(ValueError, match="part 'Window' exists already: choose another name"):
        parts.add(scaled, name="Window")
    with pytest.raises(ValueError, match="the name of a part must be letters, digits"):
        parts.add(lambda: None)


def test_a_part_may_be_imported_when_it_is_first_used(parts):
    parts.add("fractions:Fraction", name="fraction")
    from fractions import Fraction

    assert parts.name_of(Fraction) == "fraction"
    assert parts.read("fraction(numerator=3, denominator=4)").build() == Fraction(3, 4)


def test_a_part_of_ones_own_is_named_with_its_module(parts, folder):
    named = parts.read("own_parts:mine(x=28d)")
    assert named.build() == "28d"
    assert str(named) == "own_parts:mine(x=28d)"
    for name in ("own_parts:number", "own_parts:nothing"):
        with pytest.raises(ValueError, match=f"part {name} must be a function or a class"):
            parts.read(name)
    with pytest.raises(ValueError, match="part own_parts:mine takes x, got 'y'"):
        parts.read("own_parts:mine(y=2)")


def test_a_file_imports_nothing_that_its_reader_does_not_trust(parts, folder, monkeypatch):
    message = r"own_parts:mine is not imported, since only a file names it: .* BYGONES_PARTS=own_parts:mine"
    with no_imports():
        with pytest.raises(ValueError, match=message):
            parts.read("own_parts:mine(x=2)")
        assert "own_parts" not in sys.modules
        assert parts.read("window(length=3)").parameters == {"length": 3}
        monkeypatch.setenv(TRUSTED, "other:part,own_parts:mine")
        assert parts.read("own_parts:mine(x=2)").build() == 2


def test_a_caller_who_has_named_a_part_trusts_it(parts, folder):
    parts.part("own_parts:mine")
    with no_imports():
        assert parts.read("own_parts:mine(x=2)").build() == 2


def test_a_part_inside_another_of_its_kind_is_its_text():
    parts: Registry[object] = Registry("part")

    @parts.add
    def around(part, times=1):
        return part, times

    named = parts.read("around(own.parts:Thing(length=28d, rows=[1, 2]), times=2)")
    assert named.parameters == {"part": "own.parts:Thing(length=28d, rows=[1, 2])", "times": 2}
    assert str(named) == "around(part=own.parts:Thing(length=28d, rows=[1, 2]), times=2)"
    assert parts.read(str(named)) == named
    assert parts.read("around('own:Thing(3)')").parameters == {"part": "own:Thing(3)"}
    for wrong in ("around(1, times=Thing(3))", "around(f(3)(4))", "around((lambda: 3)())"):
        with pytest.raises(ValueError, match="part must be written as name or name"):
            parts.read(wrong)
