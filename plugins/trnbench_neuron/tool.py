"""External programs: run within limits, read, every way to fail told apart as a reason of a case."""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from trnbench import Evidence, Observation, Reason, TrnbenchError
from trnbench.bounded import deepest
from trnbench.bounded.kinds import FOREIGN
from trnbench_neuron.toolbox import Output, ToolError, Trouble

MAX_BYTES = 16 * 2**20

GRACE_S = 1.0
"""How long a pipe is read after its program has ended: a child of it may still hold the other end."""

_UNKNOWN_OPTION = re.compile(
    r"unrecognized arguments?|unknown (flag|option|shorthand)|invalid option|flag provided but not defined",
    re.IGNORECASE,
)


def run(
    argv: Sequence[str | Path],
    limit_s: float,
    *,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Output:
    """What a program prints. Its whole process group ends with the call, whatever happens.

    Raises `ToolError`; the text ends with the last line the program printed, if it failed.
    """
    name = Path(argv[0]).name
    began = time.monotonic()
    process = start(argv, env=env, folder=folder)
    try:
        streams = _read(process, name, began + limit_s, limit_s)
        remaining_s = max(0.0, began + limit_s - time.monotonic())
        try:
            code = process.wait(remaining_s)
        except subprocess.TimeoutExpired:
            raise _timed_out(name, limit_s) from None
    finally:
        end(process)
    stdout, stderr = (stream.decode("utf-8", "backslashreplace") for stream in streams)
    output = Output(stdout, stderr)
    if code:
        raise tool_error(name, code, output)
    return output


def start(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> subprocess.Popen[bytes]:
    """The program started in a process group of its own. Raises `ToolError` (missing, refused)."""
    name = Path(argv[0]).name
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env) if env is not None else None,
            cwd=folder,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise ToolError(
            Trouble.MISSING, f"{name} is not there", cause="or the interpreter its first line names is not"
        ) from None
    except OSError as error:
        raise ToolError(Trouble.REFUSED, f"{name} cannot be executed", cause=error.strerror or "") from None


def kill(process: subprocess.Popen[bytes]) -> None:
    """The whole process group, which may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group and close the pipes; nothing of it is left."""
    kill(process)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()


def tool_error(name: str, code: int, output: Output) -> ToolError:
    """The error for a program that ended with `code` (negative: a signal)."""
    words = last_words(output)
    if code < 0:
        number = -code
        word = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        hint = "; most often that is the system's out-of-memory killer" if word == "SIGKILL" else ""
        return ToolError(Trouble.KILLED, f"{name} was killed by {word}{hint}", cause=words, output=output)
    if _UNKNOWN_OPTION.search(output.stderr + output.stdout):
        return ToolError(
            Trouble.VERSION,
            f"{name} does not know an option it is documented to have (exit code {code})",
            cause=words,
            try_="update the package aws-neuronx-tools",
            output=output,
        )
    return ToolError(Trouble.EXIT, f"{name} ended with exit code {code}", cause=words, output=output)


def last_words(output: Output) -> str:
    """The last line on stderr, else on stdout; shortened."""
    for text in (output.stderr, output.stdout):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines:
            return lines[-1][:300]
    return "it printed nothing"


def _timed_out(name: str, limit_s: float) -> ToolError:
    return ToolError(
        Trouble.TIMEOUT,
        f"{name} was not done after {limit_s:g} s and was ended",
        cause="the driver hangs, or another process holds the devices",
        try_=f"run {name} by hand",
    )


def _read(
    process: subprocess.Popen[bytes], name: str, deadline: float, limit_s: float
) -> tuple[bytes, bytes]:
    """Both streams to their ends. Raises `ToolError` (timeout, too large)."""
    assert process.stdout is not None
    assert process.stderr is not None
    buffers = {process.stdout: bytearray(), process.stderr: bytearray()}
    ended = 0.0
    with selectors.DefaultSelector() as selector:
        for stream in buffers:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            now = time.monotonic()
            if now >= deadline:
                raise _timed_out(name, limit_s)
            if ended and now - ended > GRACE_S:
                break
            for key, _ in selector.select(min(0.1, deadline - now)):
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                buffers[key.fileobj] += chunk  # type: ignore[index]  # a selector's fileobj is what was registered
                if sum(map(len, buffers.values())) > MAX_BYTES:
                    raise ToolError(
                        Trouble.TOO_LARGE,
                        f"{name} printed more than {MAX_BYTES / 2**20:g} MiB and was ended",
                        cause="it is stuck in a loop, or prints a debug log",
                    )
            if not ended and process.poll() is not None:
                ended = time.monotonic()
    return bytes(buffers[process.stdout]), bytes(buffers[process.stderr])


# Times, levels, and the names that components of the Neuron runtime put before a line.
_LOG = re.compile(
    r"^\s*(\d{4}[-/ ][\w: ./-]*\d|\[?\d{2}:\d{2}:\d{2}"
    r"|[\[(<]?(TRACE|DEBUG|INFO|WARN(ING)?|ERROR|FATAL|CRITICAL)\b|(TDRV|NMGR|NRT|KMGR|KBL|ENC|NDL|HAL|CCOM)\b)"
)
_DECODER = json.JSONDecoder()


def json_of(name: str, text: str, kind: type) -> Any:
    """The largest JSON value of `kind` (list or dict) that begins a line of `text`.

    Lines of a log are left out first: one inside the value would break it, and "[1]" is a list, too.
    Raises `ToolError` (unreadable) when there is none.
    """
    for attempt in (without_log_lines(text), text):
        longest = max(_values(attempt, kind), key=lambda pair: pair[0], default=None)
        if longest is not None:
            return longest[1]
    first_line = next((line.strip()[:200] for line in text.splitlines() if line.strip()), "nothing")
    raise ToolError(
        Trouble.UNREADABLE,
        f"{name} printed no JSON {'list' if kind is list else 'object'}",
        cause=f"it begins with: {first_line!r}" if first_line != "nothing" else "it printed nothing",
        try_=f"run {name} by hand; another version may print another format",
    )


def without_log_lines(text: str) -> str:
    """`text` without the lines that look like a log's."""
    return "\n".join(line for line in text.splitlines() if not _LOG.match(line))


def _values(text: str, kind: type) -> Iterator[tuple[int, Any]]:
    opening = re.compile(r"^[ \t]*" + (r"\[" if kind is list else r"\{"), re.MULTILINE)
    at = 0
    while match := opening.search(text, at):
        begins = match.end() - 1
        try:
            value, at = _DECODER.raw_decode(text, begins)
        except (ValueError, RecursionError):  # also a number of more than 4,300 digits
            at = match.end()
            continue
        if not deepest(value):
            yield at - begins, value


def number(value: Any) -> float | None:
    """A finite float of an int, a float or digits in a string; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str):
        exact = FOREIGN.parsed(value)
        return None if exact is None else float(exact)
    return float(value) if FOREIGN.fits(value) else None


def whole(value: Any) -> int | None:
    """As `number`, for counts and ids."""
    exact = number(value)
    return int(exact) if exact is not None and exact == int(exact) else None


def list_of(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def at(document: Any, *path: str) -> Any:
    """`document[path[0]][path[1]]…`, None where a step is missing or no object."""
    for step in path:
        if not isinstance(document, dict):
            return None
        document = document.get(step)
    return document


_MEMORY = ("out of memory", "NRT_RESOURCE", "Allocation failed", "failed to allocate", "MemoryError")
_UNSEEN = ("no device execution events", "No device execution events")


class NoEvidence(TrnbenchError):
    """A number is there, but nothing proves that the device made it."""


class WrongResult(TrnbenchError):
    """The device ran, and what it computed is not what was asked."""


class OverTime(TrnbenchError):
    """Held up for longer than a case may take."""


def reason_of(error: TrnbenchError) -> Reason:
    """The reason that `error` makes a case fail for."""
    if isinstance(error, NoEvidence):
        return Reason.NO_EVIDENCE
    if isinstance(error, WrongResult):
        return Reason.WRONG_RESULT
    if isinstance(error, OverTime):
        return Reason.TIMEOUT
    text = f"{error.what} {error.cause}"
    if any(word in text for word in _MEMORY):
        return Reason.OUT_OF_MEMORY
    if any(word in text for word in _UNSEEN):
        return Reason.NO_EVIDENCE
    if isinstance(error, ToolError):
        if error.trouble is Trouble.TIMEOUT:
            return Reason.TIMEOUT
        if error.trouble is Trouble.KILLED:
            return Reason.CRASH
    return Reason.ERROR


def failed(error: TrnbenchError, evidence: Evidence, implementation: str = "") -> Observation:
    """The observation of a case that `error` ended."""
    return Observation(
        evidence=evidence,
        clock="",
        implementation=implementation,
        reason=reason_of(error),
        reason_text=f"{error.what}; {error.cause}" if error.cause else error.what,
        notes=(f"try: {error.try_}",) if error.try_ else (),
    )
