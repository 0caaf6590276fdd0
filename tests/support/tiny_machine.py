"""The smallest plugin: one generation, one kernel that does what its axis says, one stand-in backend.

Importable by name, so that worker processes can load it too.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trnbench
from trnbench import (
    Axis,
    Case,
    Detection,
    Evidence,
    Extent,
    Figure,
    Format,
    Generation,
    Grade,
    Instance,
    Kernel,
    Link,
    LinkClass,
    LinkKind,
    Node,
    NodeKind,
    Observation,
    Point,
    PrimaryMetric,
    Reason,
    Run,
    Scope,
    System,
    Topology,
    Work,
)
from trnbench.errors import KernelError
from trnbench.registry import Registry

FLOPS = 1e9
BOUND = 200e9  # what the clocks allow, per core
DOCUMENTED = 190e9
SPEEDS = {"half": DOCUMENTED / 2, "low": 195e9, "above": 2 * BOUND, "slightly": BOUND * 1.0005}
"""Modes that end well or too well, and the FLOP/s they reach."""


def work(point: Point, extent: Extent) -> Work:
    return Work(flops=FLOPS, bytes={"hbm": 1e6}, formula="fixed")


def footprint(point: Point, extent: Extent) -> dict[str, float]:
    return {}


def requires(point: Point) -> tuple[str, ...]:
    return ("devices:9",) if point["mode"] == "huge" else ()


def kernel(name: str = "act", modes: tuple[str, ...] = ("half", "low", "above"), **changes: Any) -> Kernel:
    fields: dict[str, Any] = {
        "name": name,
        "family": "acting",
        "title": "Does what its mode says",
        "about": "shows what the runner makes of it",
        "axes": (
            Axis(name="dtype", values=("bf16",), kind="str"),
            Axis(name="mode", values=modes, kind="str"),
        ),
        "scopes": (Scope.CORE,),
        "primary": PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        "work": work,
        "footprint": footprint,
        "requires": requires,
    }
    return Kernel(**{**fields, **changes})


def topology(system: System) -> Topology:
    figure = Figure(value=1e9, origin="tiny")
    return Topology(
        name=system.name,
        nodes=(Node(0, "d0", NodeKind.DEVICE), Node(1, "d1", NodeKind.DEVICE)),
        links=(Link(0, 1, "wire"), Link(1, 0, "wire")),
        classes={"wire": LinkClass(name="wire", kind=LinkKind.NEURONLINK, bandwidth=figure, latency=figure)},
        shape=("ring", 2),
    )


GENERATION = Generation(
    name="tiny",
    title="Tiny",
    order=1,
    facts=(Path(__file__).with_name("tiny_facts.toml"),),
    instances=(
        Instance(
            name="tiny.2",
            title="Two tiny devices",
            scope=Scope.INSTANCE,
            device="tiny-device",
            core="tiny-core",
            topology="tiny_machine:topology",
        ),
    ),
)


class Actor:
    """Emulated by nobody: plays every way in which a case can end."""

    name = "emulated"

    def __init__(self, evidence: Evidence | None = None) -> None:
        self.evidence = evidence or Evidence(grade=Grade.EMULATED, by="actor", version="1")

    def detect(self) -> Detection:
        return Detection(available=True)

    def environment(self) -> dict[str, Any]:
        # In two words: a run carries the text of this file, and must not carry the name.
        return {"actor_version": "1", "Host-Name": "-".join(("secret", "host")), "driver": "2.19.64.0"}

    def unsupported(self, case: Case, system: System) -> str:
        return "the actor refuses" if case.key.point["mode"] == "unsupported" else ""

    def observe(self, case: Case, system: System) -> Observation:
        mode = str(case.key.point["mode"])
        if mode in SPEEDS:
            print(f"printed by {mode}")
            return self._seen(FLOPS / SPEEDS[mode])
        return getattr(self, f"_{mode}")()

    def _seen(self, time_s: float | None, **changes: Any) -> Observation:
        return Observation(
            evidence=self.evidence, time_s=time_s, stop_reason="deterministic model", **changes
        )

    def _crash(self) -> Observation:
        return self._seen(1 / 0)

    def _exit(self) -> Observation:
        sys.exit(7)

    def _memory(self) -> Observation:
        raise MemoryError

    def _rule(self) -> Observation:
        raise KernelError("a rule is broken", cause="the tile is too wide", try_="a smaller one")

    def _silent(self) -> Observation:
        return self._seen(None)

    def _nan(self) -> Observation:
        return self._seen(0.01, detail={"share": float("nan")})

    def _miscounted(self) -> Observation:
        return self._seen(0.01, counters={"rounds": "many"})  # type: ignore[dict-item]

    def _zero(self) -> Observation:
        return self._seen(0.0)

    def _wrong(self) -> Observation:
        return self._seen(None, reason=Reason.WRONG_RESULT, reason_text="1 of 4 elements differs")

    def _hang(self) -> Observation:
        time.sleep(60)
        raise AssertionError("nobody stopped it")

    def _deaf(self) -> Observation:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(60)
        raise AssertionError("nobody stopped it")

    def _die(self) -> Observation:
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(60)
        raise AssertionError("survived")

    def _crash_once(self) -> Observation:
        """Until the file that TINY_SPARED names is there."""
        if not os.path.exists(os.environ.get("TINY_SPARED", "")):
            raise ZeroDivisionError("not spared")
        return self._seen(FLOPS / DOCUMENTED)

    def _signal(self) -> Observation:
        """Has the command get the signal that TINY_SIGNAL names, and goes on where a hangup is ignored."""
        number = int(os.environ["TINY_SIGNAL"])
        os.kill(int(os.environ["TINY_COMMAND"]), number)
        if (number, signal.getsignal(number)) != (signal.SIGHUP, signal.SIG_IGN):
            time.sleep(60)
        return self._seen(FLOPS / DOCUMENTED)

    def _nap(self) -> Observation:
        time.sleep(0.05)
        return self._seen(FLOPS / DOCUMENTED)

    def _noted(self) -> Observation:
        """Short, and adds a byte to the file that TINY_NOTES names when it ends."""
        time.sleep(0.002)
        # A file object that a signal keeps from its `with` would warn of itself.
        notes = os.open(os.environ["TINY_NOTES"], os.O_WRONLY | os.O_APPEND)
        os.write(notes, b".")
        os.close(notes)
        return self._seen(FLOPS / DOCUMENTED)


class Unloadable(Actor):
    """Leaves this process, but does not arrive in another one."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _missing, ()


