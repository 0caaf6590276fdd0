"""Does a loop of a kernel keep anything from round to round? Told from its text.

Only loops are folded whose statements are understood: calls of NKI, of a few builtins, and of functions
that consist of such statements themselves; assignments to names; lists that grow. What is not understood is
executed. Names that a round may read from the round before, and lists that it may change, are listed: they
are looked at while the kernel runs.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import math
from collections.abc import Iterable
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import msgspec

from trnbench.nki.jit import Kernel
from trnbench.nki.tensor import NkiTensor

RANGES = ("affine_range", "sequential_range", "static_range", "dynamic_range")

_OURS = "trnbench.nki"
_IMPURE = ("register", "rand", "rng", "set_rng", "get_rng", "seed", "dropout", "while_loop", "fori_loop",
           "core_barrier", "sendrecv", "device_print")  # fmt: skip
_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in ("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "int", "len", "list",
                 "max", "min", "range", "reversed", "round", "slice", "sorted", "sum", "tuple", "zip")
)  # fmt: skip
_VIEWS = frozenset(name for name in vars(NkiTensor) if not name.startswith("_"))
_GROW = ("append", "extend")
_OPTIMISED = 0x1  # locals are slots: the code of a function


class Plan(msgspec.Struct, frozen=True):
    """`carried`: names whose value may come from the round before; `grown`: lists that a round may change."""

    carried: tuple[str, ...]
    grown: tuple[str, ...]


class Unfit(Exception):
    """A statement that is not understood."""


class _File:
    """A source file as it was when it was compiled: loops and functions by line, code by line and name."""

    def __init__(self, name: str) -> None:
        self.loops: dict[int, list[ast.For]] = {}
        self.functions: dict[int, ast.FunctionDef] = {}
        self.codes: dict[tuple[int, str], CodeType] = {}
        text = "".join(linecache.getlines(name))
        try:
            tree = ast.parse(text, name)
            self._codes(compile(text, name, "exec", dont_inherit=True))
        except (SyntaxError, ValueError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.For):
                for line in range(node.lineno, (node.iter.end_lineno or node.lineno) + 1):
                    self.loops.setdefault(line, []).append(node)
            elif isinstance(node, ast.FunctionDef):
                lines = [each.lineno for each in node.decorator_list]
                self.functions[min([node.lineno, *lines])] = node

    def _codes(self, code: CodeType) -> None:
        self.codes[code.co_firstlineno, code.co_name] = code
        for each in code.co_consts:
            if isinstance(each, CodeType):
                self._codes(each)

    def holds(self, code: CodeType) -> bool:
        """Is this what `code` was compiled from?"""
        known = self.codes.get((code.co_firstlineno, code.co_name))
        return known is not None and (known.co_code, known.co_names, known.co_varnames) == (
            code.co_code,
            code.co_names,
            code.co_varnames,
        )


_FILES: dict[str, _File] = {}
_PLANS: dict[tuple[CodeType, int, int], Plan | None] = {}
_FUNCTIONS: dict[tuple[CodeType, int], bool] = {}


def plan_of(frame: FrameType) -> Plan | None:
    """Of the loop whose head is being executed in `frame`; None where it has to be executed whole."""
    code, line = frame.f_code, frame.f_lineno
    key = (code, line, id(frame.f_globals))
    if key not in _PLANS:
        _PLANS[key] = _plan(code, line, frame.f_globals)
    return _PLANS[key]


def _plan(code: CodeType, line: int, names: dict[str, Any]) -> Plan | None:
    file = _file(code)
    if file is None or not code.co_flags & _OPTIMISED:
        return None
    found = file.loops.get(line, [])
    if len(found) != 1:
        return None
    loop = found[0]
    call = loop.iter
    name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
    if name not in RANGES or not isinstance(loop.target, ast.Name) or loop.orelse:
        return None
    try:
        reader = _Reader(code, names, _stored(loop.body))
        reader.block(loop.body, _State({loop.target.id}, set()))
    except Unfit:
        return None
    return Plan(tuple(sorted(reader.carried)), tuple(sorted(reader.grown)))


def _file(code: CodeType) -> _File | None:
    file = _FILES.get(code.co_filename)
    if file is None:
        file = _FILES[code.co_filename] = _File(code.co_filename)
    return file if file.holds(code) else None


def _function(function: FunctionType) -> bool:
    """Does it leave everything as it was, but for what it returns?"""
    code = function.__code__
    key = (code, id(function.__globals__))
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = False  # one that calls itself
        file = _file(code)
        node = file.functions.get(code.co_firstlineno) if file else None
        if node is None or code.co_freevars:
            return False
        try:
            reader = _Reader(code, function.__globals__, _stored(node.body))
            reader.block(node.body, _State(set(code.co_varnames[: code.co_argcount]), set()))
        except Unfit:
            return False
        _FUNCTIONS[key] = not reader.grown
    return _FUNCTIONS[key]


def _stored(body: Iterable[ast.AST]) -> frozenset[str]:
    """Names that are assigned to."""
    return frozenset(
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


class _State(msgspec.Struct):
    """At a place in the text: names that have a value of this round, and those of lists made in it."""

    defined: set[str]
    fresh: set[str]

    def copy(self) -> _State:
        return _State(set(self.defined), set(self.fresh))

    def meet(self, *others: _State) -> None:
        for each in others:
            self.defined &= each.defined
            self.fresh &= each.fresh


class _Reader:
    def __init__(self, code: CodeType, names: dict[str, Any], stored: frozenset[str]) -> None:
        self.names = names
        self.locals = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.stored = stored
        self.carried: set[str] = set()
        self.grown: set[str] = set()

    # Statements ---------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt], state: _State) -> None:
        for each in body:
            self.statement(each, state)

    def statement(self, node: ast.stmt, state: _State) -> None:
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
                one, other = state.copy(), state.copy()
                self.block(node.body, one)
                self.block(node.orelse, other)
                state.defined, state.fresh = one.defined, one.fresh
                state.meet(other)
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

    def assign(self, target: ast.expr, value: ast.expr, state: _State) -> None:
        match target:
            case ast.Name(id=name):
                state.defined.add(name)
                (state.fresh.add if _new_list(value) else state.fresh.discard)(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = (
                    value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(parts) else None
                )
                for at, each in enumerate(parts):
                    self.assign(each, values[at] if values else ast.Constant(None), state)
            case _:
                raise Unfit

    def change(self, name: str, state: _State) -> None:
        """What `name` holds is changed in place, if it is a list."""
        if name not in state.fresh:
            self.grown.add(name)

    # Values -------------------------------------------------------------------------------------

    def value(self, node: ast.expr | None, state: _State) -> None:
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
                    isinstance(each, ast.Constant) for each in node.comparators
                ):
                    raise Unfit
                for each in (node.left, *node.comparators):
                    self.value(each, state)
            case ast.ListComp() | ast.GeneratorExp():
                inside = state.copy()
                for clause in node.generators:
                    self.value(clause.iter, inside)
                    inside.defined |= _stored([clause.target])
                    for each in clause.ifs:
                        self.value(each, inside)
                self.value(node.elt, inside)
            case _ if isinstance(node, _MADE_OF_PARTS):
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.value(child, state)
            case _:
                raise Unfit

    def names_in(self, node: ast.AST, state: _State) -> None:
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                self.read(each.id, state)

    def read(self, name: str, state: _State) -> None:
        if name in self.stored and name not in state.defined:
            self.carried.add(name)

    def call(self, node: ast.Call, state: _State) -> None:
        for each in (*node.args, *(word.value for word in node.keywords)):
            self.value(each, state)
        called = self.constant(node.func)
        if called is not _NOTHING:
            if not _harmless(called):
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


_NOTHING = object()
_MADE_OF_PARTS = (
    ast.Subscript, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Tuple, ast.List, ast.Slice,
    ast.JoinedStr, ast.FormattedValue, ast.Starred, ast.Dict,
)  # fmt: skip


def _new_list(node: ast.expr) -> bool:
    return isinstance(node, (ast.List, ast.ListComp)) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list"
    )


def _harmless(called: Any) -> bool:
    if isinstance(called, Kernel):
        called = called.function
    module = getattr(called, "__module__", None) or ""
    if module == _OURS or module.startswith(_OURS + "."):
        name = getattr(called, "__name__", "")
        return bool(name) and not name.startswith(_IMPURE)
    if isinstance(called, FunctionType):
        return _function(called)
    try:
        return called in _BUILTINS or (module == math.__name__ and callable(called))
    except TypeError:
        return False
