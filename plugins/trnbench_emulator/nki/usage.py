"""Which names of NKI a file uses, read from its text: what runs here, and what a newer release wants."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from trnbench.record import Record
from trnbench_emulator.nki import isa, language
from trnbench_emulator.nki.importer import OURS
from trnbench_emulator.nki.jit import jit
from trnbench_emulator.nki.names import WHY
from trnbench_emulator.nki.provide import provided_names
from trnbench_emulator.nki.releases import Gone, change

_TODAY: dict[str, Any] = {"nki.isa": isa, "nki.language": language}


class Use(Record):
    """`neuronxcc.nki.language.load` with the parameters that a call names."""

    line: int
    module: str
    name: str
    keywords: tuple[str, ...] = ()

    @property
    def runs(self) -> bool:
        return self.name in provided_names().get(self.module, ())

    @property
    def why(self) -> str:
        """Why it does not run here; "" where it does."""
        if self.runs:
            return ""
        if self.module not in provided_names():
            return "it came inside the compiler and is not public"
        return WHY.get(self.module, {}).get(self.name, "no such name is provided")

    def gone(self) -> Iterator[Gone]:
        """What of it a newer release does not have."""
        module = self.module.removeprefix("neuronxcc.")
        full = f"{module}.{self.name}"
        removed = change(full)
        today = provided_names().get(module, ())
        if removed or (module in _TODAY and self.name not in today and self.module != module):
            yield removed or Gone(name=full)
            return
        for keyword in self.keywords:
            told = change(full, keyword)
            if told:
                yield replace(told, name=full)
            elif self._unknown(module, keyword):
                yield Gone(name=full, keyword=keyword)

    def _unknown(self, module: str, keyword: str) -> bool:
        function = getattr(_TODAY.get(module), self.name, None)
        if not inspect.isfunction(function) or function is jit:
            return False
        parameters = inspect.signature(function).parameters
        open_ended = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        return not open_ended and keyword not in parameters


def uses(tree: ast.Module) -> list[Use]:
    """Every use of a name of NKI in a file, in order."""
    aliases = dict(_aliases(tree))
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found: list[Use] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Load):
            module, _, name = _dotted(node, aliases).rpartition(".")
            if _is_module(module) and f"{module}.{name}" not in provided_names():
                call = calls.get(id(node))
                keywords = tuple(each.arg for each in call.keywords if each.arg) if call else ()
                found.append(Use(node.lineno, module, name, keywords))
    return sorted(found, key=lambda use: use.line)


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                if first in OURS:
                    yield (alias.asname, alias.name) if alias.asname else (first, first)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                if (node.module or "").partition(".")[0] in OURS:
                    yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return aliases.get(node.id, "")
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value, aliases)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def _is_module(name: str) -> bool:
    known = provided_names()
    private = name.startswith(("neuronxcc.nki.kernels.", "neuronxcc.nki._private_kernels."))
    return name in known or private
