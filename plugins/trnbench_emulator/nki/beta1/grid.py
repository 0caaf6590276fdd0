"""Launches of Beta 1: the programs of a grid run one after the other on a core.

On several cores where a dimension says so (nl.nc, nl.spmd_dim): values are the same then; with shapes only,
one core is recorded at a time.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from math import prod
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.pending import SLOT, settle
from trnbench_emulator.nki.beta1.resident import compiling
from trnbench_emulator.nki.beta1.root import Root
from trnbench_emulator.nki.beta1.simulation import SIMULATION, simulated
from trnbench_emulator.nki.beta1.spread import Dimension, core_of, cores_of
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.jit import Kernel
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import Recorder
from trnbench_emulator.nki.recorder_state import STATE
from trnbench_emulator.nki.tensor import NkiTensor


class _Launch:
    """The grid under way, the program that runs, and what its programs share."""

    def __init__(self) -> None:
        self.sizes: tuple[int, ...] = ()
        self.at: tuple[int, ...] = ()
        self.asked = False  # for the number of a program: only then are they unlike each other
        self._shared: list[Root] = []
        self._next = 0

    def programs(self, sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every program in turn; nested launches leave the outer one as it was."""
        before = (self.sizes, self.at, self._shared, self._next)
        self.sizes, self._shared = sizes, []
        try:
            for self.at in itertools.product(*(range(size) for size in sizes)):
                self._next = 0
                yield self.at
        finally:
            self.sizes, self.at, self._shared, self._next = before

    def shared(self, make: Callable[[], Root], where: Buffer) -> Root:
        """The n-th tensor in shared HBM is one and the same for all programs of a launch."""
        if where is Buffer.PRIVATE_HBM or not self.sizes:
            return make()
        if self._next == len(self._shared):
            self._shared.append(make())
        found = self._shared[self._next]
        self._next += 1
        return found


LAUNCH = _Launch()


def program_id(axis: int = 0) -> int:
    """Index of this program along a dimension of the grid."""
    LAUNCH.asked = True
    return _along("program_id", LAUNCH.at, axis)


def num_programs(axes: Any = None) -> Any:
    """Programs along a dimension of the grid; of all of them where none is named."""
    if axes is None:
        return functools.reduce(lambda a, b: a * b, LAUNCH.sizes, 1)
    if isinstance(axes, (tuple, list)):
        return tuple(_along("num_programs", LAUNCH.sizes, each) for each in axes)
    return _along("num_programs", LAUNCH.sizes, axes)


def program_ndim() -> int:
    return len(LAUNCH.sizes)


def _along(call: str, values: tuple[int, ...], axis: int) -> int:
    if not 0 <= int(axis) < len(values):
        raise KernelError(
            f"nl.{call}({axis}): the grid has {len(values)} dimensions ({site.here()})",
            try_="launch the kernel with kernel[sizes](…)",
        )
    return values[int(axis)]


class Beta1Kernel(Kernel):
    """A kernel of Beta 1. Tensors in HBM become tiles at its door, and tensors again behind it."""

    def __init__(
        self, function: Callable[..., Any], options: dict[str, Any], sizes: tuple[int, ...] = ()
    ) -> None:
        @functools.wraps(function)
        def launched(*args: Any, **kwargs: Any) -> Any:
            return _launched(function, sizes, args, kwargs)

        super().__init__(launched, options)
        self.cores = cores_of(sizes)
        self.plain = function
        self.sizes = sizes

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if STATE.recorder is None and SIMULATION.machine is not None:
            return simulated(self, args, kwargs)
        return super().__call__(*args, **kwargs)

    def __getitem__(self, grid: Any) -> Kernel:
        given = grid if isinstance(grid, tuple) else (grid,)
        try:
            sizes = tuple(each if isinstance(each, Dimension) else int(each) for each in given)
        except (TypeError, ValueError):
            sizes = ()
        if not sizes or min(sizes) < 1:
            raise KernelError(
                f"kernel {self.plain.__name__!r}: {grid!r} is no grid ({site.here()})",
                try_="kernel[batch, heads](…)",
            )
        return Beta1Kernel(self.plain, self.options, sizes)


def _only_core(sizes: tuple[int, ...]) -> int | None:
    """The core whose programs alone are recorded, None for all of them."""
    recorder: Recorder | None = STATE.recorder
    apart = recorder is not None and not recorder.functional and cores_of(sizes) > 1
    return recorder.program if recorder is not None and apart else None


def _launched(function: Callable[..., Any], sizes: tuple[int, ...], args: Any, kwargs: Any) -> Any:
    inside = any(isinstance(each, Tile) for each in (*args, *kwargs.values()))
    if inside and not sizes:
        return function(*args, **kwargs)
    SLOT.held = None
    given = [_tile(each) for each in args]
    named = {name: _tile(each) for name, each in kwargs.items()}
    tiles = [each for each in (*given, *named.values()) if isinstance(each, Tile)]
    result: Any = None
    core = _only_core(sizes)
    recorder: Recorder | None = STATE.recorder  # None where NumPy asks a kernel for its values
    with nullcontext() if inside or recorder is None else compiling(recorder):
        for at in LAUNCH.programs(sizes):
            if core is not None and core_of(sizes, at) != core:
                continue
            LAUNCH.asked = False
            result = function(*given, **named)
            settle()
            alike = not LAUNCH.asked and prod(sizes) > 1 and not any(each.root.written for each in tiles)
            if alike and (recorder is None or recorder.assumes("equal-programs")):
                break  # the others do the very same; the compiler keeps one of equal stores
    if inside:
        return result
    if result is None:  # an old kernel writes to the tensors it is given
        places: list[tuple[int | str, Any]] = [*enumerate(given), *named.items()]
        written = {key: each for key, each in places if isinstance(each, Tile) and each.root.written}
        SIMULATION.written = list(written)
        result = tuple(written.values())
    return _tensors(result)


def _tile(value: Any) -> Any:
    if isinstance(value, NkiTensor):
        return Tile.of(Root.holding(value))
    if isinstance(value, (tuple, list)):
        return type(value)(_tile(each) for each in value)
    return value


def _tensors(value: Any) -> Any:
    if isinstance(value, Tile):
        return value.operand()
    if isinstance(value, (tuple, list)):
        return tuple(_tensors(each) for each in value)
    return value


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`@nki.jit`, `@nki.baremetal`, `@nki.benchmark(…)`, `@nki.profile(…)`, `@nki.trace`: mark a kernel.

    Options concern compiling and measuring on a device and are kept, not used.
    """
    if function is None:
        return lambda each: jit(each, **options)
    if isinstance(function, Beta1Kernel):
        return function
    return Beta1Kernel(function, options)
