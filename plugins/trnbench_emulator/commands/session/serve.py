"""`trnbench nki serve`: candidates as lines of JSON in, answers as lines of JSON out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from trnbench import Session as Command
from trnbench.errors import BadInput, ExitCode, TrnbenchError, UsageError, counted
from trnbench.terminal.output import say
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_emulator.commands.nki.arguments import system_of
from trnbench_emulator.commands.session.answer import Answer, Problem
from trnbench_emulator.commands.session.candidate import EXAMPLE, decoded
from trnbench_emulator.commands.session.session import Session

LONGEST_LINE = 16 << 20
"""Bytes of one candidate."""


def serve(state: Command, /, *, instance: str | None, within: float, memory: int, trusted: bool) -> ExitCode:
    """Answer candidates from stdin, a line of JSON each, with a line of JSON each."""
    system = system_of(state.registry, instance)
    state.kept = "no candidate was answered"
    with Session(
        str(instance), seconds=within, memory=memory, trusted=trusted, registry=state.registry
    ) as session:
        say(f"emulated, model {MODEL_VERSION}: {system.name}; a line of JSON for each candidate", level=0)
        for line in _lines():
            answer = _answered(session, line)
            sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
            sys.stdout.flush()
            state.kept = f"{counted(session.count, 'candidate')} answered"
    say(state.kept, level=0)
    return ExitCode.OK


def _answered(session: Session, line: bytes) -> Answer:
    try:
        if len(line) > LONGEST_LINE:
            raise BadInput(
                f"a line of more than {LONGEST_LINE >> 20} MiB is no candidate", try_='"path" for a long text'
            )
        return session.answer(decoded(line))
    except TrnbenchError as error:
        return Answer.refused(Problem.of(error), _id(line))


def _id(line: bytes) -> str | int | float | None:
    """Of a line that is JSON, but no candidate: whoever asked finds the answer by it."""
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):
        asked = msgspec.json.decode(line)
        if isinstance(asked, dict) and isinstance(asked.get("id"), str | int | float):
            return asked["id"]  # type: ignore[no-any-return]
    return None


def _lines() -> Iterator[bytes]:
    """Those of stdin that hold something; what is too long is cut. Raises `UsageError` without a stdin."""
    if sys.stdin is None:
        raise UsageError("there is no standard input", cause="it is closed", try_=f"echo '{EXAMPLE}' | …")
    stream = sys.stdin.buffer
    while line := stream.readline(LONGEST_LINE + 1):
        rest = line
        while not rest.endswith(b"\n") and (rest := stream.readline(LONGEST_LINE)):
            pass
        if line.strip():
            yield line
