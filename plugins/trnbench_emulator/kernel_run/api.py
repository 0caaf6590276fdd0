"""One kernel of a user's, emulated: `trnbench.emulate_kernel`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trnbench.errors import UsageError
from trnbench.facts.fact import PeakPolicy, as_policy
from trnbench.generation import System
from trnbench.registry import Registry, load_registry
from trnbench.run.expectation import expectations
from trnbench_emulator.compiler import assumptions
from trnbench_emulator.kernel_run.emulation import emulate, launched, loaded
from trnbench_emulator.kernel_run.evidence import beside_kernel
from trnbench_emulator.kernel_run.result import KernelRun

CORES = ("core", "logical-core", "device", "instance")
"""How many run the kernel at once, each with a problem of its own."""


def emulate_kernel(
    kernel: Any,
    args: Mapping[str, Any],
    *,
    instance: str | System,
    cores: str = "core",
    grid: int | Sequence[int] = (),
    nki: str = "auto",
    policy: PeakPolicy | str = PeakPolicy.SEED,
    limit: int | None = None,
    assume: str | Iterable[str] = (),
    compare: bool = True,
    registry: Registry | None = None,
) -> KernelRun:
    """Emulate an NKI kernel and say what it reaches of each peak, and what limits it.

    `kernel` is a function (decorated with `nki.jit` or not), "FILE.py::name" or "package.module:name".
    `args` by name: NumPy arrays and `trnbench.nki.TensorSpec`s, of which only the shapes count, and
    plain values. `instance` is a name or a `System`. `cores` is "core", "logical-core", "device" or
    "instance": all cores of it at once, each with the whole problem. `grid` launches it as several programs
    that share the problem, each on a core: 2, or as many as a device has; of Beta 1 the sizes of its grid.
    `cores` is then full of such launches, "core" one alone. `nki` says what `import nki` means in a file:
    "auto" is the real package where it is installed, which cannot be emulated; "trnbench" is ours.
    `assume`: what the compiler is not taken to do, "no-hoisting" or several such names
    (`trnbench_emulator.compiler.SWITCHES`). With `compare`, each of its decisions that the kernel meets is
    timed the other way as well, where that is a matter of seconds.

    Raises `KernelError` for what the kernel does wrong, with its file and line; `UsageError` and
    `UnknownName` for arguments that name nothing.
    """
    if cores not in CORES:
        raise UsageError(f"cores={cores!r} is unknown", cause=f"it is one of {', '.join(CORES)}")
    registry = registry or load_registry()
    system = instance if isinstance(instance, System) else registry.system(instance)
    function, by = loaded(kernel, nki)
    if not isinstance(args, Mapping):
        names = list(inspect.signature(function).parameters)[: len(args)]
        raise UsageError(
            f"args is a {type(args).__name__}",
            cause="arguments are given by name",
            try_=f"emulate_kernel(…, {{{', '.join(f'{name!r}: …' for name in names)}}}, …)",
        )
    if grid:
        function = launched(function, grid if isinstance(grid, Sequence) else (grid,))
    run, _ = emulate(
        function,
        args,
        system,
        cores=cores,
        by=by,
        policy=as_policy(policy),
        limit=limit,
        assumptions=assumptions(assume),
        compare=compare,
    )
    expected = expectations(registry, {system.name: system})
    return beside_kernel(run, expected, registry, kernel, args, system)
