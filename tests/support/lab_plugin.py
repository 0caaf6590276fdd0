"""A plugin of two laboratory machines that lack something, and the cases planned on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnbench.errors import NothingSelected, UsageError
from trnbench.facts.fact import Scope
from trnbench.generation import Instance
from trnbench.registry import Registry
from trnbench.run.plan import plan
from trnbench.run.selection import Selection

FOLDER = Path(__file__).parent
"""Where lab_facts.toml and lab_costs.toml stand."""


def system(name: str, scope: Scope, **more) -> Instance:
    return Instance(
        name=name, title=name, scope=scope, device="chip", core="heart", topology="lab:none", **more
    )


def cases(registry: Registry, **selection):
    chosen = {
        name: (value,) if isinstance(value, str) and name != "keyword" else value
        for name, value in selection.items()
    }
    return plan(registry, Selection(**chosen)).cases


def skips(registry: Registry, **selection) -> dict[str, str]:
    return {case.id: case.skip for case in cases(registry, **selection)}


def refusal(registry: Registry, **selection) -> str:
    with pytest.raises((NothingSelected, UsageError)) as caught:
        cases(registry, **selection)
    return str(caught.value)
