"""Compiles an NKI kernel with the real `nki` and leaves kernel.neff in NKI_ARTIFACTS_DIR.

The variables that `nki` reads when it is imported are set by whoever starts this.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import inspect
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from reply import arrays, keep_all, serve


def load(module: str, file: str, function: str) -> Any:
    """The kernel, its packages standing for folders: their own __init__ may need what is not here."""
    names = module.split(".")[:-1]
    folder = Path(file).parent
    for depth in range(len(names), 0, -1):
        name = ".".join(names[:depth])
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules.setdefault(name, package)
        folder = folder.parent
    return getattr(importlib.import_module(module), function)


def compiled(
    module: str,
    file: str,
    function: str,
    lnc: int,
    inputs: list[dict[str, Any]],
    folder: str,
    plain: list[Any],
) -> dict[str, Any]:
    artifacts = os.environ["NKI_ARTIFACTS_DIR"]
    began = time.monotonic()
    import nki

    if getattr(nki, "__name__", "") != "nki" or not getattr(nki, "jit", None):
        raise ImportError("what is installed as nki has no jit")
    kernel = load(module, file, function)
    operands = arrays(inputs)
    problem, outputs = "", []
    try:
        outputs = keep_all(kernel[lnc](*operands, *plain), f"{folder}/compiled_output")
    except Exception as error:
        # The NEFF is kept although the execution fails (nrtpy tutorial "debug a NEFF").
        problem = f"{type(error).__name__}: {error}"
    neffs = sorted(str(path) for path in Path(artifacts).rglob("*.neff"))
    unwrapped = inspect.unwrap(getattr(kernel, "func", kernel))
    try:
        names = list(inspect.signature(unwrapped).parameters)
    except (TypeError, ValueError):
        names = []
    return {
        "neffs": neffs,
        "problem": problem,
        "outputs": outputs,
        "arguments": names,
        "seconds": time.monotonic() - began,
    }


if __name__ == "__main__":
    serve({"compile": compiled})
