"""Facts, and groups of them as a file has them."""

from __future__ import annotations

from typing import Any

from trnbench import Fact, Scope


def fact(subject: str, metric: str, value: float, **more: Any) -> Fact:
    """A figure of a core, printed in a table."""
    given = {"printed": f"{value:g}", "printed_unit": "", "scope": Scope.CORE, "source": "here", **more}
    return Fact(subject=subject, metric=metric, value=value, **{"locator": "a table", **given})


def group(*rows: str, subject: str = "box", scope: str = "instance", source: str = "page") -> str:
    """One `[[group]]` whose facts are the given inline tables."""
    listed = ",\n  ".join(f"{{ {row} }}" for row in rows)
    return f"""
[[group]]
subject = "{subject}"
scope = "{scope}"
source = "{source}"
locator = "specification table"
facts = [
  {listed},
]
"""


FLOPS = 'metric = "peak_flops", dtypes = ["fp16", "bf16"], printed = "3,360", unit = "TFLOPS"'

SLOW_CLOCK = """schema = 1
override = true
[sources.mine]
document = "My own notes"
[[group]]
subject = "neuroncore-v3"
scope = "core"
source = "mine"
locator = "page 1"
facts = [{ metric = "clock", qualifier = "tensor", printed = "0.7", unit = "GHz" }]
"""
"""A file of the user's own, whose tensor engine has half the clock of Trainium2's."""
