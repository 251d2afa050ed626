"""The small changes that can be made to a Python source: one operator, constant, condition, argument or statement.

Nothing is changed where a change says nothing about the tests: docstrings and other strings, type annotations,
decorators, `__all__`, `__repr__`, assertions, what an exception says, and keywords that matter only on other systems or
to input that never occurs (`strict`, `encoding`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

OPERATORS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.MatMult: ("@", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}  # fmt: skip
COMPARISONS = {
    ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"), ast.Gt: (">", ">=", "<="), ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
SILENT_KEYWORDS = {"strict", "encoding", "newline", "stacklevel"}
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Change(NamedTuple):
    """Bytes `start` to `end` of a source become `text`."""

    kind: str
    start: int
    end: int
    text: bytes

    def applied(self, source: bytes) -> bytes:
        """The source with this change."""
        return source[: self.start] + self.text + source[self.end :]

    def matters(self, source: bytes) -> bool:
        """Whether the source with this change is a program, and another one."""
        try:
            return _bytecode(self.applied(source)) != _bytecode(source)
        except SyntaxError:
            return False


def places(source: bytes) -> list[list[Change]]:
    """The places where a source can be changed, each with the changes possible there."""
    found = _Places(source)
    found.visit(ast.parse(source))
    return found.places


def _bytecode(source: bytes) -> tuple[object, ...]:
    def parts(code: CodeType) -> tuple[object, ...]:
        constants = [parts(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
        return code.co_code, code.co_names, code.co_varnames, tuple(constants)

    return parts(compile(source, "source", "exec", optimize=2))


class _Places(ast.NodeVisitor):
    """Walks through a source and gathers the changes of every place."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.names: list[dict[str, int]] = [{}]
        self.places: list[list[Change]] = []

    # ---- what is left alone --------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name != "__repr__":
            self._in_scope(node, [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body])

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._in_scope(node, [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body])

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._in_scope(node, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_all([node.value] if node.value else [])

    def visit_Assert(self, node: ast.Assert) -> None:
        """Assertions tell the type checker what is known."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Python 3.11 does not say where the parts of an f-string are."""

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add("raise removed", node, "pass")

    # ---- statements ----------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            return
        if not any(isinstance(target, ast.Name | ast.Tuple) for target in node.targets):
            self._add("assignment removed", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add("assignment removed", node, "pass")
        self._operator(node.op, node.target, node.value)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add("call removed", node, "pass")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._add("nothing returned", node.value, "None")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._add("loop", node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add("loop", node, "break")

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self._negated(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._negated(node.test)
        self.generic_visit(node)

    # ---- expressions ---------------------------------------------------------------------------------------------

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negated(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negated(test)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._operator(node.op, node.left, node.right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._operator(node.op, left, right)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
            before, *others = COMPARISONS[type(op)]
            self._between("comparison", left, right, before, others)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self._add("operator removed", node, self._text(node.operand))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("constant", node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._add("constant", node, f"({node.value + 1!r})", f"({node.value - 1!r})")

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar"):
            return
        given = sorted([*node.args, *node.keywords], key=lambda part: self._span(part)[0])
        for i, part in enumerate(given):
            if isinstance(part, ast.keyword):
                if part.arg in SILENT_KEYWORDS:
                    continue
                if part.arg is not None:
                    self._dropped(given, i)
            value = part.value if isinstance(part, ast.keyword) else part
            if isinstance(value, ast.Name):
                self._add("argument", value, *self._other_names(value))
            self.visit(value)
        self.visit(node.func)

    # ---- changes -------------------------------------------------------------------------------------------------

    def _operator(self, op: ast.AST, left: ast.AST, right: ast.AST) -> None:
        before, after = OPERATORS[type(op)]
        self._between("operator", left, right, before, [after])

    def _between(self, kind: str, left: ast.AST, right: ast.AST, before: str, others: list[str]) -> None:
        """Replaces the operator that stands between two operands."""
        low, high = self._span(left)[1], self._span(right)[0]
        at = self.source.find(before.encode(), low, high)
        if at >= 0:
            self.places.append([Change(kind, at, at + len(before), other.encode()) for other in others])

    def _negated(self, test: ast.expr) -> None:
        self._add("condition negated", test, f"(not ({self._text(test)}))")

    def _dropped(self, given: list[ast.AST], i: int) -> None:
        start, end = self._span(given[i])
        if i + 1 < len(given):
            end = self._span(given[i + 1])[0]
        elif i > 0:
            start = self._span(given[i - 1])[1]
        self.places.append([Change("keyword dropped", start, end, b"")])

    def _add(self, kind: str, node: ast.AST, *texts: str) -> None:
        if texts:
            self.places.append([Change(kind, *self._span(node), text.encode()) for text in texts])

    # ---- where things are ----------------------------------------------------------------------------------------

    def _span(self, node: ast.AST) -> tuple[int, int]:
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self.source[start:end].decode()

    def _other_names(self, name: ast.Name) -> list[str]:
        """The other local names that are bound above this one."""
        return [other for other, line in self.names[-1].items() if other != name.id and line < name.lineno]

    def _in_scope(self, node: Function, parts: list[ast.AST]) -> None:
        self.names.append({**self.names[-1], **dict(_bound(node))})
        self._visit_all(parts)
        self.names.pop()

    def _visit_all(self, nodes: list[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)


def _bound(function: Function) -> Iterator[tuple[str, int]]:
    """The names that a function binds, with the line from which on they are known."""
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.arg not in ("self", "cls"):
            yield argument.arg, function.lineno - 1
    body = function.body if isinstance(function.body, list) else []
    stores = [
        node
        for part in body
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    for node in sorted(stores, key=lambda node: -node.lineno):
        yield node.id, node.lineno
