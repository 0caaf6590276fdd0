"""Counts what a script or suite does under `trnbench nki exec`: calls of kernels, assertions after them.

An assertion counts where it passed after a kernel was called: of a suite, in the same test. Those of NumPy,
PyTorch and `assert` count; of a script that pytest does not read, `assert` statements do not.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trnbench import program
from trnbench_emulator.commands.nki import script
from trnbench_emulator.nki import simulation
from trnbench_emulator.nki.simulation import simulated as carried_out

COUNTS: dict[str, Counter[str]] = {
    "calls": Counter(),  # of each kernel
    "passed": Counter(),  # tests with assertions after a call of it
    "failed": Counter(),
    "assertions": Counter(),  # by the function that asserts
    "tests": Counter(),  # by outcome
}
REFUSED: dict[str, str] = {}
WHY: dict[str, str] = {}


class Test:
    """The one that is carried out, or the whole script: its kernels, and its assertions after a call."""

    def __init__(self) -> None:
        self.kernels: set[str] = set()
        self.assertions = 0
        self.depth = 0

    def asserted(self, what: str) -> None:
        if self.kernels and not self.depth:
            self.assertions += 1
            COUNTS["assertions"][what] += 1

    def ended(self, outcome: str) -> None:
        if outcome in ("passed", "failed") and (self.assertions or outcome == "failed"):
            COUNTS[outcome].update(self.kernels)


TEST = [Test()]


def counted(kernel: Any, args: Any, kwargs: Any) -> Any:
    name = getattr(kernel, "__name__", str(kernel))
    COUNTS["calls"][name] += 1
    TEST[0].kernels.add(name)
    try:
        return carried_out(kernel, args, kwargs)
    except Exception as error:
        REFUSED[name] = f"{type(error).__name__}: {error}"
        raise


def watch(module: str, name: str) -> None:
    """Counts what passes of a function that asserts; what it asserts inside itself is not counted again."""
    owner = importlib.import_module(module)
    function = getattr(owner, name)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        test = TEST[0]
        test.depth += 1
        try:
            result = function(*args, **kwargs)
        finally:
            test.depth -= 1
        test.asserted(f"{module}.{name}")
        return result

    setattr(owner, name, wrapper)


# As a plugin of pytest ---------------------------------------------------------------------------------


def pytest_runtest_setup(item: Any) -> None:
    TEST[0] = Test()


def pytest_assertion_pass(item: Any, lineno: int, orig: str, expl: str) -> None:
    TEST[0].asserted("assert")


def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        COUNTS["tests"][report.outcome] += 1
        TEST[0].ended(report.outcome)
    if report.failed:
        WHY[report.nodeid] = str(report.longrepr).strip().splitlines()[-1][:300]


def main() -> None:
    system, *words = sys.argv[1:]
    for name in ("assert_allclose", "assert_array_equal", "assert_almost_equal", "assert_array_almost_equal"):
        watch("numpy.testing", name)
    if importlib.util.find_spec("torch") is not None:
        watch("torch.testing", "assert_close")
    simulation.simulated = counted
    code = script._code

    def carry_out(program: Callable[[], Any]) -> int:
        result = 1
        try:
            result = code(program)
        finally:
            if words[:2] != ["-m", "pytest"]:
                TEST[0].ended("failed" if result else "passed")
            Path(os.environ["TRNBENCH_TEST_COUNTS"]).write_text(
                json.dumps({**COUNTS, "refused": REFUSED, "why": WHY})
            )
        return result

    script._code = carry_out
    if words[:2] == ["-m", "pytest"]:
        words[2:2] = ["-p", "counting"]
    sys.argv = ["trnbench", "nki", "exec", "-i", system, *words]
    program.main()


if __name__ == "__main__":
    import counting  # as pytest will import it: one set of counters

    counting.main()
