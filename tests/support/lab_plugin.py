"""A plugin of two laboratory machines that lack something, and the cases planned on them."""

from __future__ import annotations

import pytest

from trnbench.errors import NothingSelected, UsageError
from trnbench.facts.fact import Scope
from trnbench.generation import Instance
from trnbench.registry import Registry
from trnbench.run.plan import plan
from trnbench.run.selection import Selection

FACTS = """
schema = 1

[sources.lab]
document = "Lab notes"

[[group]]
source = "lab"
locator = "page 1"
facts = [
    { subject = "box", scope = "instance", metric = "device_count", printed = "4" },
    { subject = "box", scope = "instance", metric = "host_memory", printed = "8", unit = "GiB" },
    { subject = "single", scope = "instance", metric = "device_count", printed = "1" },
    { subject = "rack", scope = "ultraserver", metric = "device_count", printed = "8" },
    { subject = "rack", scope = "ultraserver", metric = "host_count", printed = "2" },
    { subject = "rack", scope = "ultraserver", metric = "host_memory", printed = "16", unit = "GiB" },
    { subject = "chip", scope = "device", metric = "core_count", printed = "2" },
    { subject = "chip", scope = "device", metric = "hbm_capacity", printed = "32", unit = "GiB" },
    { subject = "heart", scope = "core", metric = "sbuf_capacity", printed = "24", unit = "MiB" },
]
"""

COSTS = """
schema = 1

[cannot]
"dtype:mxfp8" = "no MX types before v4"
"instruction:int8_matmul" = "no public instruction multiplies integers"
"""


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
