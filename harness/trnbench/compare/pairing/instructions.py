"""Instructions of the work of a case, which no load changes: a metric of its own, never mixed with time.

A process that makes n calls and one that makes 2 n are counted whole; what lies between is n calls. `perf`
counts, where the system and the processor let it, else Valgrind, on any machine, and slowly.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from trnbench.case_key import CaseKey
from trnbench.compare.change import Change
from trnbench.compare.comparison import effect_verdict
from trnbench.compare.pairing.duel import Wish, duels, keyed, seats, side
from trnbench.compare.pairing.operand import Kind, Operand, environment, search_path
from trnbench.errors import TrnbenchError, UsageError, cut
from trnbench.measure.turns import Turns
from trnbench.registry import load_registry

THRESHOLD = 0.002
"""Of a count where none is given: what hashes, addresses and the clock's readers add differs by less."""

COUNTED_S = 1e-3
"""Of the n calls: Valgrind takes a thousand times as long for a product of matrices."""


class Counter(NamedTuple):
    """`prefix` goes before a command, `pattern` finds the count in what that writes to standard error."""

    name: str
    prefix: tuple[str, ...]
    pattern: str


PERF = Counter("perf", ("perf", "stat", "-x,", "-e", "instructions:u", "--"), r"^(\d+),[^,]*,instructions")
VALGRIND = Counter(
    "Valgrind",
    ("setarch", "-R", "valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"),
    r"I\s+refs:\s+([\d,]+)",
)


def counter() -> Counter:
    """What counts here. Raises `UsageError` where nothing does."""
    if shutil.which("perf") and re.search(PERF.pattern, _said((*PERF.prefix, "true")), re.MULTILINE):
        return PERF
    if shutil.which("valgrind"):
        return VALGRIND
    raise UsageError(
        "nothing here counts instructions",
        cause="valgrind is not installed, and perf is not, or is not allowed to",
        try_="apt-get install valgrind; or without --instructions, which takes time",
    )


def counts(wish: Wish, sides: Sequence[Operand], by: Counter, threshold: float = THRESHOLD) -> list[Change]:
    """Of every case that both sides have. Raises `UsageError`, `NothingSelected`."""
    with ExitStack() as stack:
        told = []
        for side in sides:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            path = search_path(side, scratch) if side.kind is Kind.SOURCES else ()
            told.append(_Counted(side, path, wish, by))
        first, second = told
        return [
            _change(cases, first.count(duel.first), second.count(duel.second), threshold)
            for duel, cases in duels(first.cases, second.cases).items()
        ]


class _Counted:
    """One side, in a process for each count."""

    def __init__(self, side: Operand, path: Sequence[str], wish: Wish, by: Counter) -> None:
        self.side, self._wish, self._by = side, wish, by
        self._env = {**environment(path, 0), "OPENBLAS_NUM_THREADS": "1"}
        self.cases, self._calls = msgspec.json.decode(
            self._run((), -1, 0), type=tuple[dict[str, CaseKey], list[tuple[int, float]]]
        )

    def count(self, place: int) -> float:
        """Of the case at `place`."""
        calls, repeats = self._calls[place]
        once, twice = (self._count(place, many) for many in (calls, 2 * calls))
        return (twice - once) / (calls * repeats)

    def _count(self, place: int, calls: int) -> int:
        said = self._run(self._by.prefix, place, calls)
        return int(re.findall(self._by.pattern, said, re.MULTILINE)[-1].replace(",", ""))

    def _run(self, prefix: Sequence[str], place: int, calls: int) -> str:
        given = msgspec.json.encode((tuple(self.side), self._wish, place, calls)).decode()
        command = [*prefix, sys.executable, "-P", "-m", "trnbench.compare.pairing.instructions", given]
        return _said(command, self._env, plain=not prefix)


def _said(command: Sequence[str], env: dict[str, str] | None = None, *, plain: bool = False) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode and env is not None:
        raise UsageError(
            "the process whose instructions are counted has failed",
            cause=cut(done.stderr.strip().rpartition("\n")[2], 200),
            try_="without --instructions, to see whether the case runs",
        )
    return done.stdout if plain else done.stderr


def _change(cases: tuple[CaseKey, CaseKey], first: float, second: float, threshold: float) -> Change:
    effect = second / first - 1.0
    return Change(
        case=cases[1], metric="instructions", unit="", effect=effect, exact=True,
        before=side(cases[0], first), after=side(cases[1], second),
        verdict=effect_verdict(effect, threshold),  # slower by this metric; nothing of time is claimed
    )  # fmt: skip


def main(given: str) -> None:
    """The process that is counted; for no place, one that tells the cases and the calls of a turn of each."""
    (typed, kind, commit), wish, place, many = msgspec.json.decode(
        given, type=tuple[tuple[str, Kind, str], Wish, int, int]
    )
    own = Operand(typed, kind, commit)
    cases = seats(load_registry(), wish, own)
    if place >= 0:
        cases[place].lend(wish.seed, lambda turns: turns.take(many))
        return
    calls: list[tuple[int, float]] = []

    def looked_at(turns: Turns) -> None:
        quickest = min((turns.take(1) for _ in range(5)), key=lambda turn: turn.wall_s)
        calls.append((max(1, round(COUNTED_S / max(quickest.wall_s, 1e-9))), quickest.repeats))

    for seat in cases:
        seat.lend(wish.seed, looked_at)
    sys.stdout.write(msgspec.json.encode((keyed(cases, own), calls)).decode())


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except TrnbenchError as error:
        sys.exit(error.sentence)
