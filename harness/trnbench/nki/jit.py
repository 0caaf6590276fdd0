"""nki.jit: marks a function as a kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from trnbench.errors import KernelError
from trnbench.nki import site
from trnbench.nki.recorder import STATE


class Kernel:
    """A decorated kernel. Called from within another kernel it is inlined; it runs through `record`."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.options = options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if STATE.recorder is None:
            raise KernelError(
                f"kernel {self.function.__name__!r} was called outside a run ({site.here()})",
                cause="which machine it should be emulated on is not known",
                try_="trnbench.nki.record(kernel, args, machine=…)",
            )
        return self.function(*args, **kwargs)

    def __getitem__(self, grid: Any) -> Kernel:
        sizes = grid if isinstance(grid, tuple) else (grid,)
        if all(each == 1 for each in sizes):
            return self
        raise KernelError(
            f"kernel {self.function.__name__!r}: grid {list(sizes)} is not emulated ({site.here()})",
            cause="one program runs on one core",
            try_="launch it with [1], or without a grid",
        )


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`@nki.jit` or `@nki.jit(mode=…)`. Options concern the compiler and are kept, not used."""
    if function is None:
        return lambda each: Kernel(each, options)
    return Kernel(function, options)
