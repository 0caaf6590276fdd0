"""A run with one case of every kind, as a store is given it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import tiny_machine as tiny

from trnbench import Run
from trnbench.errors import TrnbenchError
from trnbench.run.execute import execute
from trnbench.run.plan import plan


def make_run(**changes: Any) -> Run:
    registry = tiny.registry("half", "low", "above", "crash", "unsupported")
    run = execute(plan(registry), registry.backends["emulated"], registry)
    return msgspec.structs.replace(run, **changes)


def text_of(kind: type[TrnbenchError], call: Any, *arguments: Any) -> str:
    with pytest.raises(kind) as caught:
        call(*arguments)
    return str(caught.value)
