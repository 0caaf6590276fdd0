"""Several programs of one launch: kernel[2] runs on two cores that share HBM and wait for each other.

They are carried out in turn, one at a time: a program runs until it waits for the others, so the
result does not depend on chance. Instructions are reported of program 0; what takes time is recorded
program by program, with shapes only.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.memory import Form
from trnbench_emulator.nki.recording import STATE, Recording
from trnbench_emulator.nki.tensor import NkiTensor


class Programs:
    """Runs `count` callables as programs; `meet` is where they wait for each other."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.turn = 0
        self.failure: BaseException | None = None
        self.done = [False] * count
        self._change = threading.Condition()
        self._tensors: list[NkiTensor] = []
        self._next = [0] * count
        self._boards: dict[Any, dict[int, Any]] = {}
        self._met: Counter[tuple[int, Any]] = Counter()  # how often a program has come to a meeting
        self._at: dict[int, tuple[Any, str]] = {}  # where programs wait for others

    # Shared HBM ---------------------------------------------------------------------------------

    def shared(self, program: int, form: Form, name: str) -> NkiTensor | None:
        """The tensor another program has allocated already as its n-th in shared HBM, else None."""
        at = self._next[program]
        if at >= len(self._tensors):
            return None
        self._next[program] += 1
        tensor = self._tensors[at]
        if tensor.form is not form:
            raise KernelError(
                f"ndarray: program {program} allocates {form!r} {name!r} in shared HBM where "
                f"another program has {tensor.form!r} ({site.here()})",
                cause="all programs of a launch share these tensors, in the order of their allocation",
                try_="allocate them alike in every program, or use nl.private_hbm",
            )
        return tensor

    def share(self, program: int, tensor: NkiTensor) -> None:
        self._next[program] += 1
        self._tensors.append(tensor)

    # Turns --------------------------------------------------------------------------------------

    def run(self, bodies: list[Callable[[], Any]]) -> list[Any]:
        """The results of all bodies. The first failure stops them all and is raised."""
        results: list[Any] = [None] * self.count
        saved = STATE.recorder

        def carry_out(program: int) -> None:
            try:
                self._wait(program)
                if self.failure is None:
                    results[program] = bodies[program]()
            except BaseException as error:  # handed to the caller's thread
                self.failure = self.failure or error
            finally:
                with self._change:
                    self.done[program] = True
                    self._pass_on(program)
                    self._change.notify_all()

        threads = [threading.Thread(target=carry_out, args=(n,), daemon=True) for n in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        STATE.recorder = saved
        if self.failure is not None:
            raise self.failure
        return results

    def meet(self, recorder: Recording, key: Any, item: Any = None) -> dict[int, Any]:
        """Wait until every program is here; what each of them brought, by program."""
        self._met[recorder.program, key] += 1
        meeting = (key, self._met[recorder.program, key])
        board = self._boards.setdefault(meeting, {})
        board[recorder.program] = item
        self._at[recorder.program] = (meeting, site.here())
        while len(board) < self.count:
            self._check_stuck(recorder)
            if any(self.done[rival] and rival not in board for rival in range(self.count)):
                raise KernelError(
                    f"program {recorder.program} waits for another one that has ended ({site.here()})",
                    cause="nisa.core_barrier and nisa.sendrecv are calls that all programs have to make",
                )
            with self._change:
                self._pass_on(recorder.program)
                self._change.notify_all()
            self._wait(recorder.program)
            STATE.recorder = recorder
            if self.failure is not None:
                raise KernelError("another program of the launch failed")
        self._at.pop(recorder.program, None)
        if recorder.shadow is not None:
            recorder.shadow.meet(recorder.program)
        return board

    def _check_stuck(self, recorder: Recording) -> None:
        """Raises `KernelError` when every program waits, and no two of them for the same."""
        waiting = {key for key, _ in self._at.values()}
        if len(self._at) < self.count or any(len(self._boards[key]) == self.count for key in waiting):
            return
        places = "; ".join(
            f"program {number} at {_called(key)} ({line})"
            for number, ((key, _), line) in sorted(self._at.items())
        )
        raise KernelError(
            f"the programs of the launch wait for each other without end: {places}",
            cause="each meets the others in an order of its own",
            try_="make the same calls of nisa.core_barrier and nisa.sendrecv in the same order everywhere",
        )

    def _pass_on(self, program: int) -> None:
        for step in range(1, self.count + 1):
            successor = (program + step) % self.count
            if not self.done[successor]:
                self.turn = successor
                return

    def _wait(self, program: int) -> None:
        with self._change:
            self._change.wait_for(lambda: self.turn == program or self.failure is not None)


def _called(key: Any) -> str:
    """The call a meeting is about."""
    return f"nisa.{key}" if isinstance(key, str) else f"nisa.sendrecv, pipe {key[1]}"
