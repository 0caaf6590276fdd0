"""Cost formulas: arithmetic on names, nothing else. "max(MIN_II, N / 4)"."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import CodeType
from typing import Any

from trnbench.bounded.kinds import COST
from trnbench.errors import FactError
from trnbench.quoting import quoted

LONGEST = 400
"""Characters of a formula: the longest of ours has 93."""

_CALLS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "ceil": math.ceil}
_NODES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Load, ast.Constant,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.USub, ast.UAdd,
)  # fmt: skip


@lru_cache(maxsize=1024)
def _compiled(text: str) -> CodeType:
    if len(text) > LONGEST:
        raise _error(text, f"it has {len(text):,} characters, a formula has up to {LONGEST}")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # brackets or digits beyond all measure
        raise _error(text, "it is no arithmetic") from None
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise _error(text, f"{type(node).__name__} is not allowed")
        if isinstance(node, ast.Constant) and not isinstance(node.value, (int, float)):
            raise _error(text, f"{node.value!r} is no number")
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _CALLS):
            raise _error(text, f"only {', '.join(_CALLS)} can be called")
    return compile(tree, "<cost formula>", "eval")


def evaluate(text: str, names: Mapping[str, Any]) -> float:
    """The value of `text` with `names`. Raises `FactError` for anything but arithmetic on known names."""
    code = _compiled(text)
    try:
        value = float(eval(code, {"__builtins__": {}}, {**_CALLS, **names}))  # checked node by node above
    except NameError as error:
        known = ", ".join(sorted(str(name) for name in names))
        raise _error(text, f"{error}; known here: {known}") from None
    except (ZeroDivisionError, TypeError, OverflowError, ValueError) as error:  # ValueError: ceil(nan)
        raise _error(text, str(error)) from None
    if not COST.fits(value):
        raise _error(text, f"it gives {value:g}; a cost is {COST.range}")
    return value


def _error(text: str, cause: str) -> FactError:
    return FactError(
        f"cost formula {quoted(text, 120)} cannot be evaluated",
        cause=cause,
        try_="numbers, variables, + - * / and brackets, min, max, ceil",
    )
