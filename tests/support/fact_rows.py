"""Groups of facts as a file has them."""

from __future__ import annotations


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
