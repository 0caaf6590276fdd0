"""A pytest plugin: while it is loaded, `import nki` and `import neuronxcc.nki` are trnbench's, and kernels of
Beta 1 called on arrays compute their values. What a test lacks otherwise, a framework, is stood in for."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from trnbench.registry.registry import load_registry
from trnbench_emulator.nki import Machine
from trnbench_emulator.nki.importer import stand_ins
from trnbench_emulator.nki.provide import provide
from trnbench_emulator.nki.simulation import simulating

_OPEN = ExitStack()


def pytest_configure(config: Any) -> None:
    folder = Path(os.environ["TRNBENCH_PUBLIC_FOLDER"])
    system = load_registry().system(os.environ.get("TRNBENCH_PUBLIC_SYSTEM", "trn2-16.48xlarge"))
    _OPEN.enter_context(stand_ins(folder))
    _OPEN.enter_context(provide("trnbench"))
    _OPEN.enter_context(simulating(Machine.of(system)))


def pytest_unconfigure(config: Any) -> None:
    _OPEN.close()
