"""Inputs, each drawn by its number: in processes of their own under limits, some through the command."""

from __future__ import annotations

import json
import mmap
import os
import resource
import select
import shutil
import signal
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from forked import carried_out
from tests.campaign.options import OPTIONS
from tests.campaign.parsers import PARSERS
from tests.campaign.rule import BYTES, SECONDS, broken
from tests.campaign.surface import Surface
from tests.campaign.words import mutated

SURFACES = (*PARSERS, *OPTIONS)
EVERY = 10
"""One row of as many inputs as there are surfaces has each of them; the others have parsers alone, which take
a hundredth of a command's time."""

_PATIENCE = 4
"""Times the limit that a process may take for one input before it is ended from outside: an alarm does not
stop what never returns to Python."""


class Input(NamedTuple):
    surface: Surface
    text: str


class Broken(NamedTuple):
    """An input that broke the rule."""

    number: int
    surface: str
    text: str
    how: str


class _TooLong(BaseException):
    pass


def drawn(seed: int, number: int) -> Input:
    """The input of a number."""
    random = Random(f"{seed}/{number}")
    row, place = divmod(number, len(SURFACES))
    surface = SURFACES[place] if row % EVERY == 0 else random.choice(PARSERS)
    return Input(surface, mutated(random, surface.examples))


def in_process(seed: int, numbers: range, folder: Path) -> Iterator[tuple[int, Broken | None]]:
    """Each number with how its input broke the rule, as they are done; ended processes are begun anew."""
    left = numbers
    while left:
        with _Worker(seed, left, folder) as worker:
            for number, found in worker.answers():
                yield number, found
                left = range(number + 1, numbers.stop)


class _Worker:
    """A process that goes through inputs and tells of each; its `at` is the input under way."""

    def __init__(self, seed: int, numbers: range, folder: Path) -> None:
        self._seed, self._numbers, self._folder = seed, numbers, folder

    def __enter__(self) -> _Worker:
        self._at = mmap.mmap(-1, 8)
        self._at.write(struct.pack("q", self._numbers.start))
        reading, writing = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(reading)
            _go_through(self._seed, self._numbers, self._folder, self._at, writing)
        os.close(writing)
        self._reading = os.fdopen(reading, encoding="utf-8")
        self._ended = False
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ended:
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)
        self._reading.close()
        self._at.close()

    def answers(self) -> Iterator[tuple[int, Broken | None]]:
        done = self._numbers.start
        while done < self._numbers.stop:
            line = self._line()
            if line:
                told = json.loads(line)
                done = told["to"]
                yield done - 1, Broken(**told["broken"]) if told["broken"] else None
                continue
            if self._ended:
                at = struct.unpack("q", self._at[:8])[0]
                surface, text = drawn(self._seed, at)
                yield at, Broken(at, surface.name, text[:500], f"the process ended: {self._how}")
                return

    def _line(self) -> str:
        """What the process says next; "" where it is gone, or was busy too long and is ended."""
        began, at = self._cpu_s(), self._at[:8]
        while not select.select([self._reading], [], [], 1.0)[0]:
            if self._at[:8] != at:
                began, at = self._cpu_s(), self._at[:8]
            if self._cpu_s() - began > _PATIENCE * SECONDS:
                os.kill(self._child, signal.SIGKILL)
                break
        line = self._reading.readline()
        if not line:
            status = os.waitpid(self._child, 0)[1]
            self._ended, self._how = True, f"exit {os.waitstatus_to_exitcode(status)}"
        return line

    def _cpu_s(self) -> float:
        with open(f"/proc/{self._child}/stat", encoding="ascii") as stream:
            fields = stream.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _go_through(seed: int, numbers: range, folder: Path, at: mmap.mmap, writing: int) -> None:
    """The process: never returns."""
    try:
        os.chdir(folder)
        os.environ.update(_own_world(folder))
        signal.signal(signal.SIGPROF, _too_long)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for place in (0, 1, 2):
            os.dup2(nowhere, place)
        _limit_memory()
        told = os.fdopen(writing, "w", encoding="utf-8")
        for number in numbers:
            at[:8] = struct.pack("q", number)
            how = judged(drawn(seed, number))
            if how or number % 50 == 49 or number == numbers.stop - 1:
                surface, text = drawn(seed, number)
                found = Broken(number, surface.name, text[:500], how)._asdict() if how else None
                told.write(json.dumps({"to": number + 1, "broken": found}) + "\n")
                told.flush()
    finally:
        os._exit(9)


def judged(given: Input) -> str:
    """How the input breaks the rule in this process; "" where it keeps it."""
    began = time.process_time()
    # Again and again: one exception may be caught on its way.
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 0.5)
    try:
        told = given.surface.take(given.text)
    except _TooLong:
        return f"more than {SECONDS:g} s"
    except MemoryError:
        return f"more than {BYTES // 1_000_000} MB"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if time.process_time() - began > SECONDS:
        return f"more than {SECONDS:g} s"
    return broken(told.code, told.text, given.surface.codes)


def through_the_command(seed: int, number: int, folder: Path) -> Broken | None:
    """An option's input given to the command, which is a process of its own."""
    random = Random(f"{seed}/command/{number}")
    surface = random.choice(OPTIONS)
    text = mutated(random, surface.examples)
    if surface.file:
        (folder / surface.file).write_bytes(text.encode("utf-8", "surrogateescape"))
    answer = carried_out(
        {
            "words": [each.replace("{}", text.replace("\0", "")) for each in surface.words],
            "folder": str(folder),
            "env": _own_world(folder),
            "memory": BYTES,
            "limit_s": 60 * SECONDS,
        }
    )
    how = broken(answer["code"], answer["stderr"], surface.codes)
    if answer["cpu_s"] > SECONDS or answer["late"]:
        how = f"{answer['cpu_s']:.1f} s"
    if answer["left"]:
        how = f"{answer['left']} processes outlived it"
    return Broken(number, surface.name, text[:500], f"through the command: {how}") if how else None


def furnished(folder: Path) -> Path:
    """A folder with what examples name: a kernel, a store with a run."""
    folder.mkdir(parents=True, exist_ok=True)
    kernels = Path(__file__).parents[1] / "emulator" / "commands" / "nki_kernels" / "small.py"
    shutil.copyfile(kernels, folder / "small.py")
    carried_out(
        {
            "words": ["--store", "fuzzed.db", "run", "--no-report"],
            "folder": str(folder),
            "env": _own_world(folder),
            "modes": ["half", "low"],
        }
    )
    return folder


def _own_world(folder: Path) -> dict[str, Any]:
    return {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "DATA", "CACHE", "STATE")}


def _limit_memory() -> None:
    from tests.campaign.surface import registry

    registry().instance_names()
    with open("/proc/self/statm", encoding="ascii") as stream:
        used = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, resource.RLIM_INFINITY))


def _too_long(_number: int, _frame: object) -> None:
    raise _TooLong
