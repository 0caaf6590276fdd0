"""Loops of drawn kernels' parts, recorded both ways; short ones fold here too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from drawn_kernels import source
from folded import SPEC, TRN2, Both

from trnbench_emulator.core import steady


@pytest.fixture(autouse=True)
def short_loops_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops with little to gain are left to themselves, and kernels of tests are short."""
    monkeypatch.setattr(steady, "_GAIN", 128)


@pytest.fixture(scope="module")
def both(registry: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Both]:
    folder = tmp_path_factory.mktemp("folded")
    number = iter(range(1 << 30))

    def made(body: str, where: str = TRN2) -> Both:
        file = folder / f"kernel_{next(number)}.py"
        file.write_text(source(body))
        return Both(file, registry.system(where), SPEC)

    return made
