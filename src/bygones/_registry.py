"""Parts that have a name: memories, welfare functions, policies, scenarios and learners, and one grammar for all.

A part is written like a call in Python: `nash`, `alpha_fair(alpha=2)`, `sliding_window(length=28d)`. A
custom part is written with its module, `beds:Beds(horizon=500)`, or has a name after `Registry.add`. Capital letters,
spaces and empty brackets make no difference, and a dash is an underscore.

Parameters are plain values: numbers, `inf`, `True`, lists, text. Text needs no quotes unless it has brackets or commas
in it: `28d` and `month` can be parameters. The part, or the caller that builds it, defines their meaning.
A part inside another is its text: `capped(discounted(half_life=30), cap=40)`. Nothing in the brackets is executed.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast, overload

from bygones._imports import imported
from bygones._text import listed

Built = TypeVar("Built")
"""The type of the objects that the parts of a registry build."""

Given = TypeVar("Given", bound=Callable[..., object])
"""A function or class that is given to a registry."""

TRUSTED = "BYGONES_PARTS"
"""The environment variable with the custom parts that files may name, as `module:name` with commas between."""

_reads_file = ContextVar("_reads_file", default=False)

_BARE = re.compile(
    r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|(^|[=,(\[])\s*([^\s,()\[\]{}'"=][^,()\[\]{}'"=]*?)\s*(?=[,)\]]|$)"""
)
"""Text in quotes; or a value that may be text without quotes."""


