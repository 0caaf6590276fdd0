"""Executing a kernel and recording what it does."""

from __future__ import annotations

import gc
import inspect
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import msgspec
import numpy as np

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.compiler import AS_SHIPPED, Assumptions
from trnbench_emulator.nki import isa, language, site
from trnbench_emulator.nki.dtype import Array, Sizes, dtype_of
from trnbench_emulator.nki.instruction import Instruction, Listing, Sink, Tally
from trnbench_emulator.nki.jit import Kernel
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.programs import Programs
from trnbench_emulator.nki.recorder import DEFAULT_LIMIT, Placement, Recorder, recording
from trnbench_emulator.nki.releases import change
from trnbench_emulator.nki.shadow import Finding, Shadow
from trnbench_emulator.nki.tensor import NkiTensor


class TensorSpec(Record):
    """A kernel argument without values. `dtype` as in NKI ("bfloat16") or in documents ("bf16")."""

    shape: Sizes
    dtype: str


class Trace(msgspec.Struct, kw_only=True):
    """What one execution did. `outputs` hold values in functional mode only.

    `instructions` is filled when they were asked for; `tally` always (unless the caller brought
    a sink of its own). Peaks are bytes per partition. Of several `programs`, all give the values,
    and the first one the instructions. `assumed`: what the compiler was taken to do to the kernel, and how
    often that was decided.
    """

    kernel: str
    machine: Machine
    count: int
    tally: Mapping[Op, int]
    instructions: Sequence[Instruction] = ()
    outputs: tuple[Array, ...] = ()
    output_specs: tuple[TensorSpec, ...] = ()
    sbuf_peak_bytes: int = 0
    psum_peak_bytes: int = 0
    programs: int = 1
    asked: bool = False  # for nl.program_id: its programs differ
    assumed: Mapping[str, int] = {}
    findings: tuple[Finding, ...] = ()


def record(
    kernel: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    machine: Machine,
    functional: bool = False,
    keep: bool = False,
    sink: Sink | None = None,
    limit: int = DEFAULT_LIMIT,
    program: int = 0,
    assumptions: Assumptions = AS_SHIPPED,
    placement: Placement | None = None,
    shadow: bool = False,
) -> Trace:
    """Execute `kernel` and record it, as the compiler leaves it under these assumptions.

    `program`: with shapes only, which one of a launch of several is recorded.
    `placement`: engines that the compiler has chosen, of ops that the kernel leaves open.
    `shadow`: follow who writes which bytes, and return what a device would punish as `Trace.findings`.
    Arguments are NumPy arrays, `TensorSpec`s (timing mode), or plain values handed on as they are.
    Raises `KernelError` for whatever the kernel does wrong, with its file and line.
    """
    function = _function(kernel)
    name = getattr(function, "__name__", type(function).__name__)
    tally, listing = Tally(), Listing()
    taker: Sink = sink or (listing if keep else tally)
    grid = kernel.grid if isinstance(kernel, Kernel) else 0
    # Without values nothing depends on the other programs: one of them is recorded.
    together = Programs(grid) if grid > 1 and functional else None
    follower = Shadow(machine, grid if together else 1, functional=functional) if shadow else None
    recorder_of = partial(
        Recorder, machine, functional=functional, limit=limit, kernel=name, programs=together, grid=grid,
        assumptions=assumptions, placement=placement, shadow=follower,
    )  # fmt: skip
    recorders = [recorder_of(taker, program=program if together is None else 0)]
    recorders += [recorder_of(Tally(), program=number) for number in range(1, grid if together else 1)]
    shared: dict[str, Any] = {}

    carry_out = partial(_carry_out, function, args, dict(kwargs or {}), shared)
    recorder = recorders[0]
    if together is None:
        with nullcontext() if functional else uncollected():
            outputs = carry_out(recorder)
    else:
        outputs = together.run([partial(carry_out, program_recorder) for program_recorder in recorders])[0]
    if keep and sink is None:
        tally.counts = Counter(program_recorder.op for program_recorder in listing.instructions)
    findings = () if follower is None else follower.finish(outputs)
    trace = _trace(recorder, tally.counts, listing.instructions, outputs, findings)
    for ended in recorders:
        ended.detach()
    return trace


