"""The NKI source of a benchmark for one point: which of its kernels takes it, with which arguments.

Beside a kernel `fn` its module has `fn_inputs(point)`, the arguments: ((size, …), dtype) for a tensor, other
values as they are. None declares that this source does not take the point; it is the only way to say so, and
whatever else goes wrong is an error of the source. It may have `fn_pieces(inputs)`: ((inputs, times), …), the
independent pieces of the problem, each with how often it occurs; and `fn_reference`, a NumPy function that
takes what the kernel takes and gives what it gives, or "package.module:name" of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from reprlib import repr as shortened
from types import ModuleType
from typing import Any, TypeAlias

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench.reference import resolve
from trnbench_emulator.nki import site
from trnbench_emulator.nki.load import load_kernel
from trnbench_emulator.nki.provide import Provided

Inputs: TypeAlias = tuple[Any, ...]


class Source(Record):
    """One kernel with its arguments for one point. `by`: the nki it imports."""

    ref: str
    kernel: Any
    module: ModuleType
    by: Provided
    inputs: Inputs

    @property
    def name(self) -> str:
        return self.ref.rpartition(":")[2]

    @property
    def place(self) -> str:
        """`gemm.py:31`: where the kernel is defined."""
        return place_of(self.module, self.name)

    def pieces(self) -> tuple[tuple[Inputs, int], ...]:
        """What `fn_pieces` gives, the whole problem once where there is none. Raises `KernelError`."""
        name = f"{self.name}_pieces"
        cut = getattr(self.module, name, None)
        if cut is None:
            return ((self.inputs, 1),)
        cuts = _carried_out(name, cut, self.inputs, self.module)
        if not (isinstance(cuts, tuple) and cuts and all(map(_piece, cuts))):
            raise KernelError(
                f"{name} gives {shortened(cuts)} ({place_of(self.module, name)})",
                cause="it is a tuple of pieces, each with how often it occurs",
                try_=f"def {name}(inputs): return ((inputs, times), …)",
            )
        return cuts

    def reference(self) -> Any:
        """The function that `fn_reference` is or names; None where there is none.

        Raises `PluginError` for a name that cannot be resolved.
        """
        return resolve(getattr(self.module, f"{self.name}_reference", None))


class Sources:
    """Loads each kernel once."""

    def __init__(self) -> None:
        self._loaded: dict[str, tuple[Any, ModuleType, Provided]] = {}

    def taking(self, refs: Iterable[str], point: Mapping[str, Any]) -> Source | None:
        """The first of `refs` that takes `point`; None where every one declares that it does not.

        Raises `KernelError`, `MissingFile` and `UnknownName` for a source that cannot be loaded or asked.
        """
        for ref in refs:
            if ref not in self._loaded:
                self._loaded[ref] = load_kernel(ref, nki="trnbench")
            kernel, module, by = self._loaded[ref]
            inputs = inputs_of(module, ref, point)
            if inputs is not None:
                return Source(ref, kernel, module, by, inputs)
        return None


def inputs_of(module: ModuleType, ref: str, point: Mapping[str, Any]) -> Inputs | None:
    """What `fn_inputs` of the kernel `ref` gives for `point`; None where it declares not to take it.

    Raises `KernelError` where there is no such function, it fails, or it gives something else.
    """
    kernel = ref.rpartition(":")[2]
    name = f"{kernel}_inputs"
    describe = getattr(module, name, None)
    if describe is None:
        raise KernelError(
            f"{ref} cannot be given arguments: its module has no {name} ({place_of(module, kernel)})",
            cause="the shapes of a kernel's arguments follow from a case's point",
            try_=f"def {name}(point): return ((shape, dtype), …), or None where it does not take the point",
        )
    described = _carried_out(name, describe, dict(point), module)
    if described is None:
        return None
    if not (isinstance(described, tuple) and all(map(_argument, described))):
        raise KernelError(
            f"{name} gives {shortened(described)} ({place_of(module, name)})",
            cause="it is a tuple with ((size, …), dtype) for a tensor and other values as they are",
            try_=f"def {name}(point): return ((shape, dtype), …), or None where it does not take the point",
        )
    return described


def place_of(module: ModuleType, name: str) -> str:
    """`gemm.py:31`: the line of `name` in its file; the file alone where that is not known."""
    function = getattr(module, name, None)
    code = getattr(getattr(function, "function", function), "__code__", None)
    if code is not None:
        return site.told((code.co_filename, code.co_firstlineno))
    return Path(module.__file__ or module.__name__).name


def _carried_out(name: str, function: Any, given: Any, module: ModuleType) -> Any:
    try:
        return function(given)
    except KernelError:
        raise
    except Exception as error:
        trace = error.__traceback__
        source_line = (
            site.of_error(trace, module.__file__ or "") or site.of_error(trace) or place_of(module, name)
        )
        raise KernelError(f"{name} failed: {type(error).__name__}: {error} ({source_line})") from error


def _argument(given: Any) -> bool:
    if not isinstance(given, tuple):
        return not isinstance(given, list | dict | set)
    return len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], str)


def _piece(given: Any) -> bool:
    if not (isinstance(given, tuple) and len(given) == 2):
        return False
    inputs, times = given
    return isinstance(inputs, tuple) and all(map(_argument, inputs)) and isinstance(times, int) and times > 0