_OWN_INSIDE = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|([\w.]+):(\w+)(?=\()""")
"""Text in quotes; or a `module:name` that is inside another part, and has parameters."""

_COLON = "\u02d0"
"""A letter that stands for the colon in a `module:name`, since Python reads no colon there."""


class Part(str):
    """The text of a part that is a parameter of another of its kind, as the memory inside a memory."""


@dataclass(frozen=True)
class Named(Generic[Built]):
    """A part with its parameters, as a text names them.

    Attributes:
        name: the registered name, or `module:name`.
        parameters: plain values, which the part takes.
        part: the function or class.
        what: what the part is, for errors.
    """

    name: str
    parameters: Mapping[str, object] = field(hash=False)
    part: Callable[..., Built] = field(compare=False, repr=False)
    what: str = field(compare=False, repr=False)

    def build(self, *given: object, **changed: object) -> Built:
        """Calls the part with its parameters.

        Args:
            *given: arguments that come before the parameters, such as the problem that a policy is for.
            **changed: parameters that take the place of those in the text.
        """
        try:
            return self.part(*given, **{**self.parameters, **changed})
        except TypeError as error:
            raise ValueError(f"{self.what} {self} cannot be made: {error}") from None

    def __str__(self) -> str:
        return as_text(self.name, self.parameters)


class Registry(Generic[Built]):
    """The parts of one kind by name.

    Args:
        what: what the parts are, for errors, such as `"memory"`.
        own: a description of a custom part, for errors, such as `"a function of Z"`.
        fits: whether a custom part is that.
        given: how many arguments a part is given before its parameters.
        synonyms: other names, and the names that they stand for.
        takes_text: whether a parameter may be text, such as `28d`, and not only numbers and lists of them.
        base: the class that custom classes inherit from. A file may name an imported one.
    """

    def __init__(
        self,
        what: str,
        own: str = "a function or a class",
        fits: Callable[[object], bool] = callable,
        *,
        given: int = 0,
        synonyms: Mapping[str, str] | None = None,
        takes_text: bool = True,
        base: type | None = None,
    ) -> None:
        self.what, self._takes_text, self._base = what, takes_text, base
        self._own, self._fits, self._given, self._synonyms = own, fits, given, dict(synonyms or {})
        self._parts: dict[str, Callable[..., Built] | str] = {}
        self._trusted: set[str] = set()

    @overload
    def add(self, part: str, /, name: str) -> str: ...
    @overload
    def add(self, part: Given, /, name: str | None = None) -> Given: ...

    def add(self, part: Given | str, /, name: str | None = None) -> Given | str:
        """Adds a part, which then has a name on the command line and in settings. It can be used as a decorator.

        Args:
            part: a function or class; or where one is, as `module:name`, to import it when it is first used.
            name: by default that of the function or class, with underscores and small letters.

        Raises:
            ValueError: another part has this name.
        """
        name = _snake(getattr(part, "__name__", "")) if name is None else name
        if not re.fullmatch(r"\w[\w-]*", name):
            raise ValueError(f"the name of a {self.what} must be letters, digits, dashes and underscores, got {name!r}")
        known = self._parts.get(self._registered(name) or "")
        # In a notebook a part is defined again and again, and the latest counts.
        if known is not None and _place(known) != _place(part):
            raise ValueError(f"{self.what} {name!r} exists already: choose another name")
        self._parts[name] = cast(Callable[..., Built], part)
        return part

    def remove(self, name: str) -> None:
        """Removes a part."""
        del self._parts[self._registered(name) or name]

    def names(self) -> tuple[str, ...]:
        """The names of all parts, in the order in which they were added."""
        return tuple(self._parts)

    def name_of(self, part: object) -> str | None:
        """The name of a part; None if it has none."""
        return next((name for name, known in self._parts.items() if known is part or known == _place(part)), None)

    def text_of(self, part: object, parameters: Mapping[str, object]) -> str:
        """A part with these parameters as `read` reads it; a custom part is `module:name`."""
        own = f"{getattr(part, '__module__', '')}:{getattr(part, '__qualname__', '')}"
        return as_text(self.name_of(part) or own, parameters)

    def part(self, name: str) -> Callable[..., Built]:
        """The function or class of a registered name, or of `module:name`."""
        registered = self._registered(name)
        if registered is not None:
            return self._loaded(registered)
        if ":" not in name:
            raise ValueError(
                f"{self.what} must be one of {', '.join(self._parts)}, or your own as module:name, got {name!r}"
                f"{_nearest(name, [*self._parts, *self._synonyms])}"
            )
        trusted = self._trusted | {*os.environ.get(TRUSTED, "").split(",")}
        if _reads_file.get() and name not in trusted and not self._is_imported(name):
            raise ValueError(
                f"{self.what} {name} is not imported, since only a file names it: if you trust {name}, "
                f"set the environment variable {TRUSTED}={name}"
            )
        part = imported(self.what, name)
        if not self._fits(part):
            raise ValueError(f"{self.what} {name} must be {self._own}")
        self._trusted.add(name)
        return cast(Callable[..., Built], part)

    def read(self, text: str, /, **others: object) -> Named[Built]:
        """The part that a text names, with its parameters; the inverse of `str`.

        Args:
            text: such as `nash`, `alpha_fair(alpha=2)` or `beds:Beds(horizon=500)`.
            **others: parameters in addition to those in the text.

        Raises:
            ValueError: no part has this name, or it does not take these parameters, or needs others.
        """
        written, unnamed, parameters = parsed(self.what, text)
        name = self._registered(written) or written
        part = self.part(name)
        first = [each.name for each in _takes(part, self._given) if each.kind is each.POSITIONAL_OR_KEYWORD]
        if len(unnamed) > len(first) or set(first[: len(unnamed)]) & set(parameters):
            raise ValueError(
                f"{self.what} {name} needs a name for each value, as in name(parameter=value), got {text!r}"
            )
        parameters = {**dict(zip(first, unnamed, strict=False)), **parameters}
        for word, value in parameters.items():
            if isinstance(value, Part) and word != self.what:
                raise ValueError(_unreadable(self.what, text))
            if isinstance(value, str) and not self._takes_text:
                raise ValueError(f"{word} must be a number or a list of numbers, got {value!r} in {self.what} {text}")
        parameters |= others
        check_parameters(self.what, name, part, parameters, self._given)
        return Named(name, parameters, part, self.what)

    def _registered(self, written: str) -> str | None:
        """The name under which it was added, from any spelling of it."""
        names = {_key(name): name for name in self._parts} | {_key(a): b for a, b in self._synonyms.items()}
        return names.get(_key(written))

    def _is_imported(self, name: str) -> bool:
        """Whether a custom part is a class of this kind in a module that is imported already."""
        module, _, attribute = name.partition(":")
        part = getattr(sys.modules.get(module), attribute, None)
        return self._base is not None and inspect.isclass(part) and issubclass(part, self._base)

    def _loaded(self, name: str) -> Callable[..., Built]:
        part = self._parts[name]
        if isinstance(part, str):
            module, _, attribute = part.partition(":")
            part = self._parts[name] = cast(Callable[..., Built], getattr(importlib.import_module(module), attribute))
        return part


@contextmanager
def no_imports() -> Iterator[None]:
    """Inside, names come from a file, which someone else may have written, and no module is imported because of them.

    Exceptions are a `module:name` that the caller has read before in this process, and those in `BYGONES_PARTS`.
    """
    token = _reads_file.set(True)
    try:
        yield
    finally:
        _reads_file.reset(token)


def as_text(name: str, parameters: Mapping[str, object]) -> str:
    """A name with its parameters as a registry reads it: `alpha_fair(alpha=2.0)`."""
    inside = ", ".join(f"{word}={_written(value)}" for word, value in parameters.items())
    return f"{name}({inside})" if inside else name


def texts_in(text: str) -> list[str]:
    """The texts of parts in a list with commas between them; commas in brackets separate parameters."""
    return [each.strip() for each in re.split(r",(?![^(]*\))", text)]


def check_parameters(
    what: str, name: str, part: Callable[..., object], parameters: Mapping[str, object], given: int = 0
) -> None:
    """Refuses parameters that a part does not take, and a part without a parameter that it needs.

    Args:
        what: what the part is, for errors.
        name: the name of the part.
        part: the function or class.
        parameters: by name.
        given: how many arguments the part is given before its parameters.
    """
    takes = _takes(part, given)
    words = [each.name for each in takes if each.kind is not each.VAR_KEYWORD]
    for word in parameters:
        if word not in words and len(words) == len(takes):
            takes_these = ", ".join(words) or "no parameters"
            raise ValueError(f"{what} {name} takes {takes_these}, got {word!r}{_nearest(word, words)}")
    needs = [each.name for each in takes if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    missing = [word for word in needs if word not in parameters]
    if missing:
        example = ", ".join(f"{word}=..." for word in missing)
        raise ValueError(f"{what} {name} needs its {listed(missing)}, as in {name}({example})")


def _takes(part: Callable[..., object], given: int) -> list[inspect.Parameter]:
    """The parameters of a part, or anything for a part that does not tell, as some functions written in C."""
    try:
        takes = list(inspect.signature(part).parameters.values())
    except (TypeError, ValueError):
        return [inspect.Parameter("parameters", inspect.Parameter.VAR_KEYWORD)]
    return [each for each in takes[given:] if each.kind is not each.VAR_POSITIONAL]


def parsed(what: str, text: str) -> tuple[str, list[object], dict[str, object]]:
    """The name in a text, and the values in its brackets: those without a name, and those with one.

    Raises:
        ValueError: the text is not written like a call.
    """
    name, opened, inside = text.strip().partition("(")
    if not opened:
        return name.strip(), [], {}
    try:
        if not inside.endswith(")"):
            raise ValueError
        call = _read(f"part({inside}")
        assert isinstance(call, ast.Call)
        parameters = {str(word.arg): _value(word.value) for word in call.keywords if word.arg is not None}
        if not isinstance(call.func, ast.Name) or len(parameters) < len(call.keywords):
            raise ValueError
        return name.strip(), [_value(node) for node in call.args], parameters
    except (AssertionError, MemoryError, RecursionError, SyntaxError, ValueError):
        raise ValueError(_unreadable(what, text)) from None


def _unreadable(what: str, text: str) -> str:
    return f"{what} must be written as name or name(parameter=value, ...), got {text!r}"


def _read(text: str) -> ast.expr:
    """A text with Python's quotes and without colons, as Python reads it."""
    text = _OWN_INSIDE.sub(lambda match: match[1] or f"{match[2]}{_COLON}{match[3]}", text)
    return ast.parse(_BARE.sub(_quoted, text), mode="eval").body


def _quoted(match: re.Match[str]) -> str:
    """A value as Python writes it: quotes for all that is neither a plain value nor in quotes already."""
    quoted, before, word = match.groups()
    if quoted is not None:
        return str(quoted)
    try:
        _value(ast.parse(word, mode="eval").body)
    except (SyntaxError, ValueError):
        word = repr(word)
    return f"{before}{word}"


def _value(node: ast.expr) -> object:
    """A plain value; infinity has no literal in Python."""
    if isinstance(node, ast.Tuple | ast.List):
        values = [_value(each) for each in node.elts]
        return tuple(values) if isinstance(node, ast.Tuple) else values
    if isinstance(node, ast.Call):
        name, unnamed = ast.unparse(node.func).replace(_COLON, ":"), [_written(_value(each)) for each in node.args]
        named = [f"{each.arg}={_written(_value(each.value))}" for each in node.keywords]
        if not re.fullmatch(r"[\w.:]+", name) or any(each.arg is None for each in node.keywords):
            raise ValueError
        return Part(f"{name}({', '.join([*unnamed, *named])})")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Name):
        return -cast(float, _value(node.operand))
    return math.inf if isinstance(node, ast.Name) and node.id == "inf" else ast.literal_eval(node)


