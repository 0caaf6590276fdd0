"""A session: a thousand questions, one model. `trnbench.nki.Session`."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from trnbench import Session as Command
from trnbench.bounded import kinds
from trnbench.errors import BadInput, ExitCode, TrnbenchError, UsageError, counted
from trnbench.isolation.interrupt import can_limit, from_outside
from trnbench.isolation.warm import Warm
from trnbench.registry import Registry, load_registry
from trnbench.terminal.output import say
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_emulator.commands.nki.arguments import system_of
from trnbench_emulator.commands.session.answer import Answer, Problem, digits, late, lost
from trnbench_emulator.commands.session.bench import SAMPLE, Bench
from trnbench_emulator.commands.session.candidate import EXAMPLE, Candidate, candidate, decoded
from trnbench_emulator.commands.threads import one_thread
from trnbench_emulator.nki import provide

KEPT = 4096
"""Answers that a session remembers, those asked for last."""

Value = TypeVar("Value")


class _Latest(dict[bytes | str, Value], Generic[Value]):
    """The `KEPT` values that were set last."""

    def __setitem__(self, key: bytes | str, value: Value) -> None:
        super().__setitem__(key, value)
        while len(self) > KEPT:
            del self[next(iter(self))]


class Session:
    """Answers candidates on the model of `instance`, one after the other, whichever threads ask.

    Each is carried out in a process of its own, forked from one that has loaded everything: it sees nothing
    of another, and ends after `seconds`, or beyond `memory` bytes ("1G"). `trusted` candidates are carried
    out in one process, that of the caller: for kernels that nobody has to be protected from. `facts` are
    fact files of the user's own.

        with Session("trn2-16.48xlarge") as session:
            answer = session.ask(source=text, function="matmul", arguments={"a": "512x512:bf16"})

    Raises `UnknownName` and `FactError` for an instance that there is no model of.
    """

    def __init__(
        self,
        instance: str,
        *,
        seconds: float = 10.0,
        memory: str | int = "1G",
        trusted: bool = False,
        registry: Registry | None = None,
        facts: tuple[Path, ...] = (),
    ) -> None:
        self.seconds, self.trusted = kinds.TIME_LIMIT.checked(seconds, "seconds"), trusted
        if not self.seconds:
            raise UsageError("seconds=0 is no limit", cause="each candidate has one", try_="seconds=10")
        size = kinds.MEMORY.counted(memory, "memory") if isinstance(memory, str) else memory
        self.memory = int(kinds.MEMORY.checked(size, "memory"))
        self.count = 0
        self._bench = Bench(registry or load_registry(), instance, self.memory, facts)
        self._open = ExitStack()
        self._turn = RLock()  # the warm process has one pipe
        self._warm = Warm(self._work, self._prepare)
        self._answers: _Latest[Answer] = _Latest()
        self._times: _Latest[list[str | int | float]] = _Latest()

    def ask(
        self,
        *,
        source: str = "",
        path: str | Path = "",
        function: str,
        arguments: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Answer:
        """One candidate; fields as of `Candidate`. What is wrong with it is in the answer."""
        fields = {"source": source, "path": path, "function": function, "arguments": arguments or {}}
        try:
            return self.answer(candidate(**fields, **options))
        except TrnbenchError as error:
            return Answer.refused(Problem.of(error), options.get("id"))

    def answers(self, candidates: Iterable[Candidate]) -> Iterator[Answer]:
        """In their order, each when it is there."""
        return map(self.answer, candidates)

    def answer(self, asked: Candidate) -> Answer:
        """One candidate. The same question is answered once."""
        with self._turn:
            return self._answered(asked)

    def _answered(self, asked: Candidate) -> Answer:
        self.count += 1
        try:
            digest = asked.digest(asked.text())
        except TrnbenchError as error:
            return Answer.refused(Problem.of(error), asked.id)
        known = self._answers.get(digest)
        if known is not None:
            return replace(known, id=asked.id, repeated=True)
        try:
            if self.trusted:  # in this process; its limit is an alarm, where there can be one
                answer = self._bench.answer(asked, asked.texts(), self.seconds if can_limit() else 0.0)
            else:
                answer = self._isolated(asked)
        except TrnbenchError as error:  # of an argument
            return Answer.refused(Problem.of(error), asked.id)
        answer = self._with_ties(asked, answer)
        if answer.error is None or answer.error.lasting:
            self._answers[digest] = answer
        return answer

    def close(self) -> None:
        """Ends what it started."""
        with self._turn:
            self._warm.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _isolated(self, asked: Candidate) -> Answer:
        question = pickle.dumps((asked, asked.texts()))
        ending = self._warm.ask(question, self.seconds, self.memory)
        if ending.late:
            return Answer.refused(late(self.seconds), asked.id)
        if ending.lost:
            return Answer.refused(lost(ending.lost), asked.id)
        try:
            return msgspec.msgpack.decode(ending.result, type=Answer)
        except (msgspec.MsgspecError, ValueError):
            return Answer.refused(lost("wrote something else in place of it"), asked.id)

    def _prepare(self) -> None:
        """In the warm process, once."""
        self._open.enter_context(one_thread())  # whose forks would start threads anew
        self._work(pickle.dumps((SAMPLE, SAMPLE.texts())))
        self._bench.forget()
        self._open.enter_context(provide("trnbench"))

    def _work(self, question: bytes) -> bytes:
        """In a process of the candidate's own."""
        asked, arguments = pickle.loads(question)
        try:
            return msgspec.msgpack.encode(self._bench.answer(asked, arguments))
        except BaseException as error:
            if from_outside(error):
                raise
            return msgspec.msgpack.encode(Answer.refused(Problem.of(error), asked.id))

    def _with_ties(self, asked: Candidate, answer: Answer) -> Answer:
        """Earlier candidates of the same problem, in the same time."""
        if answer.time_s is None or asked.id is None:
            return answer
        alike = self._times.setdefault(f"{asked.problem.hex()} {digits(answer.time_s)}", [])
        ties = tuple(alike)
        alike.append(asked.id)
        del alike[:-KEPT]
        return replace(answer, ties=ties)


LONGEST_LINE = 16 << 20
"""Bytes of one candidate."""


def serve(state: Command, /, *, instance: str | None, within: float, memory: int, trusted: bool) -> ExitCode:
    """Answer candidates from stdin, a line of JSON each, with a line of JSON each."""
    facts = state.facts_of(())
    system = system_of(state.registry, instance, facts)
    state.kept = "no candidate was answered"
    with Session(
        str(instance), seconds=within, memory=memory, trusted=trusted, registry=state.registry, facts=facts
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
