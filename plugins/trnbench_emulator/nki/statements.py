"""The statements of a file of kernels, executed one by one.

A statement that fails, on a framework or a device for instance, leaves the rest of the file usable. The names
that it would have set are stood in for: whoever uses one is told the line that failed.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeAlias

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.nki import site
from trnbench_emulator.nki.names import refused_import
from trnbench_emulator.nki.stand_in import Reason, lenient, stand_in


class Fault(Record):
    """A statement that failed, and the names that it did not set."""

    file: str
    line: int
    error: Exception
    names: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return site.told((self.file, self.line))

    def __str__(self) -> str:
        if isinstance(self.error, KernelError):
            return self.error.what
        text = str(self.error)
        return f"{type(self.error).__name__}{f': {text}' if text else ''}"


def execute(source: bytes, path: str, module: ModuleType) -> list[Fault]:
    """Carry out the program text in `module`; the statements that failed. Raises `SyntaxError`."""
    code, names = _compiled(source, path)
    program = _Program(path, module, names)
    setattr(module, _Program.NAME, program)
    try:
        with lenient():
            exec(code, vars(module))
    finally:
        vars(module).pop(_Program.NAME, None)
    return program.faults


Names: TypeAlias = list[tuple[str, ...]]
"""What each guarded statement of a file sets, by its number."""


@lru_cache(maxsize=256)
def _compiled(source: bytes, path: str) -> tuple[CodeType, Names]:
    """The program text with a guard around each statement; kept, since files of a repository import the same
    others again and again."""
    tree = ast.parse(source, path)
    names: Names = []
    first = next((at for at, statement in enumerate(tree.body) if not _leads(statement)), len(tree.body))
    tree.body[first:] = _guarded(tree.body[first:], names)
    return compile(tree, path, "exec", dont_inherit=True), names


def _leads(statement: ast.stmt) -> bool:
    """A docstring or an import from __future__, which nothing may stand before."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class _Program:
    """What stands around each statement of a file: its functions are compiled as they would be without."""

    NAME = "__trnbench_program__"
    kinds = Exception

    def __init__(self, path: str, module: ModuleType, names: Names) -> None:
        self.path = path
        self.module = module
        self.names = names
        self.faults: list[Fault] = []
        self.before: dict[int, dict[str, Any]] = {}

    def begin(self, number: int) -> None:
        self.before[number] = {name: vars(self.module).get(name, _MISSING) for name in self.names[number]}

    def failed(self, number: int) -> None:
        """Note the error, and let what the statement has not set be stood in for."""
        error = sys.exc_info()[1]
        assert isinstance(error, Exception)
        namespace = vars(self.module)
        names = tuple(
            name for name, value in self.before[number].items() if namespace.get(name, _MISSING) is value
        )
        line = site.of_error(error.__traceback__, self.path).rpartition(":")[2]
        place = site.told((self.path, int(line)))
        error = refused_import(error, place) or error
        fault = Fault(self.path, int(line), error, names)
        self.faults.append(fault)
        reason = Reason(f"which {place} did not define", f"that line failed: {fault}")
        if isinstance(error, KernelError):
            reason = Reason(f"which {place} could not get", f"{fault}", error.try_)
        for name in names:
            namespace[name] = stand_in("", name, reason)


def _guarded(body: list[ast.stmt], names: Names) -> list[ast.stmt]:
    """Each statement in a try of its own; those of a branch also: `if HAS_NKI:` has kernels behind it."""
    wrapped: list[ast.stmt] = []
    for statement in body:
        number = len(names)
        names.append(tuple(dict.fromkeys(_bound(statement))))
        place = {name: getattr(statement, name) for name in statement._attributes}
        begin, failed = (
            ast.Expr(ast.Call(_own(verb, place), [ast.Constant(number, **place)], [], **place), **place)
            for verb in ("begin", "failed")
        )
        if isinstance(statement, ast.If):
            statement.body = _guarded(statement.body, names)
            statement.orelse = _guarded(statement.orelse, names)
        handler = ast.ExceptHandler(_own("kinds", place), None, [failed], **place)
        wrapped.append(ast.Try([begin, statement], [handler], [], [], **place))
    return wrapped


def _own(verb: str, place: dict[str, Any]) -> ast.Attribute:
    """The attribute of `_Program` that a guard names."""
    return ast.Attribute(ast.Name(_Program.NAME, ast.Load(), **place), verb, ast.Load(), **place)


_MISSING = object()


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement sets in its module."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
        return
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
        return
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield from _bound(child)
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            for inner in child.body:
                yield from _bound(inner)
        else:
            yield from (
                node.id
                for node in ast.walk(child)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            )


@lru_cache(maxsize=64)
def guarded_lines(path: str) -> frozenset[int]:
    """Lines of import statements in a file that says itself what to do without."""
    try:
        # A program that lies in no file is known to `linecache` alone.
        lines = linecache.getlines(path) if path in linecache.cache else None
        tree = ast.parse("".join(lines) if lines else Path(path).read_bytes(), path)
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    return frozenset(
        inner.lineno
        for statement in ast.walk(tree)
        if isinstance(statement, ast.Try) and any(map(_catches, statement.handlers))
        for outer in statement.body
        for inner in ast.walk(outer)
        if isinstance(inner, (ast.Import, ast.ImportFrom))
    )


_CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in _CAUGHT for kind in kinds)
