"""A stand-in for a measured stack: real processes, cases that fail as their mode says, and a clock that only
the work advances, so that no verdict depends on how busy the machine is."""

from __future__ import annotations

import os
import platform
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import tiny_machine as tiny

from trnbench import Case, Detection, Observation, Program, Run, System, Timing
from trnbench.measure.observe import observe
from trnbench.registry import Registry
from trnbench.results.measurement import Conditions

# A limit by this machine's clock: it is never reached, however busy that is.
QUICK = Timing(warm_up_s=0.0, sample_s=60.0, samples=20, cold_samples=0, growth_s=0.02)
INSTANCE = "i-0123456789abcdef0"
"""An instance id, as services of a cloud tell it."""


def _parent_of(process: int) -> int:
    # Behind the name, which is in brackets and may hold anything: state, parent.
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


class Quiet:
    """What is seen of a machine that does nothing else, whatever this one does."""

    def conditions(self) -> Conditions:
        return Conditions(
            wall_s=1.0, cpu_s=1.0, queued_s=0.0, preempted=0, waited=0, others=0.0, stolen=0.0, pressure=0.0
        )


class Busy:
    """One whose processors others have for half of the time."""

    def conditions(self) -> Conditions:
        return Conditions(
            wall_s=1.0, cpu_s=0.5, queued_s=0.5, preempted=125, waited=0, others=0.5, stolen=0.0, pressure=1.0
        )


class Backend:
    """Measures a stretch of time; `folder` is where a mode remembers that it ran."""

    name = "stand-in"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._spent = 0.0

    def detect(self) -> Detection:
        return Detection(available=True, instance="tiny.2")

    def environment(self) -> dict[str, Any]:
        return {}

    def unsupported(self, case: Case, system: System) -> str:
        return ""

    def observe(self, case: Case, system: System) -> Observation:
        mode = str(case.key.point["mode"]).rstrip("0123456789")
        drawn = str(random.getrandbits(32))
        if mode == "crash" or (mode == "once" and self._first()):
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
        if mode in ("lost", "stopped") and os.environ.get("PMI_RANK") == "1":
            # What becomes of a rank whose own process dies, or hangs; this is a process below its keeper.
            os.kill(_parent_of(os.getppid()), signal.SIGKILL if mode == "lost" else signal.SIGSTOP)
            time.sleep(60)
        if mode == "memory":
            raise MemoryError("no 3 TiB")
        if mode == "hang":
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            time.sleep(60)
        if mode == "together":
            self._together(case)
        if mode == "held" and self._first():
            # What becomes of a case whose machine dies; this is a process of that machine.
            written = self.folder / "holding"
            written.write_text(os.environ["RAY_RAYLET_PID"])
            written.rename(self.folder / "held")
            parent = os.getppid()
            until(lambda: os.getppid() != parent)
        if mode == "second" and self._earlier(case) == 1:
            raise ZeroDivisionError("this was the second process")
        notes = (f"ran on {platform.node()}, {INSTANCE}",) if mode == "names" else ()
        lags = mode == "lags" and os.environ.get("PMI_RANK") == "2"
        wrong = mode == "wrong" or (mode == "wrong-there" and os.environ.get("PMI_RANK") == "2")
        seconds = 0.033 if lags else 0.011
        if mode == "jumps":
            seconds *= 1 + self._earlier(case)
        if mode == "settles" and self._earlier(case) == 0:
            seconds *= 1.12
        made = self._program(seconds, "stale" if wrong else "right", notes)
        seen = observe(
            made,
            device="tiny core 0",
            named_by="itself",
            timing=QUICK,
            timer=self._clock,
            watch=Busy if mode == "busy" else Quiet,
        )
        return msgspec.structs.replace(seen, detail={**seen.detail, "process": os.getpid(), "drawn": drawn})

    def _clock(self) -> float:
        self._spent += 1e-8  # reading it takes a little
        return self._spent

    def _together(self, case: Case) -> None:
        """Ends when two cases of this mode run at once."""
        (self.folder / str(case.key.point["mode"])).touch()
        until(lambda: len(list(self.folder.glob("together*"))) == 2)

    def _earlier(self, case: Case) -> int:
        """How many processes of this case there were before this one."""
        name = str(case.key.point["mode"])
        before = len(list(self.folder.glob(f"{name}-*")))
        (self.folder / f"{name}-{before}").touch()
        return before

    def _first(self) -> bool:
        mark = self.folder / "tried"
        if mark.exists():
            return False
        mark.touch()
        return True

    def _program(self, seconds: float, output: str, notes: tuple[str, ...] = ()) -> Program:
        def run() -> str:
            self._spent += seconds
            return output

        return Program(
            run=run,
            check=lambda found: "" if found == "right" else f"{found!r} is not right",
            awaited="it is done when it returns",
            checked="a word",
            amount=seconds,
            smaller=lambda: self._program(seconds / 4, output),
            notes=notes,
        )


def until(done: Callable[[], bool]) -> None:
    for _ in range(1000):
        if done():
            return
        time.sleep(0.1)
    raise TimeoutError("not within 100 s")


class Neuron(Backend):
    """The same on machines where Ray counts neuron_cores."""

    resource = "neuron_cores"


def registry(*modes: str, folder: Path) -> Registry:
    """Modes may repeat."""
    named = tuple(f"{mode}{number}" for number, mode in enumerate(modes))

    return Registry.of(measured=tiny.Machine((tiny.kernel(modes=named),), Backend(folder)))


def carried_out(*modes: str, folder: Path, on_progress: Any = None, **settings: Any) -> Run:
    """A run of cases of these modes, with these settings."""
    from trnbench.run.execute import execute
    from trnbench.run.plan import plan
    from trnbench.run.selection import RunSettings

    known = registry(*modes, folder=folder)
    return execute(plan(known), known.backends["stand-in"], known, RunSettings(**settings), on_progress)


def main() -> None:
    """The installed program with this backend alone: for tests that need several processes."""
    from trnbench.measure import conditions
    from trnbench.run.ranks import executor, rendezvous

    rendezvous.WAIT_S = float(os.environ.get("RANKS_WAIT_S", "60"))
    executor.BOOT_S = float(os.environ.get("RANKS_BOOT_S", "30"))
    conditions.seen = Quiet().conditions
    tiny.program(registry(*os.environ["MACHINE_MODES"].split(","), folder=Path.cwd()))


if __name__ == "__main__":
    import sys

    sys.modules["measured_machine"] = sys.modules["__main__"]
    main()
