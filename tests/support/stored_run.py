"""A run with one case of every kind, as a store is given it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import tiny_machine as tiny

from trnbench import Run
from trnbench.errors import TrnbenchError


def make_run(**changes: Any) -> Run:
    run = tiny.carried_out("half", "low", "above", "crash", "unsupported")
    return msgspec.structs.replace(run, **changes)


def text_of(kind: type[TrnbenchError], call: Any, *arguments: Any) -> str:
    with pytest.raises(kind) as caught:
        call(*arguments)
    return str(caught.value)