def _missing() -> None:
    raise ImportError("no driver on that machine")


class Machine:
    """A plugin of the generation with the kernels and the backend that a test needs."""

    def __init__(self, kernels: tuple[Kernel, ...] = (), backend: Any = None) -> None:
        self._kernels = kernels or (kernel(),)
        self._backend = backend or Actor()

    @trnbench.hookimpl
    def trnbench_generations(self) -> Iterator[Generation]:
        yield GENERATION

    @trnbench.hookimpl
    def trnbench_kernels(self) -> Iterator[Kernel]:
        yield from self._kernels

    @trnbench.hookimpl
    def trnbench_backends(self) -> Iterator[Any]:
        yield self._backend


class Tiny(Machine):
    """The same with reports of its own."""

    @trnbench.hookimpl
    def trnbench_reports(self) -> Iterator[Format]:
        yield Format(name="html", title="a page", suffix=".html", write="tiny_machine:page")
        yield Format(name="broken", title="raises", suffix=".broken", write="tiny_machine:broken_page")


def page(runs: tuple[Run, ...]) -> bytes:
    if number := os.environ.get("TINY_PAGE_SIGNAL"):
        os.kill(os.getpid(), int(number))
        time.sleep(60)
    rows = "".join(f"<p>{run.id}: {len(run.measurements)}" for run in runs)
    return f"<!doctype html><title>trnbench</title>{rows}".encode()


def broken_page(runs: tuple[Run, ...]) -> bytes:
    raise ZeroDivisionError("no page today")


def registry(*modes: str, backend: Any = None, **changes: Any) -> Registry:
    """The tiny machine with one kernel that plays `modes`, in this order."""
    one = kernel(modes=modes, **changes) if modes or changes else kernel(**changes)
    return Registry.of(tiny=Tiny((one,), backend))


def carried_out(
    *modes: str, backend: Any = None, store: Any = None, on_progress: Any = None, **settings: Any
) -> Run:
    """A run of cases of these modes, with these settings."""
    from trnbench.run.execute import execute
    from trnbench.run.plan import plan
    from trnbench.run.selection import RunSettings

    known = registry(*modes, backend=backend)
    chosen = known.backends["emulated"]
    return execute(plan(known), chosen, known, RunSettings(**settings), on_progress, store=store)


def endings(run: Run) -> list[str]:
    """Of each case its status, and the reason of a failure."""
    return [f"{each.status} {each.reason}".rstrip() for each in run.measurements]


def own_facts(path: Path, figure: str) -> None:
    """A file of one's own with another peak of a tiny core."""
    path.write_text(
        'schema = 1\n[sources.mine]\ndocument = "My bench"\nversion = "1"\ndate = "2027-01-01"\n'
        '[[group]]\nsubject = "tiny-core"\nscope = "core"\nsource = "mine"\nlocator = "line 1"\n'
        f'facts = [{{ metric = "peak_flops", dtypes = ["bf16"], printed = "{figure}", unit = "GFLOPS" }}]\n'
    )


def program(known: Registry) -> None:
    """The installed program with nothing but these plugins: for tests that need a process."""
    from trnbench.cli.main import cli
    from trnbench.isolation.guard import guarded
    from trnbench.terminal.context import Session

    shared = Session()
    shared.registry = known
    sys.argv[0] = "trnbench"
    guarded(lambda: cli.main(obj=shared))


if __name__ == "__main__":
    sys.modules["tiny_machine"] = sys.modules["__main__"]
    os.environ["TINY_COMMAND"] = str(os.getpid())  # cases run in other processes
    program(registry(*os.environ.get("TINY_MODES", "half,low,above").split(",")))
