"""Where candidates are answered: registry, systems and costs, loaded once."""

from __future__ import annotations

import hashlib
import inspect
import linecache
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench.errors import UsageError
from trnbench.facts.fact import PeakPolicy
from trnbench.run.expectation import Expectations, expectations
from trnbench_emulator.commands.nki import arguments as given
from trnbench_emulator.commands.nki.arguments import Argument, system_of
from trnbench_emulator.commands.nki.check import compared, find, rows
from trnbench_emulator.commands.nki.kernel import Loaded, compute, guarded, load
from trnbench_emulator.commands.session.answer import Answer, Problem
from trnbench_emulator.commands.session.candidate import Candidate
from trnbench_emulator.commands.threads import one_thread
from trnbench_emulator.compiler import assumptions
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.kernel_run.emulation import emulate, parse_grid
from trnbench_emulator.kernel_run.evidence import beside_kernel
from trnbench_emulator.nki import agreement, provide
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.load import load_text
from trnbench_emulator.nki.recorder import DEFAULT_LIMIT

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry


SOURCES = 64
"""Programs that a trusted session keeps loaded, those asked for last."""

WARM_UP = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(a, b):
    out = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.shared_hbm)
    sums = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    left = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)
    right = nl.ndarray((128, 512), dtype=b.dtype, buffer=nl.sbuf)
    for part in nl.affine_range(2):
        nisa.dma_copy(dst=left, src=a[part * 128 : part * 128 + 128, 0:128])
        nisa.dma_copy(dst=right, src=b[part * 128 : part * 128 + 128, 0:512])
        nisa.nc_matmul(dst=sums, stationary=left, moving=right)
    nisa.tensor_copy(dst=right, src=sums)
    nisa.dma_copy(dst=out, src=right)
    return out


def reference(a, b):
    return a.T @ b
