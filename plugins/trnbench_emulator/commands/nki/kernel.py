"""A user's kernel: loaded, and run inside limits. What it prints goes to stderr."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench import Session
from trnbench.case_key import Value
from trnbench.errors import ExitCode, KernelError, TrnbenchError, UsageError
from trnbench.facts.units import show
from trnbench.isolation.child import Lost, Overdue, carried_out
from trnbench.isolation.interrupt import CaseTimeout, can_limit, from_outside, limited
from trnbench.isolation.output import aside
from trnbench.record import Record
from trnbench.terminal.failure import report
from trnbench.terminal.output import abandon, say, write
from trnbench_emulator.commands.threads import one_thread
from trnbench_emulator.kernel_run.emulation import launched
from trnbench_emulator.nki import Machine, load_kernel, provide, record

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.kernels.kernel import Kernel
    from trnbench_emulator.nki import Trace


ROOM = 0.5
"""Share of the memory that is free now beyond which a kernel's values never go."""


class TookTooLong(TrnbenchError):
    """--seconds was reached before the kernel was done."""

    exit_code = ExitCode.TIMEOUT

    @classmethod
    def of(cls, ref: str, seconds: float) -> TookTooLong:
        return cls(
            f"{ref} did not end within {seconds:g} s",
            cause="a loop without end, or a problem far larger than meant",
            try_="check the loop's bounds, or raise --seconds",
        )


class Loaded(Record):
    """`by` says which nki it imports: "trnbench 0.1" or "nki 0.6.0". `benchmark` and `point`: the
    installed kernel that it was asked for by, and the values of its axes."""

    ref: str
    kernel: Any
    by: str
    benchmark: Kernel | None = None
    point: Mapping[str, Value] = {}

    @property
    def name(self) -> str:
        """`gemm.py::matmul`: without the folder."""
        home, double, name = self.ref.partition("::")
        return f"{Path(home).name}::{name}" if double else self.ref

    @property
    def function(self) -> Any:
        return getattr(self.kernel, "function", self.kernel)

    def as_grid(self, sizes: Sequence[int]) -> Loaded:
        """Launched as so many programs; as it is where there are none. Raises `UsageError`."""
        return replace(self, kernel=launched(self.kernel, sizes)) if sizes else self


def load(ref: str, nki: str, timeout_s: float = 0.0) -> Loaded:
    """Raises `UsageError` where the real nki answers, `MissingFile`, `UnknownName`, `KernelError`, and
    `TookTooLong` for a file whose import does not end.
    """
    home, double, name = ref.partition("::")
    if not double:
        home, _, name = ref.partition(":")
    if not home or not name:
        raise UsageError(
            f"{ref!r} names no kernel",
            cause="a kernel is named by its file and function",
            try_=f"{home or 'FILE.py'}::{name or 'FUNCTION'}",
        )
    with guarded(ref, timeout_s=timeout_s):
        kernel, _, by = load_kernel(ref, nki=nki)
    if by.by != "trnbench":
        raise UsageError(
            f"{ref} imports the real nki package ({by}), whose calls cannot be emulated",
            cause="that package is installed here, and goes before trnbench's own unless asked",
            try_="--nki trnbench",
        )
    for fault in by.faults:
        say(f"not carried out, {fault}", level=0)
    if by.absent:
        say(f"stood in for: {', '.join(by.absent)}", level=0)
    return Loaded(ref, kernel, str(by))


def compute(
    loaded: Loaded,
    system: System,
    arguments: Mapping[str, Any],
    *,
    limit: int,
    timeout_s: float,
    memory: int,
) -> Trace:
    """Run it with values, checked against the limits of `system`'s core; `memory` bytes are what it may
    take on this machine."""
    machine = Machine.of(system)
    with guarded(loaded.ref, timeout_s=timeout_s), provide("trnbench"), one_thread(), _room(memory):
        try:
            return record(
                loaded.kernel, (), arguments, machine=machine, functional=True, limit=limit, shadow=True
            )
        except (KernelError, MemoryError) as error:
            # What a MemoryError became on its way through the recorder.
            told = error.what if isinstance(error, KernelError) else ""
            if told and "more memory than this machine has" not in told:
                raise
            where = f" ({told.rpartition('(')[2]}" if "(" in told else ""
    raise KernelError(
        f"{loaded.name} needs more memory for its values than the {show(memory, 'B')} it may take{where}",
        cause="values of every tensor in device memory are kept on this machine",
        try_="smaller arguments, --memory SIZE, or nki run without --functional and --check",
    )


