"""A script that runs in an interpreter of another environment, and answers questions.

Commands go to its stdin, one JSON object a line; answers come through a pipe of their own, because
what the vendor's libraries print lands on stdout and stderr.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from trnbench import NotJson, parse_json
from trnbench.record import Record
from trnbench_neuron.settings import PREFIX, Settings, child_environment
from trnbench_neuron.tool import end, last_words, tool_error
from trnbench_neuron.toolbox import Output, ToolError, Trouble

STAGES = Path(__file__).parent / "stages"
MAX_ANSWER = 64 * 2**20
TAIL = 16 * 2**10


class Conversation:
    """A context: the process starts with it and is gone, with all its children, when it closes."""

    def __init__(self, python: str, stage: str, *, env: Mapping[str, str], name: str) -> None:
        self.name = name
        self._argv = [python, "-u", str(STAGES / f"{stage}.py")]
        self._env = dict(env)

    def __enter__(self) -> Conversation:
        self._printed = tempfile.TemporaryFile()
        self._answers, theirs = os.pipe()
        self._rest = b""
        try:
            self._process = subprocess.Popen(
                [*self._argv, str(theirs)],
                stdin=subprocess.PIPE,
                stdout=self._printed,
                stderr=self._printed,
                env=self._env,
                start_new_session=True,
                pass_fds=(theirs,),
            )
        except OSError as error:
            os.close(self._answers)
            self._printed.close()
            raise ToolError(
                Trouble.MISSING if isinstance(error, FileNotFoundError) else Trouble.REFUSED,
                f"{self._argv[0]} cannot be started",
                cause=error.strerror or "",
                try_="TRNBENCH_NEURON_NKI_PYTHON and TRNBENCH_NEURON_NRTPY_PYTHON name the interpreters",
            ) from None
        finally:
            os.close(theirs)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self._process)
        os.close(self._answers)
        self._printed.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, limit_s: float, **command: Any) -> dict[str, Any]:
        """Its answer. Raises `ToolError` when it gave none, or an error of its own."""
        self.send(**command)
        return self.answer(limit_s)

    def send(self, **command: Any) -> None:
        """A command whose answer is fetched later. One that is gone is noticed by `answer`."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self, limit_s: float) -> dict[str, Any]:
        """The next answer; see `ask`."""
        try:
            reply = parse_json(self._line(limit_s), most=MAX_ANSWER, nan_is_null=True)
        except NotJson:
            raise ToolError(Trouble.UNREADABLE, f"{self.name} answered something that is no JSON") from None
        if not isinstance(reply, dict):
            raise ToolError(Trouble.UNREADABLE, f"{self.name} answered something that is no object")
        if "error" in reply:
            raise ToolError(Trouble.EXIT, f"{self.name}: {reply['error']}", cause=self._last_words())
        return reply

    def _line(self, limit_s: float) -> bytes:
        deadline = time.monotonic() + limit_s
        while b"\n" not in self._rest:
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0.0 or not select.select([self._answers], [], [], remaining_s)[0]:
                raise ToolError(
                    Trouble.TIMEOUT,
                    f"{self.name} gave no answer within {limit_s:g} s and was ended",
                    cause=self._last_words(),
                )
            chunk = os.read(self._answers, 65536)
            if not chunk:
                raise self._gone()
            self._rest += chunk
            if len(self._rest) > MAX_ANSWER:
                raise ToolError(
                    Trouble.TOO_LARGE, f"{self.name} answered more than {MAX_ANSWER / 2**20:g} MiB"
                )
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _gone(self) -> ToolError:
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            return ToolError(Trouble.UNREADABLE, f"{self.name} stopped answering", cause=self._last_words())
        if code == 0:
            return ToolError(Trouble.KILLED, f"{self.name} ended without an answer", cause=self._last_words())
        if code > 0:
            ending = f"{self.name} ended itself with exit code {code}"
            return ToolError(Trouble.KILLED, ending, cause=self._last_words())
        return tool_error(self.name, code, Output(self._tail(), ""))

    def _tail(self) -> str:
        size = self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, size - TAIL))
        return self._printed.read().decode("utf-8", "replace")

    def _last_words(self) -> str:
        return last_words(Output(self._tail(), ""))


LIMIT_S = 15.0
LEAST_NKI = (0, 3)
"""Before it, calls returned tiles or lacked what our kernels use (NKI 0.3.0, SDK 2.29)."""

_DISTRIBUTIONS = ["nki", "nrtpy", "neuronx-cc"]


class Interpreter(Record, kw_only=True):
    """`path` is "" when there is none; `why` and `try_` then say so."""

    path: str = ""
    version: str = ""  # of the package it is here for
    why: str = ""
    try_: str = ""


class Interpreters(Record, kw_only=True):
    """One for each package: their wheels cannot share an environment."""

    nki: Interpreter
    nrtpy: Interpreter
    beta1: Interpreter

    def versions(self) -> dict[str, str]:
        """For the environment of a run."""
        interpreters = {"nki": self.nki, "nrtpy": self.nrtpy, "neuronx_cc": self.beta1}
        return {
            f"{name}_version": interpreter.version
            for name, interpreter in interpreters.items()
            if interpreter.path
        }


def find(settings: Settings) -> Interpreters:
    """Asks each interpreter that is named, or our own, what is installed beside it."""
    answers: dict[str, dict[str, str] | ToolError] = {}

    def look(variable: str, given: str, distribution: str) -> Interpreter:
        path = given or sys.executable
        if path not in answers:
            try:
                answers[path] = installed(path)
            except ToolError as error:
                answers[path] = error
        there = answers[path]
        set_ = f"{PREFIX}{variable}=/path/to/environment/bin/python"
        if isinstance(there, ToolError):
            return Interpreter(why=f"{variable}: {there.what}", try_=set_)
        if distribution not in there:
            origin = "the interpreter named" if given else "this environment"
            return Interpreter(why=f"{distribution} is not installed in {origin}", try_=set_)
        if distribution == "nki" and release(there["nki"]) < LEAST_NKI:
            least = ".".join(map(str, LEAST_NKI))
            return Interpreter(why=f"nki {there['nki']} is older than {least}", try_="install a newer nki")
        if distribution in ("nki", "nrtpy") and {"nki", "nrtpy"} <= set(there):
            return Interpreter(
                why="nki and nrtpy are installed in one environment, which their makers rule out",
                try_=f"an environment for each, {PREFIX}NKI_PYTHON and {PREFIX}NRTPY_PYTHON",
            )
        return Interpreter(path=path, version=there[distribution])

    return Interpreters(
        nki=look("NKI_PYTHON", settings.nki_python, "nki"),
        nrtpy=look("NRTPY_PYTHON", settings.nrtpy_python, "nrtpy"),
        beta1=look("BETA1_PYTHON", settings.beta1_python, "neuronx-cc"),
    )


@cache
def installed(path: str) -> dict[str, str]:
    """Versions of the stack's packages in that interpreter's environment. Raises `ToolError`."""
    with Conversation(path, "probe", env=child_environment(), name=path.rpartition("/")[2]) as asked:
        answer = asked.ask(LIMIT_S, do="versions", names=_DISTRIBUTIONS)
    return {str(name): str(version) for name, version in answer.get("versions", {}).items()}


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(digits) for digits in match[0].split(".")) if match else ()