"""
SAMPLE = Candidate(
    source=WARM_UP,
    function="product",
    arguments={"a": "256x128:bf16", "b": "256x512:bf16"},
    reference="reference",
    explain=True,
)
"""A first candidate loads what all others need."""


class Bench:
    """Answers candidates in this process, one after the other."""

    def __init__(self, registry: Registry, instance: str, memory: int, facts: tuple[Path, ...]) -> None:
        self.registry, self.instance, self.memory, self.facts = registry, instance, memory, facts
        self._systems: dict[str, tuple[System, KernelModel, Expectations]] = {}
        self._sources: dict[tuple[str, str, str], tuple[Loaded, ModuleType | None]] = {}
        self._of(instance)

    def answer(self, candidate: Candidate, arguments: Mapping[str, Argument], seconds: float = 0.0) -> Answer:
        """Whatever the candidate does, but for an interruption from outside."""
        try:
            with provide("trnbench"):  # once, and not for each step
                answer = self._answered(candidate, arguments, seconds)
        except Exception as error:
            answer = Answer.refused(Problem.of(error))
        return replace(answer, id=candidate.id)

    def forget(self, kept: int = 0) -> None:
        """Programs that are loaded, but for the last `kept`."""
        while len(self._sources) > kept:
            digest, file, _ = oldest = next(iter(self._sources))
            del self._sources[oldest]
            linecache.cache.pop(_file(digest, file), None)

    def _answered(self, candidate: Candidate, arguments: Mapping[str, Argument], seconds: float) -> Answer:
        system, model, near = self._of(candidate.instance or self.instance)
        asked = arguments
        switches = assumptions(candidate.assume)
        sizes = parse_grid(candidate.grid) if candidate.grid else ()
        loaded, module = self._loaded(candidate, seconds)
        arrays: dict[str, Any] | None = None
        if candidate.inputs:
            arrays = self._inputs(candidate, loaded, module, seconds)
            asked = {name: _argument(name, value) for name, value in arrays.items()}
        asked = given.fit(loaded.function, asked, loaded.name)
        loaded = loaded.as_grid(sizes)
        outputs: tuple[dict[str, Any], ...] = ()
        right = True
        if candidate.reference or candidate.values:
            arrays = given.values(asked, candidate.seed) if arrays is None else arrays
            with one_thread():
                outputs, right = self._values(candidate, loaded, module, asked, arrays, system, seconds)
        specs = given.specs(asked)
        with guarded(loaded.ref, timeout_s=seconds):
            run, _ = emulate(
                loaded.kernel,
                specs,
                system,
                cores=candidate.cores,
                by=loaded.by,
                policy=PeakPolicy.SEED,
                assumptions=switches,
                compare=False,
                explain=candidate.explain,
                model=KernelModel(like=model),
            )
        run = beside_kernel(run, near, self.registry, loaded.name, specs, system)
        return Answer.of(run, outputs, right=right)

    def _of(self, instance: str) -> tuple[System, KernelModel, Expectations]:
        if instance not in self._systems:
            system = system_of(self.registry, instance, self.facts)
            near = expectations(self.registry, {system.name: system})
            self._systems[instance] = system, KernelModel(), near
        return self._systems[instance]

    def _loaded(self, candidate: Candidate, seconds: float) -> tuple[Loaded, ModuleType | None]:
        """The kernel, and the module of a text."""
        text = candidate.text()
        digest = hashlib.sha256(text).hexdigest()
        key = digest, candidate.path or candidate.file, candidate.function
        known = self._sources.pop(key, None)
        self._sources[key] = known = known or self._read(candidate, digest, seconds)
        self.forget(SOURCES)
        return known

    def _read(self, candidate: Candidate, digest: str, seconds: float) -> tuple[Loaded, ModuleType | None]:
        if candidate.path:
            return load(f"{candidate.path}::{candidate.function}", "trnbench", seconds), None
        file = _file(digest, candidate.file)
        ref = f"{candidate.file}::{candidate.function}"
        with guarded(candidate.file, timeout_s=seconds):
            kernel, module, by = load_text(candidate.source, file, candidate.function)
        return Loaded(ref, kernel, str(by)), module

    def _function(
        self, ref: str, loaded: Loaded, module: ModuleType | None, seconds: float
    ) -> Callable[..., Any]:
        """What `ref` names: a bare name in the candidate's own program. Raises `UsageError`."""
        with guarded(loaded.ref, timeout_s=seconds):
            function = find(ref, loaded.ref) if module is None or ":" in ref else vars(module).get(ref)
        function = getattr(function, "function", function)
        if not callable(function):
            raise UsageError(
                f"{ref!r} is no function of the candidate's text",
                cause="a bare name is looked up in the text itself",
                try_="FILE.py::FUNCTION, or package.module:FUNCTION",
            )
        return function  # type: ignore[no-any-return]

    def _inputs(
        self, candidate: Candidate, loaded: Loaded, module: ModuleType | None, seconds: float
    ) -> dict[str, Any]:
        """What the function of `inputs` returns, by the kernel's parameters."""
        function = self._function(candidate.inputs, loaded, module, seconds)
        with guarded(loaded.ref, timeout_s=seconds):
            try:
                results = function()
            except Exception as error:
                raise UsageError(
                    f"{candidate.inputs} failed: {type(error).__name__}: {error}",
                    cause="it is called without arguments, and returns those of the kernel",
                ) from None
        names = list(inspect.signature(loaded.function).parameters)
        if not isinstance(results, list | tuple) or len(results) > len(names):
            raise UsageError(
                f"{candidate.inputs} gives no arguments of {loaded.name}",
                cause=f"it returns a list of them, in the order ({', '.join(names)})",
            )
        return dict(zip(names, results, strict=False))

    def _values(
        self,
        candidate: Candidate,
        loaded: Loaded,
        module: ModuleType | None,
        asked: Mapping[str, Argument],
        inputs: Mapping[str, Any],
        system: System,
        seconds: float,
    ) -> tuple[tuple[dict[str, Any], ...], bool]:
        """A row of each output, and whether all are as the reference's."""
        reference = candidate.reference
        function = self._function(reference, loaded, module, seconds) if reference else None
        limits = {"limit": DEFAULT_LIMIT, "timeout_s": seconds, "memory": self.memory}
        trace = compute(loaded, system, inputs, **limits)  # type: ignore[arg-type]
        agreements: tuple[agreement.Agreement, ...] = ()
        if function is not None:
            with guarded(loaded.ref, timeout_s=seconds):
                wanted = agreement.call(function, reference, inputs)
            if candidate.inputs:
                wanted = tuple(
                    each.reshape(got.shape) if each.size == got.size else each
                    for each, got in zip(wanted, trace.outputs, strict=False)
                )
            agreements = compared(trace, wanted, asked, candidate.tolerance)
        return tuple(rows(trace, agreements)), all(each.ok for each in agreements)


def _argument(name: str, value: Any) -> Argument:
    """Of an array or a plain value."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return Argument(name, tuple(value.shape) or (1,), dtype_of(value.dtype).name)
    return Argument(name, value=value)


def _file(digest: str, name: str) -> str:
    """What the lines of a text are known by: no such file is there."""
    return f"/candidate/{digest[:16]}/{Path(name).name}"
