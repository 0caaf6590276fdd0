"""A reader of a loop's or a function's statements: what they read before writing and change in place."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from types import CodeType, ModuleType
from typing import Any

import msgspec

from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.view import Arrangement

_VIEWS = frozenset(name for name in (*vars(NkiTensor), *vars(Arrangement)) if not name.startswith("_"))
_GROW = ("append", "extend")
_NOTHING = object()
_MADE_OF_PARTS = (
    ast.Subscript, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Tuple, ast.List, ast.Slice,
    ast.JoinedStr, ast.FormattedValue, ast.Starred, ast.Dict,
)  # fmt: skip


class Unfit(Exception):
    """A statement that is not understood."""


def stored(body: Iterable[ast.AST]) -> frozenset[str]:
    """Names that are assigned to."""
    return frozenset(
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


class Known(msgspec.Struct):
    """At a place in the text: names that have a value of this round, and those of lists made in it."""

    defined: set[str]
    fresh: set[str]

    def copy(self) -> Known:
        return Known(set(self.defined), set(self.fresh))

    def meet(self, *others: Known) -> None:
        for branch in others:
            self.defined &= branch.defined
            self.fresh &= branch.fresh


class Reader:
    """`harmless`: does a call of this leave everything as it was?"""

    def __init__(
        self,
        code: CodeType,
        names: dict[str, Any],
        stored: frozenset[str],
        harmless: Callable[[Any], bool],
    ) -> None:
        self.names = names
        self.harmless = harmless
        self.locals = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.stored = stored
        self.carried: set[str] = set()
        self.grown: set[str] = set()

    # Statements ---------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], state: Known) -> None:
        for statement in body:
            self.statement(statement, state)

    def statement(self, node: ast.stmt, state: Known) -> None:
        match node:
            case ast.Assign():
                self.value(node.value, state)
                for target in node.targets:
                    self.assign(target, node.value, state)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self.value(value, state)
                self.assign(target, value, state)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                self.value(value, state)
                self.read(name, state)
                self.change(name, state)
                state.defined.add(name)
            case ast.Expr():
                self.value(node.value, state)
            case ast.If():
                self.value(node.test, state)
                then, otherwise = state.copy(), state.copy()
                self.block(node.body, then)
                self.block(node.orelse, otherwise)
                state.defined, state.fresh = then.defined, then.fresh
                state.meet(otherwise)
            case ast.For():
                self.value(node.iter, state)
                inside = state.copy()
                inside.fresh -= self.replaced(node.body)
                self.assign(node.target, node.iter, inside)
                self.block(node.body, inside)
                self.block(node.orelse, state)
                state.fresh &= inside.fresh
            case ast.Assert():
                self.value(node.test, state)
            case ast.Return(value=value):
                if value is not None:
                    self.value(value, state)
            case ast.Raise(exc=value):
                if value is not None:
                    self.names_in(value, state)
            case ast.Pass() | ast.Continue() | ast.Break():
                pass
            case _:
                raise Unfit

    def replaced(self, body: list[ast.stmt]) -> set[str]:
        """Names that are given something else than a new list."""
        return {
            name.id
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, ast.Assign) and not _new_list(node.value)
            for target in node.targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name)
        }

    def assign(self, target: ast.expr, value: ast.expr, state: Known) -> None:
        match target:
            case ast.Name(id=name):
                state.defined.add(name)
                (state.fresh.add if _new_list(value) else state.fresh.discard)(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = (
                    value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(parts) else None
                )
                for at, part in enumerate(parts):
                    self.assign(part, values[at] if values else ast.Constant(None), state)
            case _:
                raise Unfit

    def change(self, name: str, state: Known) -> None:
        """What `name` holds is changed in place, if it is a list."""
        if name not in state.fresh:
            self.grown.add(name)

    # Values -------------------------------------------------------------------------------------

    def value(self, node: ast.expr | None, state: Known) -> None:
        match node:
            case None | ast.Constant():
                pass
            case ast.Name(id=name):
                self.read(name, state)
            case ast.Attribute():
                self.value(node.value, state)
            case ast.Call():
                self.call(node, state)
            case ast.Compare():
                if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops) and not all(
                    isinstance(operand, ast.Constant) for operand in node.comparators
                ):
                    raise Unfit
                for operand in (node.left, *node.comparators):
                    self.value(operand, state)
            case ast.ListComp() | ast.GeneratorExp():
                inside = state.copy()
                for clause in node.generators:
                    self.value(clause.iter, inside)
                    inside.defined |= stored([clause.target])
                    for operand in clause.ifs:
                        self.value(operand, inside)
                self.value(node.elt, inside)
            case _ if isinstance(node, _MADE_OF_PARTS):
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child, state)
            case _:
                raise Unfit

    def names_in(self, node: ast.AST, state: Known) -> None:
        for child in ast.walk(node):
            if isinstance(child, ast.Name):
                self.read(child.id, state)

    def read(self, name: str, state: Known) -> None:
        if name in self.stored and name not in state.defined:
            self.carried.add(name)

    def call(self, node: ast.Call, state: Known) -> None:
        for argument in (*node.args, *(word.value for word in node.keywords)):
            self.value(argument, state)
        called = self.constant(node.func)
        if called is not _NOTHING:
            if not self.harmless(called):
                raise Unfit
            return
        match node.func:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in _GROW:
                self.read(name, state)
                self.change(name, state)
                if name in self.locals and name in self.stored and name not in state.fresh:
                    raise Unfit  # a second name of some other list
            case ast.Attribute(attr=attr) if attr in _VIEWS:
                self.value(node.func.value, state)
            case _:
                raise Unfit

    def constant(self, node: ast.expr) -> Any:
        """What a global name, or an attribute of a module, stands for."""
        match node:
            case ast.Name(id=name) if name not in self.locals:
                return self.names.get(name, getattr(builtins, name, _NOTHING))
            case ast.Attribute(attr=attr):
                owner = self.constant(node.value)
                return getattr(owner, attr, _NOTHING) if isinstance(owner, (ModuleType, type)) else _NOTHING
        return _NOTHING


def _new_list(node: ast.expr) -> bool:
    return isinstance(node, (ast.List, ast.ListComp)) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list"
    )
