"""A command below the process that was typed: what plugins of others do to it is named, and ends with it.

The process that was typed watches. Where a plugin does not let itself be loaded, the command begins again
without it.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, NoReturn

from trnbench.errors import ExitCode, PluginError
from trnbench.isolation.guard import is_command, tell_end
from trnbench.isolation.interrupt import SIGNALS
from trnbench.isolation.keeper import forked, kept

LIMIT_S = 13.0
"""For what is said to last 10 s at most: the alarm inside rings first."""

END_S = 3.0
"""For a command that has come to its end, or was interrupted twice, to be gone."""

_PATIENCE_S = 0.2
_HEAD = 4  # bytes of a note's length, before it
_WATCHED = (*SIGNALS, signal.SIGCHLD)
_leave = os._exit  # a plugin may put something else in its place


class Suspect(NamedTuple):
    """A plugin of others, or a command of one; `words` are what it is called in a message."""

    name: str
    distribution: str
    words: str
    target: str


_refused: dict[tuple[str, str], tuple[str, str]] = {}
_suspects: dict[str, Suspect] = {}
_notes: list[int] = []


def offered() -> bool:
    """Whether this is a command's process, and none is watching it yet."""
    return is_command() and not _notes and hasattr(signal, "sigtimedwait")  # not on macOS


def suspected(distribution: str) -> bool:
    """Whether what this distribution brings is kept apart."""
    return distribution in _suspects


def refusals() -> dict[tuple[str, str], tuple[str, str]]:
    """Plugins by name and distribution that could not be loaded: what each did, and the cause."""
    return dict(_refused)


def take(refusals: Mapping[tuple[str, str], tuple[str, str]]) -> None:
    """In a worker: what the command knows."""
    _refused.update(refusals)


@contextmanager
def asked(suspect: Suspect, *, again: bool = True) -> Iterator[None]:
    """Around code of a plugin that has to return within 10 s. Where it does not, or ends the process, the
    command begins `again` without it, or ends with its name."""
    _note("asks", [*suspect, again])
    try:
        yield
    finally:
        _note("asks", None)


def refuse(suspect: Suspect, what: str, cause: str) -> None:
    """Does not return where this process is watched: the command begins again in another one, without this
    plugin, which did something to all of the process."""
    if _notes:
        _note("refuses", [suspect.name, suspect.distribution, what, cause])
        _leave(ExitCode.CRASH)


def carries_out(words: str) -> None:
    """From here on it is this command of a plugin that ends the process, if one does."""
    _note("carries out", words)


