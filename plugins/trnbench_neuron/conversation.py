"""A script that runs in an interpreter of another environment, and answers questions.

Commands go to its stdin, one JSON object a line; answers come through a pipe of their own, because
what the vendor's libraries print lands on stdout and stderr.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from trnbench.bounded.json import NotJson, parse_json
from trnbench_neuron.tool import Output, ToolError, Trouble, end, failed, last_words

STAGES = Path(__file__).parent / "stages"
MAX_ANSWER = 64 * 2**20
TAIL = 16 * 2**10


class StageError(ToolError):
    """The script itself says what went wrong: `kind` is the exception's type there."""

    def __init__(self, kind: str, what: str, *, cause: str = "", try_: str = "") -> None:
        super().__init__(Trouble.EXIT, what, cause=cause, try_=try_)
        self.kind = kind


class Conversation:
    """A context: the process starts with it and is gone, with all its children, when it closes."""

    def __init__(self, python: str, stage: str, *, env: Mapping[str, str], name: str = "") -> None:
        self.name = name or stage
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
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        end(self._process)
        os.close(self._answers)
        self._printed.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, limit_s: float, **command: Any) -> dict[str, Any]:
        """Its answer. Raises `StageError` for one it gave, `ToolError` when it gave none."""
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
            kind, text = str(reply.get("kind", "")), str(reply["error"])
            raise StageError(kind, f"{self.name}: {text}", cause=self._last_words())
        return reply

    def _line(self, limit_s: float) -> bytes:
        deadline = time.monotonic() + limit_s
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0.0 or not select.select([self._answers], [], [], left)[0]:
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
            what = f"{self.name} ended itself with exit code {code}"
            return ToolError(Trouble.KILLED, what, cause=self._last_words())
        return failed(self.name, code, Output(self._tail(), "", 0.0))

    def _tail(self) -> str:
        size = self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, size - TAIL))
        return self._printed.read().decode("utf-8", "replace")

    def _last_words(self) -> str:
        return last_words(Output(self._tail(), "", 0.0))
