"""`--check`: the NumPy function of the user's that a kernel's values are compared with."""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path
from typing import Any

from trnbench.errors import UsageError


def find(ref: str, kernel_ref: str) -> Any:
    """The function that `ref` names: `name` in the kernel's own file, FILE.py::name or module:name."""
    from trnbench_emulator.nki import load_kernel

    if ":" not in ref:
        home, double, _ = kernel_ref.partition("::")
        ref = f"{home}::{ref}" if double else f"{kernel_ref.partition(':')[0]}:{ref}"
    if "::" in ref:
        function, _, _ = load_kernel(ref, kind="function")
        return getattr(function, "function", function)
    module, _, name = ref.partition(":")
    if module == kernel_ref.partition(":")[0]:  # it imports nki, as the kernel does
        function, _, _ = load_kernel(ref, nki="trnbench", kind="function")
        return getattr(function, "function", function)
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        raise UsageError(
            f"--check {ref}: {module} cannot be imported",
            cause=f"{type(error).__name__}: {error}",
            try_="--check FILE.py::function, or a function of the kernel's own file by its name",
        ) from error
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(Path.cwd()))
    if not callable(function):
        raise UsageError(f"--check {ref}: {module} has no function {name!r}")
    return function
