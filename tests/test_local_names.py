"""A local name that lives for more than five lines says what it holds.

`each`, `found`, `made` and `at` are for values used up at once. Sources of kernels are as NKI has it,
and a comprehension is one expression, however long.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHORT_LIVED = {"each", "found", "made", "at"}
LINES = 5
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class LongLived(ast.NodeVisitor):
    """`wrong`: names of a module's functions read more than five lines below where they were last bound."""

    def __init__(self) -> None:
        self.wrong: list[tuple[str, int]] = []
        self._bound: list[dict[str, int]] = [{}]  # by scope, the innermost last

    def visit_arg(self, node: ast.arg) -> None:
        self._bound[-1][node.arg] = sys.maxsize  # named in the signature

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for child in node.body:
            if isinstance(child, ast.FunctionDef):
                self.visit(child)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._bound.append({})
        self.generic_visit(node)
        self._bound.pop()

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, COMPREHENSIONS):
            super().generic_visit(node)
            return
        targets = [name for part in node.generators for name in ast.walk(part.target)]
        self._bound.append({name.id: sys.maxsize for name in targets if isinstance(name, ast.Name)})
        super().generic_visit(node)
        self._bound.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id not in SHORT_LIVED:
            return
        if isinstance(node.ctx, ast.Store):
            if self._bound[-1].get(node.id) != sys.maxsize:
                self._bound[-1][node.id] = node.lineno
            return
        bound = next((names[node.id] for names in reversed(self._bound) if node.id in names), node.lineno)
        if node.lineno - bound > LINES:
            self.wrong.append((node.id, node.lineno))


def long_lived(text: str) -> list[tuple[str, int]]:
    visitor = LongLived()
    visitor.visit(ast.parse(text))
    return visitor.wrong


@pytest.mark.parametrize("folder", ["harness", "plugins", "reports"])
def test_a_name_that_stays_says_what_it_holds(folder: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.parent.name != "nki" or path.parent.parent.name == "trnbench"  # not sources of kernels
        for name, line in long_lived(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


def test_it_would_be_found() -> None:
    late = "def f(x):\n    found = x\n" + "    x += 1\n" * LINES + "    return found\n"
    assert long_lived(late) == [("found", LINES + 3)]
    assert long_lived(late.replace("    x += 1\n", "", 1)) == []
