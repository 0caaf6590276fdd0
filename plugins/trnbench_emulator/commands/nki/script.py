"""`trnbench nki exec`: a script or a suite of tests as it is, its kernels emulated."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench import Session
from trnbench.errors import MissingFile, TrnbenchError, UsageError
from trnbench.terminal.output import say
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_emulator.commands.nki.arguments import runnable, system_of
from trnbench_emulator.kernel_run.api import emulate_kernel
from trnbench_emulator.nki import Machine, provide
from trnbench_emulator.nki.importer import repository_of
from trnbench_emulator.nki.jit import SIMULATION
from trnbench_emulator.nki.packages import device_calls, partial_packages
from trnbench_emulator.nki.simulation import simulating

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry

TARGET = "NEURON_PLATFORM_TARGET_OVERRIDE"
"""The variable by which NKI's own simulator is told the generation."""


def exec_(state: Session, /, *, instance: str | None, words: tuple[str, ...]) -> int:
    """Run SCRIPT, or a module after -m, with nki there and its kernels emulated."""
    name, arguments, module = _asked(words)
    system = _system(state.registry, instance, state.facts_of(()))
    emulated = f"emulated, model {MODEL_VERSION}"
    say(f"{emulated}: no device runs anything; {system.name}; {_digest(name, module=module)}")
    begin, timed = SIMULATION.calls, _Timed(system, state.registry)
    try:
        machine = simulating(Machine.of(system), timed)
        outer = partial_packages(_home(name, module=module))
        with _as_main(name, arguments, module=module), provide("trnbench"), device_calls(), outer, machine:
            if module:
                return _code(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))
            return _code(lambda: runpy.run_path(name, run_name="__main__"))
    finally:
        calls = SIMULATION.calls - begin
        say(f"{emulated}: {calls:,} calls of kernels on {system.name}, {timed.count:,} of them timed")


class _Timed:
    """Emulates the time of a call, for benchmarks in the script."""

    def __init__(self, system: System, registry: Registry) -> None:
        self.system = system
        self.registry = registry
        self.count = 0

    def __call__(self, kernel: Any, arguments: Mapping[str, Any]) -> Any:
        self.count += 1
        return emulate_kernel(
            kernel, arguments, instance=self.system, registry=self.registry, nki="trnbench", compare=False
        )


def _home(name: str, *, module: bool) -> Path:
    """The folder that the program's own packages are in."""
    path = Path.cwd() if module else Path(name).resolve()
    return repository_of(path / "x" if module else path) or (path if module else path.parent)


def _asked(words: Sequence[str]) -> tuple[str, list[str], bool]:
    """A script or a module, and its arguments."""
    module = bool(words) and words[0] == "-m"
    rest = list(words[1:] if module else words)
    if not rest:
        raise UsageError(
            "no script is named",
            cause="exec takes a Python script, or -m and a module",
            try_="trnbench nki exec -i INSTANCE SCRIPT.py [ARG]…, or … exec -i INSTANCE -m pytest [ARG]…",
        )
    if module and importlib.util.find_spec(rest[0].partition(".")[0]) is None:
        raise MissingFile(f"module {rest[0]} is not there", cause="nothing installed has it")
    if not module and not Path(rest[0]).is_file():
        raise MissingFile(f"{rest[0]} does not exist", cause=f"looked for it in {Path.cwd()}")
    return rest[0], rest[1:], module


def _system(registry: Registry, instance: str | None, facts: tuple[Path, ...]) -> System:
    """The one that is named, else the first of the generation that the environment names to NKI itself."""
    target = os.environ.get(TARGET, "")
    if instance or not target:
        return system_of(registry, instance, facts)
    version = target.removeprefix("gen")
    for name in registry.readable(registry.instance_names()):
        system = registry.system(name, facts)
        if not system.costs:
            continue
        if system.generation.name == target or str(Machine.of(system).nc_version) == version:
            return runnable(system)
    return system_of(registry, target, facts)


def _digest(name: str, *, module: bool) -> str:
    """The script by its content: no line of it is changed."""
    if module:
        return f"-m {name}"
    return f"{Path(name).name}, sha256 {hashlib.sha256(Path(name).read_bytes()).hexdigest()[:16]}, unchanged"


@contextmanager
def _as_main(name: str, arguments: Sequence[str], *, module: bool) -> Iterator[None]:
    """What Python sets up for a program."""
    before = sys.argv, sys.path
    sys.argv = [name, *arguments]
    sys.path = [str(Path.cwd() if module else Path(name).resolve().parent), *sys.path]
    try:
        yield
    finally:
        sys.argv, sys.path = before


def _code(program: Callable[[], Any]) -> int:
    """The exit code of a program; its traceback on stderr, as of Python's own."""
    try:
        program()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        say(str(error.code))
        return 1
    except TrnbenchError:
        raise
    except Exception as error:
        trace, ours = error.__traceback__, (__file__, runpy.__file__, "<frozen runpy>")
        while trace is not None and trace.tb_frame.f_code.co_filename in ours:
            trace = trace.tb_next
        say("".join(traceback.format_exception(type(error), error, trace)).rstrip())
        return 1
    return 0
