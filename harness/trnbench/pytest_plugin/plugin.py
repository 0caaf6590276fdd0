"""Loaded by every pytest run where trnbench is installed: options and fixtures, nothing else.

All else is imported when an option or the fixture is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest  # noqa: TID253 (this module is only ever loaded by pytest)

if TYPE_CHECKING:
    from trnbench.pytest_plugin.fixture import TrnbenchBenchmark

CASES = "kernel_cases.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    """--trnbench-instance, --trnbench-kernel, --trnbench-backend."""
    group = parser.getgroup("trnbench", "trnbench: kernels as benchmark tests")
    group.addoption(
        "--trnbench-instance",
        metavar="NAME",
        default="",
        help="Run trnbench's kernels on this system as benchmark tests (trnbench list instances).",
    )
    group.addoption(
        "--trnbench-kernel",
        metavar="GLOB",
        action="append",
        default=[],
        help="Only these kernels; may be repeated.",
    )
    group.addoption(
        "--trnbench-backend",
        metavar="NAME",
        default="",
        help="Measure or emulate with this backend; default: what measures NAME here, else the usual one.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Kernels are the tests of one more file."""
    if config.getoption("--trnbench-instance"):
        from pathlib import Path

        config.args.append(str(Path(__file__).with_name(CASES)))


@pytest.fixture
def trnbench_benchmark(request: pytest.FixtureRequest) -> TrnbenchBenchmark:
    """pytest-benchmark's `benchmark`, which also tells FLOP/s, bytes/s, % of peak and evidence.

    `trnbench_benchmark(function, *args, flops=…, bytes=…, dtype=…, instance=…)`
    """
    from trnbench.pytest_plugin.fixture import TrnbenchBenchmark

    benchmark: Any = request.getfixturevalue("benchmark")
    return TrnbenchBenchmark(benchmark)
