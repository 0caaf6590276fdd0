"""A command that runs a user's kernel, in a process of its own: however that ends, the command says so."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from trnbench.cli.context import Session
from trnbench.cli.output import abandon, write
from trnbench.errors import KernelError

NATIVE = "native code that it uses crashed, or memory ran out"
SILENT = "it calls os._exit, or something that it uses ends the process without a word"


def apart(command: Callable[..., int]) -> Callable[..., int]:
    """`command`, in a process that ends with all that the kernel of its option `kernel`, or those of the
    folder `kernels`, started; in this one where it has none of either.

    Raises `KernelError` where that process ends without an outcome, be it with exit code 0, and `TookTooLong`
    where it is deaf to the alarm of --timeout.
    """

    @functools.wraps(command)
    def called(shared: Session, **options: Any) -> int:
        from trnbench.isolation.child import Lost, Overdue, carried_out
        from trnbench_emulator.commands.nki.kernel import TookTooLong

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
    from trnbench.cli.failure import report

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