def _ended(code: int) -> None:
    """What the process ends with says nothing any more."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    _note("ends", code)


def _note(word: str, value: Any) -> None:
    if _notes:
        note = marshal.dumps((os.getpid(), word, value))
        with suppress(OSError):  # closed by somebody: then the end is not heard of either
            os.write(_notes[0], len(note).to_bytes(_HEAD) + note)


def supervise(suspects: Sequence[Suspect]) -> None:
    """Goes on in a new process, which `suspects` are loaded in. The present one does not return: it hands on
    signals, and ends as the command does, after all that this has started."""
    _suspects.update((each.distribution, each) for each in suspects)
    while True:
        reading, writing = os.pipe()
        heard, hearing = os.pipe()
        usual = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGCHLD)}
        gc.freeze()  # what is there already is never garbage
        pid = forked()
        if pid == 0:
            os.close(reading)
            os.close(heard)
            kept(closed=(writing,), session=False, heard=hearing)
            os.close(hearing)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            _notes[:] = [writing]
            tell_end(_ended)
            _note("is", None)
            signal.pthread_sigmask(signal.SIG_SETMASK, usual)
            return
        for descriptor in (writing, hearing):
            os.close(descriptor)
        for descriptor in (reading, heard):
            os.set_blocking(descriptor, False)
        _Watch(pid, reading, heard).until_end()
        for descriptor in (reading, heard):
            os.close(descriptor)


class _Watch:
    """A command under way, below its keeper `pid`, as its notes tell of it; `heard` has the numbers of
    signals that all of the group was sent."""

    def __init__(self, pid: int, notes: int, heard: int) -> None:
        self._keeper, self._notes, self._group, self._rest = pid, notes, heard, b""
        self._process = 0
        self._signals: list[int] = []
        self._interrupted = 0
        self._asked: tuple[Suspect, bool] | None = None
        self._busy = ""
        self._code: int | None = None
        self._until = float("inf")
        self._late = self._refused = False

    def until_end(self) -> None:
        """Returns where the command is to begin again; else this process ends."""
        status = None
        while status is None:
            signalled = signal.sigtimedwait(_WATCHED, _PATIENCE_S)
            if signalled is not None and signalled.si_signo != signal.SIGCHLD:
                self._signalled(signalled.si_signo, by_terminal=signalled.si_code > 0)
            if signalled is None:
                self._of_group()  # what the terminal sent
            self._read()
            while self._process and self._signals:
                self._hand_on(self._signals.pop(0))
            if time.monotonic() > self._until:
                self._until, self._late = float("inf"), True
                os.kill(self._keeper, signal.SIGTERM)
            ended_pid, ending = os.waitpid(self._keeper, os.WNOHANG)
            status = ending if ended_pid else None
        self._read()
        if self._code is not None:
            _leave(self._code)
        if not self._refused:
            self._blame(os.waitstatus_to_exitcode(status))

    def _signalled(self, number: int, *, by_terminal: bool) -> None:
        self._interrupted += 1
        if not by_terminal:  # which reaches the command as well
            self._signals.append(number)
        if self._interrupted > 1:
            self._until = min(self._until, time.monotonic() + END_S)

    def _hand_on(self, number: int) -> None:
        """Unless the whole group was sent it, as timeout(1) does: then the command has it."""
        select.select([self._group], [], [], _PATIENCE_S)
        if number in self._of_group():
            while signal.sigtimedwait({number}, 0) is not None:
                pass  # to this process alone and to the group: it is one
            return
        with suppress(ProcessLookupError):
            os.kill(self._process, number)

    def _of_group(self) -> bytes:
        try:
            return os.read(self._group, 1 << 10)
        except BlockingIOError:
            return b""

    def _blame(self, code: int) -> None:
        """Whoever was asked when the process ended; where nobody was, all that may have ended it."""
        from trnbench.isolation.child import Lost  # brings pickle; few commands are lost

        if self._interrupted:  # and it did not hear, or had no word for it
            with suppress(OSError):
                os.write(2, b"\ninterrupted\n")
            _leave(ExitCode.INTERRUPTED)
        how = "does not end within 10 s" if self._late else Lost(code).how
        if self._asked is not None:
            suspect, again = self._asked
            what = how if self._late else f"ends the process that loads it: it {how}"
            cause = f"importing {suspect.target}, or one of its hooks, does so without an exception"
            if again:
                _refused[suspect.name, suspect.distribution] = (what, cause)
                return
            _say(f"{suspect.words} {what}", cause, suspect.distribution)
        words = [each.words for each in _suspects.values()]
        who = self._busy or (words[0] if len(words) == 1 else f"one of {', '.join(words)}")
        culprit = next(iter(_suspects)) if len(_suspects) == 1 else "NAME"
        _say(f"{who} ended the command: its process {how}", "an end without a word is none", culprit)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            while part := os.read(self._notes, 1 << 16):
                self._rest += part
        while len(self._rest) >= _HEAD + (size := int.from_bytes(self._rest[:_HEAD])) > _HEAD:
            note, self._rest = self._rest[_HEAD : _HEAD + size], self._rest[_HEAD + size :]
            process, word, value = marshal.loads(note)
            self._process = self._process or process
            if process == self._process:  # not a copy of it
                self._heard(word, value)

    def _heard(self, word: str, value: Any) -> None:
        if word == "asks":
            self._asked = None if value is None else (Suspect(*value[:-1]), value[-1])
            self._until = float("inf") if value is None else time.monotonic() + LIMIT_S
        elif word == "refuses":
            self._refused = True
            _refused[value[0], value[1]] = (value[2], value[3])
        elif word == "carries out":
            self._busy = value
        elif word == "ends":
            self._code, self._until = value, time.monotonic() + END_S


def _say(what: str, cause: str, distribution: str) -> NoReturn:
    error = PluginError(what, cause=cause, try_=f"without it: trnbench --no-plugin {distribution} …")
    with suppress(OSError):
        os.write(2, f"error: {error}\n".encode())
    _leave(ExitCode.CRASH)
