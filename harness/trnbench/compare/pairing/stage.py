"""Where batches are played: two programs in one process, or each in its own, in lock-step."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from trnbench.case_key import CaseKey
from trnbench.compare.pairing.duel import Duel, Player, Ready, Unfit, Wish, keyed, ready_of, seats
from trnbench.compare.pairing.operand import Operand, environment, search_path
from trnbench.errors import TrnbenchError, UsageError
from trnbench.isolation.child import Lost, carried_out
from trnbench.isolation.interrupt import CaseTimeout, limited
from trnbench.isolation.keeper import PATIENCE_S, kept
from trnbench.measure.turns import Turn
from trnbench.registry import Registry, load_registry
from trnbench.run.reply import detected

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")

LIMIT_S = 300.0
"""For one batch beyond its own time, and for one answer of a process."""


class Stage(Protocol):
    """Who plays batches, of so many a case; `cases` go by what they are called but for the difference."""

    batches: int
    where: str

    @property
    def cases(self) -> tuple[Mapping[str, CaseKey], Mapping[str, CaseKey]]:
        """Those of each side."""

    def carried(self, work: Callable[[], T]) -> T:
        """What `work` returns, where batches may be played."""

    def opened(self, number: int) -> Any:
        """A context with what carries out work on the programs of a duel, for batch `number` of each."""


class OneProcess:
    """Each batch in a copy of this process: its memory lies elsewhere than that of the one before."""

    batches, where = 24, "in one process"

    def __init__(self, registry: Registry, wish: Wish, sides: tuple[Operand, Operand]) -> None:
        self._limit_s = LIMIT_S + wish.sample_s
        self.seats = seats(registry, wish, sides[0]), seats(registry, wish, sides[1])
        self.cases = keyed(self.seats[0], sides[0]), keyed(self.seats[1], sides[1])

    @contextmanager
    def opened(self, number: int) -> Iterator[Any]:
        """A copy for each call of what is yielded."""

        def play(duel: Duel, work: Callable[[Ready], T]) -> T:
            ready = ready_of(self.seats[0][duel.first], self.seats[1][duel.second])
            try:
                told, value = carried_out(lambda _: _told(work, ready, self._limit_s))
            except Lost as lost:
                raise Unfit(f"the process that ran it {lost.how}") from lost
            if told != "ok":
                raise Unfit(told)
            return value  # type: ignore[no-any-return]

        yield play

    def carried(self, work: Callable[[], T]) -> T:
        """In a copy of this process that has imported what the cases are made of, before it makes others."""

        def inside(_: object) -> T:
            for seat in (*self.seats[0], *self.seats[1]):
                implementations = seat.case.kernel.implementations
                for kind in detected(seat.backend).kinds:
                    with suppress(Exception):  # it is told where it is measured
                        import_module(str(implementations[kind]).partition(":")[0])
            return work()

        return carried_out(inside)


def _told(work: Callable[[Ready], T], ready: Ready, limit_s: float) -> tuple[str, Any]:
    try:
        with limited(limit_s):
            return "ok", work(ready)
    except CaseTimeout:
        return f"not done after {limit_s:g} s", None
    except Unfit as error:
        return error.what, None


class Apart:
    """Each side in processes of its own, which import their own code; a pair of them for each batch."""

    batches, where = 8, "in a process each"

    def __init__(self, wish: Wish, sides: tuple[Operand, Operand], stack: ExitStack) -> None:
        scratch = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in sides]
        self.wish, self.sides = wish, sides
        self.paths = [search_path(side, folder) for side, folder in zip(sides, scratch, strict=True)]
        with ExitStack() as first:
            one, two = self._peers(0, first)
            self.cases = one.cases, two.cases

    def _peers(self, number: int, stack: ExitStack) -> list[Peer]:
        seed = Random(f"{self.wish.seed} {number}").getrandbits(32)  # of hashes: the same on both sides
        peers = [
            stack.enter_context(Peer(side, path, self.wish, seed))
            for side, path in zip(self.sides, self.paths, strict=True)
        ]
        for peer in peers:
            peer.start()
        return peers

    def carried(self, work: Callable[[], T]) -> T:
        """Here: the processes of the sides are others."""
        return work()

    @contextmanager
    def opened(self, number: int) -> Iterator[Any]:
        """Two processes."""
        with ExitStack() as stack:
            peers = self._peers(number, stack)

            def play(duel: Duel, work: Callable[[Ready], T]) -> T:
                def ready(first_first: bool, seed: int, use: Callable[[Player, Player], None]) -> None:
                    order = list(zip(peers, duel, strict=True))
                    prepared: list[Peer] = []
                    try:
                        for peer, place in order if first_first else reversed(order):
                            peer.ask((place, seed))
                            prepared.append(peer)
                        use(peers[0], peers[1])
                    finally:
                        for peer in prepared:
                            peer.ask(0)

                return work(ready)

            yield play


class Peer:
    """A process that has one side."""

    def __init__(self, side: Operand, path: Sequence[str], wish: Wish, hash_seed: int) -> None:
        from multiprocessing import Pipe

        self.side, self.cases = side, dict[str, CaseKey]()
        self.connection, theirs = Pipe()
        env = environment(path, hash_seed)
        command = [sys.executable, "-P", "-m", "trnbench.compare.pairing.stage", str(theirs.fileno())]
        self.process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], env=env, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno()
        )
        theirs.close()
        self.connection.send((tuple(side), msgspec.json.encode(wish)))

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def start(self) -> None:
        """Wait until it has planned. Raises `UsageError` with what it says against that."""
        said = self.ask(None)
        if said[0] == "refused":
            raise UsageError(f"{self.side.typed}: {said[1]}", cause=said[2], try_=said[3])
        self.cases = said[1]

    def take(self, calls: int) -> Turn:
        """As `Turns.take`, over there."""
        return Turn(*self.ask(calls))

    def ask(self, question: Any) -> Any:
        """Its answer; None only listens. Raises `Unfit` for what it cannot do, and where it is gone."""
        try:
            if question is not None:
                self.connection.send(question)
            if not self.connection.poll(LIMIT_S):
                raise Unfit(f"{self.side.typed}: its process does not answer within {LIMIT_S:g} s")
            answer = self.connection.recv()
        except (EOFError, ConnectionError):
            raise Unfit(f"{self.side.typed}: its process is gone") from None
        if answer[0] == "unfit":
            raise Unfit(f"{self.side.typed}: {answer[1]}")
        return answer


def serve(connection: Connection) -> None:
    """The other end of a `Peer`: prepares, takes turns, and checks, as it is told."""
    kept(closed=(connection.fileno(),))
    side, told = connection.recv()
    wish = msgspec.json.decode(told, type=Wish)
    try:
        own = Operand(*side)
        cases = seats(load_registry(), wish, own)
        connection.send(("cases", keyed(cases, own)))
    except TrnbenchError as error:
        connection.send(("refused", error.what, error.cause, error.try_))
        return

    def taken_in_turns(turns: Any) -> None:
        connection.send(("ready",))
        while calls := connection.recv():
            connection.send(tuple(turns.take(calls)))

    with suppress(EOFError, ConnectionError):
        while True:
            place, seed = connection.recv()
            try:
                cases[place].lend(seed, taken_in_turns)
                connection.send(("done",))
            except Unfit as error:
                connection.send(("unfit", error.what))


if __name__ == "__main__":
    from multiprocessing.connection import Connection

    serve(Connection(int(sys.argv[1])))