def _written(value: object) -> str:
    """A value as `_value` reads it, without quotes where it can do without."""
    if hasattr(value, "tolist"):  # an array or number of NumPy or JAX
        value = value.tolist()
        value = tuple(value) if isinstance(value, list) else value
    if isinstance(value, tuple | list):
        inside = ", ".join(repr(each) if isinstance(each, str) else _written(each) for each in value)
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return f"({inside}{comma})" if isinstance(value, tuple) else f"[{inside}]"
    match = _BARE.fullmatch(value) if isinstance(value, str) else None
    is_bare = match is not None and match[3] == value and _quoted(match) == repr(value)
    return str(value) if is_bare or isinstance(value, Part) else repr(str(value) if isinstance(value, str) else value)


def _nearest(name: str, known: Iterable[str]) -> str:
    names = {_key(each): each for each in known}
    near = difflib.get_close_matches(_key(name), names, n=1)
    return f"; did you mean {names[near[0]]}?" if near else ""


def _key(name: str) -> str:
    return name if ":" in name else name.strip().replace("-", "_").lower()


def _snake(name: str) -> str:
    """`SlidingWindow` is `sliding_window`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _place(part: object) -> str:
    """Where a part is, as `module:name`."""
    return part if isinstance(part, str) else f"{part.__module__}:{getattr(part, '__qualname__', '')}"
