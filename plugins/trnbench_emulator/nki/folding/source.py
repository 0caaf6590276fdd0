"""A source file as it was when it was compiled: its loops and functions, found by line."""

from __future__ import annotations

import ast
import linecache
from types import CodeType


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
                lines = [each.lineno for each in node.decorator_list]
                self.functions[min([node.lineno, *lines])] = node
                # Outer functions come first: inner ones have the last word.
                self.around |= {each: node for each in ast.walk(node) if isinstance(each, ast.For)}

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


_SOURCES: dict[str, Source] = {}


def source_of(code: CodeType) -> Source | None:
    """The file that `code` was compiled from, if it is still the same."""
    found = _SOURCES.get(code.co_filename)
    if found is None:
        found = _SOURCES[code.co_filename] = Source(code.co_filename)
    return found if found.holds(code) else None