def _function(kernel: Any) -> Any:
    """What a kernel executes. Raises `KernelError` for what cannot be called."""
    function = kernel.function if isinstance(kernel, Kernel) else kernel
    if callable(function):
        return function
    raise KernelError(
        f"{kernel!r} is no kernel", cause="a kernel is a function, usually decorated with @nki.jit"
    )


def _carry_out(
    function: Any, args: Sequence[Any], kwargs: dict[str, Any], shared: dict[str, Any], recorder: Recorder
) -> tuple[NkiTensor, ...]:
    """The results of one program."""
    with recording(recorder):
        result = _call(recorder, function, args, kwargs, shared)
        outputs = _outputs(recorder.kernel, result)
        recorder.finish()
    return outputs


def _trace(
    recorder: Recorder,
    tally: Mapping[Op, int],
    instructions: Sequence[Instruction],
    outputs: Sequence[NkiTensor],
    findings: tuple[Finding, ...],
) -> Trace:
    return Trace(
        kernel=recorder.kernel,
        machine=recorder.machine,
        count=recorder.count,
        tally=tally,
        instructions=instructions,
        outputs=tuple(output.array.copy() for output in outputs) if recorder.functional else (),
        output_specs=tuple(TensorSpec(output.shape, output.dtype.name) for output in outputs),
        sbuf_peak_bytes=recorder.ledgers[Buffer.SBUF].peak,
        psum_peak_bytes=recorder.ledgers[Buffer.PSUM].peak,
        programs=max(recorder.grid, 1),
        asked=recorder.asked,
        assumed=dict(recorder.assumed),
        findings=findings,
    )


