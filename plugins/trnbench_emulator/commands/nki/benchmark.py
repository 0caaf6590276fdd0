"""A benchmark by its name instead of FILE.py::KERNEL: its source, and its arguments from a point."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.errors import UnknownName, UsageError
from trnbench.kernels.work import Spread
from trnbench.run.axes import parse_sweep
from trnbench.run.points import Points
from trnbench.run.points import point_of as axis_point
from trnbench_emulator import nki_sources
from trnbench_emulator.commands.nki import arguments as given
from trnbench_emulator.commands.nki.arguments import Argument
from trnbench_emulator.commands.nki.kernel import Loaded, load
from trnbench_emulator.nki import load_kernel
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.source import Sources

if TYPE_CHECKING:
    from trnbench.case_key import Value
    from trnbench.kernels.kernel import Kernel
    from trnbench.registry import Registry


SHARED = (2,)
"""Programs of a benchmark whose cores share one problem, unless --grid says otherwise."""

REFERENCE = "reference"
"""`--check reference`: what NumPy makes of the same arguments."""


def named(registry: Registry, ref: str) -> Kernel | None:
    """The benchmark called `ref`; None for what names a file or a module.

    Raises `UnknownName` for another bare word, `UsageError` for a benchmark that is no NKI kernel.
    """
    if ":" in ref or "/" in ref or ref.endswith(".py") or Path(ref).exists():
        return None
    with_source = [name for name, each in registry.kernels.items() if nki_sources(each)]
    kernel = registry.kernels.get(ref)
    if kernel is None:
        raise UnknownName("benchmark", ref, with_source, try_="a benchmark's name, or FILE.py::FUNCTION")
    if not nki_sources(kernel):
        raise UsageError(
            f"benchmark {ref} has no NKI source",
            cause="it is carried out in another way: " + ", ".join(kernel.implementations),
            try_=f"trnbench run {ref}",
        )
    return kernel


def point_of(kernel: Kernel, texts: Sequence[str]) -> dict[str, Value]:
    """A value for every axis: those of `--arg AXIS=VALUE`, the first of the default sweep for the others.

    Raises `UsageError` and `UnknownName` for what is no point of it.
    """
    sweeps = [parse_sweep(text) for text in texts]
    for text, sweep in zip(texts, sweeps, strict=True):
        axis = kernel.axis(sweep.axis)
        if axis is None:
            names = [axis.name for axis in kernel.axes]
            raise UnknownName(f"axis of {kernel.name}", sweep.axis, names, try_="--arg AXIS=VALUE")
        if [each.axis for each in sweeps].count(sweep.axis) > 1:
            raise UsageError(f"--arg {sweep.axis} is given twice", try_="keep one of them")
        try:
            typed = sweep.values(axis)
        except UsageError as error:  # an axis is typed otherwise here
            raise UsageError(
                error.what, cause=error.cause, try_=error.try_.replace("-a ", "--arg ")
            ) from None
        if len(typed) != 1:
            raise UsageError(
                f"--arg {text} gives {len(typed)} values",
                cause="one point is run at a time",
                try_=f"--arg {sweep.axis}={typed[0]}   (trnbench run sweeps)",
            )
    values, _ = Points(sweeps=tuple(sweeps)).values(kernel, wide=False)
    point = axis_point(kernel, {name: options[0] for name, options in values.items()})
    why = kernel.valid(point)
    if why:
        raise UsageError(f"{kernel.name} has no such point: {_shown(point)}", cause=why)
    return point


def prepare(kernel: Kernel, texts: Sequence[str]) -> tuple[Loaded, dict[str, Argument]]:
    """Its NKI kernel, and the arguments of the point.

    Raises `UsageError` and `UnknownName`, among them where no source takes the point, and `KernelError`.
    """
    point = point_of(kernel, texts)
    source = Sources().taking(nki_sources(kernel), point)
    if source is None:
        says = " and ".join("{2}_inputs of {0}".format(*each.partition(":")) for each in nki_sources(kernel))
        raise UsageError(
            f"the NKI source of {kernel.name} does not take {_shown(point)}",
            cause=f"which points are taken is said by {says}",
            try_=f"trnbench run {kernel.name}   estimates it from its FLOP and bytes",
        )
    loaded = Loaded(source.ref, source.kernel, str(source.by), kernel, point).as_grid(
        SHARED if kernel.spread is Spread.SHARED else ()
    )
    names = inspect.signature(loaded.function).parameters
    arguments = {
        name: Argument(name, tuple(each[0]), dtype_of(each[1]).name)
        if isinstance(each, tuple)
        else Argument(name, value=each)
        for name, each in zip(names, source.inputs, strict=True)
    }
    return loaded, arguments


def loaded_with(
    registry: Registry,
    ref: str,
    texts: Sequence[str],
    reference: str | None,
    nki: str,
    systems: Callable[[], object],
    timeout_s: float,
) -> tuple[Loaded, dict[str, Argument], str | None]:
    """The kernel, its arguments and the function it is checked against, be it a file's or a benchmark's.

    `systems` is called before a file is loaded: what is wrong with them is said first.
    """
    kernel = named(registry, ref)
    if kernel is None:
        asked = given.gather(texts)
        systems()
        loaded = load(ref, nki, timeout_s)
        return loaded, given.fit(loaded.function, asked, loaded.name), reference
    systems()
    loaded, asked = prepare(kernel, texts)
    return loaded, asked, reference_of(kernel, loaded.ref) if reference == REFERENCE else reference


def reference_of(kernel: Kernel, ref: str) -> str:
    """The function that `--check reference` means for the source `ref`. Raises `UsageError`."""
    _, module, _ = load_kernel(ref, nki="trnbench")
    home, _, name = ref.rpartition(":")
    declared = getattr(module, f"{name}_reference", None)
    if declared is None:
        raise UsageError(
            f"--check reference: {kernel.name} has no NumPy reference",
            cause=f"{home} has no {name}_reference beside the kernel",
            try_="--check FILE.py::FUNCTION",
        )
    return declared if isinstance(declared, str) else f"{home}:{name}_reference"


def _shown(point: dict[str, Value]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
