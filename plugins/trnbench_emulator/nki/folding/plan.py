"""Does a loop of a kernel keep anything from round to round? Told from its text.

Only loops are folded whose statements are understood: calls of NKI, of a few builtins, and of functions
that consist of such statements themselves; assignments to names; lists that grow. What is not understood is
executed. Names that a round may read from the round before, names that are read after the loop, and lists
that a round may change are listed: they are looked at while the kernel runs.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import math
from types import CodeType, FrameType, FunctionType
from typing import Any

import msgspec

from trnbench_emulator.nki.folding.reader import Known, Reader, Unfit, stored
from trnbench_emulator.nki.jit import Kernel

RANGES = ("affine_range", "sequential_range", "static_range", "dynamic_range", "range")

_OURS = "trnbench_emulator.nki"
_IMPURE = ("register", "rand", "rng", "set_rng", "get_rng", "seed", "dropout", "while_loop", "fori_loop",
           "core_barrier", "sendrecv", "device_print")  # fmt: skip
_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in ("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "int", "len", "list",
                 "max", "min", "range", "reversed", "round", "slice", "sorted", "sum", "tuple", "zip")
)  # fmt: skip
_LEAVES_EARLY = (ast.Break, ast.Continue, ast.Return)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
_OPTIMISED = 0x1  # locals are slots: the code of a function


class Plan(msgspec.Struct, frozen=True):
    """`carried`: names whose value may come from an earlier round, in a round or after it. `last`: names
    that every round gives a value, read after the loop. `grown`: lists that a round may change.
    """

    carried: tuple[str, ...]
    last: tuple[str, ...]
    grown: tuple[str, ...]


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
    source = source_of(code)
    if source is None or not code.co_flags & _OPTIMISED:
        return None
    loops = source.loops.get(line, [])
    if len(loops) != 1:
        return None
    loop = loops[0]
    call = loop.iter
    name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
    if name not in RANGES or not isinstance(loop.target, ast.Name) or loop.orelse:
        return None
    function = source.around.get(loop)
    # Within the head another loop may run, in a frame of its own or in this one.
    if function is None or any(isinstance(node, _COMPREHENSIONS) for node in ast.walk(call)):
        return None
    if function.name != code.co_name:
        return None
    known_names = Known({loop.target.id}, set())
    try:
        reader = Reader(code, names, stored(loop.body), _harmless)
        reader.block(loop.body, known_names)
    except Unfit:
        return None
    sure = known_names.defined
    if any(isinstance(node, _LEAVES_EARLY) for statement in loop.body for node in ast.walk(statement)):
        sure = {loop.target.id}
    later = (reader.stored | {loop.target.id}) & _read(function, loop)
    carried = reader.carried | (later - sure)
    return Plan(tuple(sorted(carried)), tuple(sorted(later - carried)), tuple(sorted(reader.grown)))


def _read(function: ast.FunctionDef, loop: ast.For) -> set[str]:
    """Names that `function` reads outside of the loop's body."""
    inside = {id(child) for statement in loop.body for child in ast.walk(statement)}
    names: set[str] = set()
    for node in ast.walk(function):
        if id(node) in inside:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def _harmless(called: Any) -> bool:
    """Does a call of it leave everything as it was, but for what it returns?"""
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


def _function(function: FunctionType) -> bool:
    code = function.__code__
    key = (code, id(function.__globals__))
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = False  # one that calls itself
        source = source_of(code)
        node = source.functions.get(code.co_firstlineno) if source else None
        if node is None or code.co_freevars:
            return False
        try:
            reader = Reader(code, function.__globals__, stored(node.body), _harmless)
            reader.block(node.body, Known(set(code.co_varnames[: code.co_argcount]), set()))
        except Unfit:
            return False
        _FUNCTIONS[key] = not reader.grown
    return _FUNCTIONS[key]


class Source:
    """A source file as it was when it was compiled: loops and functions by line, code by line and name."""

    def __init__(self, name: str) -> None:
        self.loops: dict[int, list[ast.For]] = {}
        self.functions: dict[int, ast.FunctionDef] = {}
        self.around: dict[ast.For, ast.FunctionDef] = {}  # the innermost function that a loop is in
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
                lines = [child.lineno for child in node.decorator_list]
                self.functions[min([node.lineno, *lines])] = node
                # Outer functions come first: inner ones have the last word.
                self.around |= {child: node for child in ast.walk(node) if isinstance(child, ast.For)}

    def _codes(self, code: CodeType) -> None:
        self.codes[code.co_firstlineno, code.co_name] = code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._codes(constant)

    def holds(self, code: CodeType) -> bool:
        """Is this what `code` was compiled from?"""
        present = self.codes.get((code.co_firstlineno, code.co_name))
        return present is not None and (present.co_code, present.co_names, present.co_varnames) == (
            code.co_code,
            code.co_names,
            code.co_varnames,
        )


_SOURCES: dict[str, Source] = {}


def source_of(code: CodeType) -> Source | None:
    """The file that `code` was compiled from, if it is still the same."""
    source = _SOURCES.get(code.co_filename)
    if source is None:
        source = _SOURCES[code.co_filename] = Source(code.co_filename)
    return source if source.holds(code) else None