@contextmanager
def uncollected() -> Iterator[None]:
    """Recording makes many objects that stay, and no cycles: looking for some would take most of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _call(
    recorder: Recorder,
    function: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    shared: dict[str, Any],
) -> Any:
    name = recorder.kernel
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise KernelError(
            f"kernel {name!r} cannot be called with these arguments: {error}",
            try_=f"its parameters are {inspect.signature(function)}",
        ) from None
    if not shared:  # all programs of a launch get the same tensors
        shared.update({key: _argument(recorder, key, value) for key, value in bound.arguments.items()})
    bound.arguments = dict(shared)
    source = getattr(getattr(function, "__code__", None), "co_filename", "")
    try:
        return function(*bound.args, **bound.kwargs)
    except KernelError:
        raise
    except MemoryError:
        raise KernelError(
            f"kernel {name!r} needs more memory than this machine has ({_where(source)})",
            try_="use smaller tensors, or record shapes only",
        ) from None
    except ImportError as error:
        raise missing_import(error, f"kernel {name!r}", _where(source)) from None
    except RecursionError:
        raise KernelError(f"kernel {name!r} calls itself without end ({_where(source)})") from None
    except Exception as error:
        cause = try_ = ""
        if isinstance(error, AttributeError) and error.name in ("form", "shape"):
            cause = f"a tensor is needed where {type(error.obj).__name__} was given"
        elif isinstance(error, TypeError) and NkiTensor.__name__ in str(error) and "operand" in str(error):
            cause = "tensors have operators in Beta 1 alone (neuronxcc.nki)"
            try_ = "nl.add(x, y), nl.multiply(x, y), or nisa.tensor_tensor"
        elif isinstance(error, TypeError):
            cause, try_ = _advice(error)
        raise KernelError(
            f"kernel {name!r} failed: {type(error).__name__}: {error} ({_where(source)})",
            cause=cause,
            try_=try_,
        ) from error


_UNKNOWN = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"(\w+)\(\) missing \d+ required positional argument")
_MODULES = {"nki.isa": (isa, "nisa"), "nki.language": (language, "nl")}


def _advice(error: TypeError) -> tuple[str, str]:
    """The likely cause, and what to write, where a call does not fit; "" where it is none of ours."""
    text = str(error)
    found = _UNKNOWN.match(text) or _MISSING.match(text)
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    called = _called(found[1], frames[-1]) if found and frames else None
    if found is None or called is None:
        return "", ""
    module, function = called
    parameters = list(inspect.signature(function).parameters.values())
    needed = [each.name for each in parameters if each.default is each.empty]
    call = f"{_MODULES[module][1]}.{found[1]}"
    if found.re is _MISSING:
        writes = needed[:1] == ["dst"]
        cause = "it writes to dst, its first argument, and returns nothing" if writes else ""
        return cause, f"{call}({', '.join(needed)}, …)"
    told = change(f"{module}.{found[1]}", found[2])
    if told is not None:
        return f"it has no {found[2]}= since {told.since}", told.write
    return "", f"{call}({', '.join(each.name for each in parameters if each.name[0] != '_')})"


def _called(name: str, frame: FrameType) -> tuple[str, Callable[..., Any]] | None:
    """The function of NKI that `frame` reaches under this name, and its module."""
    reachable = [*frame.f_globals.values(), *frame.f_locals.values()]
    for module, (ours, _) in _MODULES.items():
        function = getattr(ours, name, None)
        names = (module, ours.__name__)
        modules = [each for each in reachable if isinstance(each, ModuleType) and each.__name__ in names]
        known = bool(modules) or any(each is function for each in reachable)
        if inspect.isfunction(function) and known:
            return module, function
    return None


def _where(source: str) -> str:
    trace = sys.exc_info()[2]
    return site.of_failure(trace) or site.of_error(trace) or Path(source).name


def _argument(recorder: Recorder, name: str, value: Any) -> Any:
    if isinstance(value, (tuple, list)) and any(isinstance(v, (np.ndarray, TensorSpec)) for v in value):
        return type(value)(_argument(recorder, name, item) for item in value)
    if isinstance(value, TensorSpec) and recorder.functional:
        raise KernelError(
            f"argument {name!r} has a shape but no values",
            cause="functional mode computes values",
            try_="pass a NumPy array, or record shapes only",
        )
    if isinstance(value, (np.ndarray, TensorSpec)):
        # A number as an array has no dimension, a tensor has one.
        shape = value.shape or (1,) if isinstance(value, np.ndarray) else tuple(value.shape)
        tensor = recorder.allocate(shape, dtype_of(value.dtype), Buffer.HBM, name)
        recorder.fill(tensor, value)
        return tensor
    return value


def _outputs(name: str, result: Any) -> tuple[NkiTensor, ...]:
    tensors = result if isinstance(result, (tuple, list)) else (() if result is None else (result,))
    for tensor in tensors:
        if not isinstance(tensor, NkiTensor) or tensor.form.on_chip:
            shown = repr(tensor) if isinstance(tensor, NkiTensor) else type(tensor).__name__
            raise KernelError(
                f"kernel {name!r} returns {shown}, outputs are tensors in HBM",
                try_="allocate the result with buffer=nl.shared_hbm and return it",
            )
    return tuple(tensors)


def missing_import(error: ImportError, what: str, where: str) -> KernelError:
    """A kernel (or its file) imports what is not there."""
    missing = error.name or str(error)
    if missing.startswith(("nki.", "neuronxcc.")):
        return KernelError(
            f"{what} imports {missing!r}, which trnbench does not emulate ({where})",
            cause="language, isa and typing of nki and neuronxcc.nki are provided",
            try_="run the kernel on a device",
        )
    if isinstance(error, ModuleNotFoundError):
        return KernelError(
            f"{what} imports {missing!r}, which is not installed ({where})",
            try_=f"install {missing.partition('.')[0]!r} into this environment",
        )
    return KernelError(f"{what}: {error} ({where})")
