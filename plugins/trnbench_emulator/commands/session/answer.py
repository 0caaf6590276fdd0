"""What the model says of one variant: verdict, error, time, and what the time is made of."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench.errors import KernelError, TrnbenchError, UsageError, cut
from trnbench.facts.units import percent, show
from trnbench.record import Record
from trnbench.results.fidelity import LEAST_GAIN, OrderKept, order_kept
from trnbench.run.expectation import fidelity_of
from trnbench_emulator.commands.nki.kernel import TookTooLong
from trnbench_emulator.kernel_run.result import KernelRun

if TYPE_CHECKING:
    from trnbench.registry import Registry


_PLACE = re.compile(r"([^\s(),]+):(\d+)\b(?=[^()]*\)\Z)")
"""The last parenthesis of an error's first sentence: `(tiles.py:12, called at gemm.py:31)`."""


class Problem(Record, kw_only=True, omit_defaults=True):
    """Why there is no time. `kind`: "request" (the question cannot be read or names nothing), "source" (no
    program), "kernel" (it breaks a rule or fails), "time", "memory" or "process" (it ended its process).
    `line` of `file`; 0 where no line is to blame."""

    kind: str
    what: str
    file: str = ""
    line: int = 0
    cause: str = ""
    remedy: str = ""

    @property
    def lasting(self) -> bool:
        """Would another try end alike?"""
        return self.kind not in ("time", "process")

    @classmethod
    def of(cls, error: BaseException) -> Problem:
        """Of what a candidate raises."""
        if isinstance(error, MemoryError):
            return OUT_OF_MEMORY
        if not isinstance(error, TrnbenchError):
            return cls(
                kind="kernel",
                what=cut(f"{type(error).__name__}: {error}", 1000),
                cause="the candidate changed what it runs in, or this is a bug of trnbench",
                remedy="trnbench nki run, which shows more",
            )
        file, line = "", 0
        if (place := _PLACE.search(error.what)) is not None:
            file, line = place[1], int(place[2])
        kind = _kind(error)
        if kind == "memory":  # the limit of the session: a kernel takes it for all that the machine has
            return replace(OUT_OF_MEMORY, file=file, line=line)
        return cls(kind=kind, what=error.what, file=file, line=line, cause=error.cause, remedy=error.try_)


def _kind(error: TrnbenchError) -> str:
    if isinstance(error, TookTooLong):
        return "time"
    if isinstance(error, UsageError) or not isinstance(error, KernelError):
        return "request"
    if "needs more memory " in error.what:
        return "memory"
    source = " is no Python: " in error.what or " cannot be imported: " in error.what
    return "source" if source else "kernel"


OUT_OF_MEMORY = Problem(
    kind="memory",
    what="the candidate needs more memory than it may take",
    cause="what it allocates itself, or values of large tensors",
    remedy="smaller arguments, or --memory SIZE",
)


def late(seconds: float) -> Problem:
    """It was ended after its limit."""
    return Problem(
        kind="time",
        what=f"the candidate did not end within {seconds:g} s",
        cause="a loop without end, or a problem far larger than meant",
        remedy="check the loop's bounds, or raise --within",
    )


def lost(how: str) -> Problem:
    """Its process ended without an answer."""
    return Problem(
        kind="process",
        what=f"there is no answer: the candidate {how}",
        cause="it calls os._exit, native code that it uses crashed, or memory ran out",
        remedy="an exception, which says what is wrong",
    )


class Answer(Record, kw_only=True, omit_defaults=True):
    """One candidate's. `verdict`: "ok", "wrong" (a value differs from the reference's), "suspect" (a rate
    that clocks do not allow), "refused" (`error` says why) or "invalid" (the question itself).

    `time_s` is emulated, as `evidence` says; `band_s` the least and most to expect of the machine, empty
    where nothing published stands near. `engines`: seconds busy. `bytes`: by memory and direction. `ties`:
    ids of candidates of the same problem, asked before, that the model cannot tell from this one.
    `repeated`: the same question was answered before.
    """

    id: str | int | float | None = None
    verdict: str
    error: Problem | None = None
    time_s: float | None = None
    band_s: tuple[float, ...] = ()
    bound: str = ""
    instructions: int = 0
    engines: dict[str, float] = {}
    bytes: dict[str, float] = {}
    kernel: str = ""
    system: str = ""
    evidence: str = ""
    nearest: str = ""
    assumed: tuple[str, ...] = ()
    outputs: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    waterfall: tuple[tuple[str, float], ...] = ()
    path: tuple[tuple[str, float], ...] = ()
    lines: tuple[dict[str, Any], ...] = ()
    ties: tuple[str | int | float, ...] = ()
    repeated: bool = False

    @classmethod
    def of(cls, run: KernelRun, outputs: tuple[dict[str, Any], ...] = (), *, right: bool = True) -> Answer:
        """Of an emulation, and of values where there are some."""
        evidence = run.evidence
        return cls(
            verdict="wrong" if not right else "suspect" if run.doubts else "ok",
            time_s=run.latency_s,
            band_s=run.expected_s or (),
            bound=run.bound,
            instructions=run.instructions,
            engines=run.busy_s,
            bytes=run.bytes,
            kernel=run.kernel,
            system=run.system,
            evidence=f"{evidence.grade} by {evidence.by} {evidence.version}",
            nearest=str(evidence.nearest.kind) if evidence.nearest is not None else "",
            assumed=tuple(each.name if each.on else f"no-{each.name}" for each in run.assumed),
            outputs=outputs,
            notes=(*run.doubts, *run.notes),
            waterfall=tuple((each.name, each.seconds) for each in run.waterfall),
            path=tuple((each.name, each.seconds) for each in run.path if each.seconds),
            lines=tuple(
                {
                    "file": Path(each.file).name,
                    "line": each.line,
                    "seconds": each.seconds,
                    "instructions": each.instructions,
                    "engine": each.engine,
                }
                for each in run.lines
            ),
        )

    @classmethod
    def refused(cls, problem: Problem, id: str | int | float | None = None) -> Answer:
        """Without a time."""
        return cls(id=id, verdict="invalid" if problem.kind == "request" else "refused", error=problem)

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.verdict}: {self.error.what}"
        return f"{self.verdict}: {show(self.time_s or 0.0, 's')} emulated, bound by {self.bound}"

    def __repr__(self) -> str:
        return f"<Answer {self}>"


def digits(time_s: float) -> str:
    """A time as the model tells it from another: four digits, as where published versions tie."""
    return f"{time_s:.4g}"


BACKEND = "emulated"


def order_of(registry: Registry, generation: str, ratio: float) -> OrderKept | None:
    """Of published pairs of all kernels with a gain like `ratio`; None where no plugin knows any."""
    fidelity = fidelity_of(registry, BACKEND, [generation], [], linked=False)
    return order_kept(fidelity.steps, math.log(ratio)) if fidelity is not None else None


def sentence(registry: Registry, generation: str, first: float, second: float) -> str:
    """What two times of one problem say, and how far to trust it."""
    ratio = max(first, second) / min(first, second)
    if digits(first) == digits(second):
        return "the model cannot tell them apart: both take the same time"
    if math.log(ratio) <= LEAST_GAIN:
        return (
            f"the model cannot tell them apart: {percent(ratio - 1.0)} is within the 3 % that repeated "
            "measurements differ by"
        )
    order = order_of(registry, generation, ratio)
    if order is None or not order.pairs:
        return "nothing is published of pairs with such a gain"
    return (
        f"of {order.pairs} published pairs that differ by {order.gain}, the model has {order.kept} in order"
    )