@contextlib.contextmanager
def guarded(ref: str, *, timeout_s: float = 0.0) -> Iterator[None]:
    """The user's code inside: stdout stays ours, sys.exit() ends the kernel only, time is limited.

    Modules beside the kernel's file can be imported. Raises `TookTooLong`, and `KernelError` for an exit and
    what is no `Exception`, a `KeyboardInterrupt` of its own among it.
    """
    home, double, _ = ref.partition("::")
    folder, in_file = str(Path(home).resolve().parent), bool(double) or home.endswith(".py")
    if in_file:
        sys.path.insert(0, folder)
    try:
        with aside(), limited(timeout_s if can_limit() else 0.0):
            yield
    except CaseTimeout:
        raise TookTooLong.of(ref, timeout_s) from None
    except SystemExit as error:
        raise KernelError(
            f"{ref} calls sys.exit({error.code!r})",
            cause="a kernel's file is imported, not run",
            try_='keep such calls under if __name__ == "__main__":',
        ) from None
    except BaseException as error:
        if isinstance(error, Exception) or from_outside(error):
            raise
        raise KernelError(
            f"{ref} raises {type(error).__name__}{f': {error}' if str(error) else ''}",
            cause="it is no error that a program would go on from, and nobody asked for it",
            try_="raise an Exception, such as ValueError",
        ) from error
    finally:
        if in_file:
            with contextlib.suppress(ValueError):
                sys.path.remove(folder)


@contextlib.contextmanager
def _room(memory: int) -> Iterator[None]:
    """No more than `memory` and what is free: a kernel that asks for all gets an error, not the machine."""
    free = _free_bytes()
    try:
        import resource
    except ImportError:  # no such limits on this platform
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = None if free is None else int(free[0] + min(memory, ROOM * free[1]))
    if wanted is not None and soft == resource.RLIM_INFINITY and hard in (resource.RLIM_INFINITY, soft):
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _free_bytes() -> tuple[int, int] | None:
    """Addresses that this process uses, and memory that is available; None where /proc does not tell."""
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(each.split()[1]) << 10 for each in lines if each.startswith("MemAvailable"))
    except (OSError, ValueError, StopIteration, IndexError):
        return None
    return used, free


NATIVE = "native code that it uses crashed, or memory ran out"
SILENT = "it calls os._exit, or something that it uses ends the process without a word"


def apart(command: Callable[..., int]) -> Callable[..., int]:
    """`command`, in a process that ends with all that the kernel of its option `kernel`, or those of the
    folder `kernels`, started; in this one where it has none of either.

    Raises `KernelError` where that process ends without an outcome, be it with exit code 0, and `TookTooLong`
    where it is deaf to the alarm of --seconds.
    """

    @functools.wraps(command)
    def called(shared: Session, **options: Any) -> int:
        ref = options.get("kernel") or options.get("kernels")
        if ref is None:
            return command(shared, **options)

        def work(send: Callable[[str, Any], None]) -> int:
            shared.on_kept = lambda text: send("kept", text)
            return _outcome(lambda: command(shared, **options), shared)

        def kept(text: str) -> None:
            shared.kept = text

        try:
            return carried_out(work, {"stdout": write, "stderr": _to_stderr, "kept": kept})
        except Overdue as error:
            raise TookTooLong.of(str(ref), error.seconds) from None
        except Lost as error:
            raise KernelError(
                f"{ref} has no result: the process that ran it {error.how}",
                cause=SILENT if error.code >= 0 else NATIVE,
                try_="an exception, which says what is wrong" if error.code >= 0 else "smaller arguments",
            ) from None

    return called


def _outcome(command: Callable[[], int], shared: Session) -> int:
    try:
        code = command()
    except BaseException as error:
        code = report(error, shared)
    shared.warn_of_plugins()
    return int(code)


def _to_stderr(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except BrokenPipeError:
        abandon(sys.stderr)
