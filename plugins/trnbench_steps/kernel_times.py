"""How long a kernel takes inside a compiled graph: asked of the one model of kernels, once for each shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, TypeAlias

from msgspec.structs import replace

from trnbench.case_key import Value
from trnbench.generation import System
from trnbench.record import Record
from trnbench_emulator import seconds
from trnbench_emulator.core.cases import CALL_LIMIT, arguments_of
from trnbench_emulator.core.pace import NOTHING_REMOVED, Without
from trnbench_emulator.core.recording import Launch
from trnbench_emulator.core.timing import KernelModel, Timing
from trnbench_emulator.nki.load import load_kernel
from trnbench_emulator.nki.source import inputs_of
from trnbench_steps.operators import Mixing

_TRANSFERS = frozenset({"load ring", "store ring", "scalar ring", "gpsimd ring"})
_HERE = "trnbench_kernels.nki."


class KernelTime(Record):
    """Seconds of a call, the launch of a program left out: `all` of it, `memory` of that because transfers
    take time; the transfers themselves keep the DMA engines, or the memory, busy for `stream`."""

    all: float
    memory: float
    stream: float

    @property
    def engines(self) -> float:
        return self.all - self.memory


class Call(Record, kw_only=True):
    """A kernel at the shape of a rank. `source`: file and name below kernels/nki, or a reference of a user's.

    `inputs`: ((size, …), dtype) for a tensor. `times`: how often it runs, one after the other, which may
    be a part (of experts that are met on average). `stays`: its activations are in SBUF, and what it makes
    of them remains there. `weights`: it also reads what lies in HBM. `own`: `source` is a user's kernel.
    `operators`: how many of the graph's it is. `compiled`: the software has no kernel for it.
    """

    source: str
    inputs: tuple[Any, ...]
    times: float = 1.0
    stays: bool = False
    weights: bool = True
    own: bool = False
    operators: float = 1.0
    compiled: bool = True


class KernelTimes:
    """Loads each kernel once, and times each call once."""

    def __init__(self) -> None:
        self.kernels = KernelModel()
        self._loaded: dict[str, tuple[Any, Any]] = {}
        self._known: dict[tuple[Any, ...], KernelTime] = {}

    def time(self, call: Call, system: System, cores: int) -> KernelTime:
        """Of all its `times`, with `cores` of the device at work alike. Raises `KernelError`.

        What stays in SBUF is neither stored nor, where nothing else is read, loaded: these transfers take no
        time. `memory` is the difference to an emulation without any transfer.
        """
        key = (replace(call, compiled=True), cores, id(self.kernels.table(system)))
        if key not in self._known:
            timing = self._timing(call, system, cores, _stays(call))
            bare = self._timing(call, system, cores, Without(queues=_TRANSFERS, hbm=True))
            whole = seconds(timing.total) * call.times
            stream = max(timing.busy_s.get("dma", 0.0), timing.busy_s.get("hbm", 0.0)) * call.times
            self._known[key] = KernelTime(
                all=whole,
                memory=max(whole - seconds(bare.total) * call.times, 0.0),
                stream=min(stream, whole),
            )
        return self._known[key]

    def _timing(self, call: Call, system: System, cores: int, without: Without) -> Timing:
        kernel, module = self._kernel(call.source if call.own else _HERE + call.source)
        cut = getattr(module, f"{call.source.rpartition(':')[2]}_pieces", None)
        pieces = cut(call.inputs) if cut is not None else ()
        launch = Launch(cores=cores, limit=CALL_LIMIT, without=without, explain=False)
        parts = tuple((arguments_of(part), times) for part, times in pieces)
        return self.kernels.time(kernel, arguments_of(call.inputs), system, launch, parts=parts)

    def _kernel(self, source: str) -> tuple[Any, Any]:
        if source not in self._loaded:
            kernel, module, _ = load_kernel(source, nki="trnbench")
            self._loaded[source] = (kernel, module)
        return self._loaded[source]

    def inputs(self, source: str, point: Mapping[str, Value]) -> tuple[Any, ...] | None:
        """What the user's kernel takes for `point`, by its `…_inputs`; None where it says that it does not.

        Raises `KernelError`, `MissingFile` and `UnknownName` for one that cannot be loaded or asked.
        """
        _, module = self._kernel(source)
        return inputs_of(module, source.replace("::", ":"), point)


def _stays(call: Call) -> Without:
    if not call.stays:
        return NOTHING_REMOVED
    if call.weights:
        return Without(queues=frozenset({"store ring"}))
    return Without(queues=_TRANSFERS, hbm=True)


NamedCall: TypeAlias = tuple[str, Call]

ROWS = 128
ONE_READ, TWO_READ = 1, 2


def on_partitions(elements: float) -> tuple[int, int]:
    """So many as rows on all partitions."""
    return ROWS, max(ceil(elements / ROWS), 1)


def score_elements(mixing: Mixing, cores: int) -> float:
    """Scores that a core has at once: of its heads of all sequences, what a mask hides included."""
    return mixing.sequences * mixing.heads / cores * mixing.tokens * mixing.keys


def unfused_calls(mixing: Mixing, dtype: str, cores: int, *, stays: bool) -> tuple[NamedCall, ...]:
    """The operators of one core, in order, each by what it does; `stays` where scores fit into SBUF."""
    passes = _backward if mixing.backward else _forward
    return tuple(passes(_Scores(mixing, dtype, cores, stays)))


class _Scores:
    """The scores of one core's heads, and what is done with them."""

    def __init__(self, mixing: Mixing, dtype: str, cores: int, stays: bool) -> None:
        self.dtype, self.stays = dtype, stays
        self.queries, self.keys = mixing.tokens, mixing.keys
        self.key_dim, self.value_dim = mixing.key_dim, mixing.value_dim
        self.heads = mixing.sequences * mixing.heads / cores
        self.elements = score_elements(mixing, cores)

    def product(self, name: str, inner: int, rows: int, columns: int) -> NamedCall:
        """Of each head: (inner, rows) by (inner, columns)."""
        return name, Call(
            source="gemm_best:gemm_best",
            inputs=(((inner, rows), self.dtype), ((inner, columns), self.dtype)),
            times=self.heads,
            stays=self.stays,
            weights=False,
        )

    def each(self, name: str, operands: int) -> NamedCall:
        """Of every score, with `operands` arrays of them read and one written."""
        return name, Call(
            source="elementwise:combine",
            inputs=((on_partitions(self.elements), self.dtype), operands),
            stays=self.stays,
            weights=False,
        )

    def row(self, name: str) -> NamedCall:
        """One number of each row."""
        tiles = max(ceil(self.elements / self.keys / ROWS), 1)
        return name, Call(
            source="elementwise:row_maximum",
            inputs=(((tiles, min(ROWS, self.queries), self.keys), self.dtype),),
            stays=self.stays,
            weights=False,
        )


def _forward(scores: _Scores) -> Iterator[NamedCall]:
    yield scores.product("scores", scores.key_dim, scores.queries, scores.keys)
    yield scores.each("mask", TWO_READ)
    yield scores.row("largest")
    yield scores.each("difference", ONE_READ)
    yield scores.each("exponential", ONE_READ)
    yield scores.row("sum")
    yield scores.each("quotient", ONE_READ)
    yield scores.product("values", scores.keys, scores.queries, scores.value_dim)


def _backward(scores: _Scores) -> Iterator[NamedCall]:
    """Gradients of values, weights, scores, queries and keys."""
    yield scores.product("values gradient", scores.queries, scores.keys, scores.value_dim)
    yield scores.product("weights gradient", scores.value_dim, scores.queries, scores.keys)
    yield scores.each("weighted gradient", TWO_READ)
    yield scores.row("sum gradient")
    yield scores.each("scores gradient", TWO_READ)
    yield scores.each("mask gradient", TWO_READ)
    yield scores.product("queries gradient", scores.keys, scores.queries, scores.key_dim)
    yield scores.product("keys gradient", scores.queries, scores.keys, scores.key_dim)
