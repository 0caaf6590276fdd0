"""Two cases whose programs one process holds, through the backend that measures them."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import NamedTuple

from trnbench.backend import Backend, Program
from trnbench.compare.pairing.rounds import Player
from trnbench.errors import TrnbenchError
from trnbench.generation import System
from trnbench.isolation.limit import CaseTimeout
from trnbench.isolation.output import aside
from trnbench.kernels.kernel import Case
from trnbench.measure.turns import Turns, lent


class Seat(NamedTuple):
    """A case, its system, and who measures it."""

    backend: Backend
    case: Case
    system: System

    def lend(self, seed: int, borrower: Callable[[Turns], object]) -> None:
        """Prepare the program, hand it over, and check its output. Raises `Unfit` where that goes wrong."""
        handed = False

        def use(program: Program) -> object:
            nonlocal handed
            handed = True
            turns = Turns(program)
            borrower(turns)
            return turns.output

        random.seed(seed)
        if (numpy := sys.modules.get("numpy")) is not None:
            numpy.random.seed(seed % (1 << 32))
        try:
            with aside(), lent(use):
                seen = self.backend.observe(self.case, self.system)
        except (Unfit, CaseTimeout):
            raise
        except TrnbenchError as error:
            raise Unfit(f"{self.case.id}: {error.what}", cause=error.cause) from error
        except Exception as error:
            raise Unfit(f"{self.case.id}: {type(error).__name__}: {error}") from error
        if seen.reason_text:
            raise Unfit(f"{self.case.id}: {seen.reason_text}")
        if not handed:
            raise Unfit(
                f"backend {self.backend.name!r} measures {self.case.id} without trnbench.observe",
                cause="its program is in another process, and cannot be called in turns",
                try_="trnbench run, twice, then trnbench compare",
            )


class Unfit(TrnbenchError):
    """A case that cannot be measured in turns: its result is wrong, or its program is out of reach."""


def ready_of(first: Seat, second: Seat) -> Callable[[bool, int, Callable[[Player, Player], None]], None]:
    """`Ready` of two cases: while the one lends its program, the other prepares its own."""

    def ready(first_first: bool, seed: int, use: Callable[[Player, Player], None]) -> None:
        outer, inner = (first, second) if first_first else (second, first)

        def both(mine: Turns) -> None:
            def other(theirs: Turns) -> None:
                use(mine, theirs) if first_first else use(theirs, mine)

            inner.lend(seed, other)

        outer.lend(seed, both)

    return ready
