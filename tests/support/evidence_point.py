"""Published points as evidence, made up for tests of nearness."""

from __future__ import annotations

from trnbench.facts.fact import Scope
from trnbench_fidelity.nearness.evidence import Known, Subject
from trnbench_fidelity.point import Quantity


def subject(
    program: str = "a",
    operation: str = "gemm",
    *,
    generation: str = "trn2",
    group: str = "core",
    dtype: str = "bf16",
    **sizes: float,
) -> Subject:
    return Subject(
        generation=generation, group=group, program=program, operation=operation, dtype=dtype, sizes=sizes
    )


def point(
    id: str,
    of: Subject,
    *,
    vote: str = "",
    value: float = 1e-3,
    quantity: Quantity = Quantity.LATENCY,
    scope: Scope = Scope.CORE,
) -> Known:
    """Its vote is its program unless it is said."""
    return Known(
        id=id,
        subject=of,
        vote=vote or of.program,
        quantity=quantity,
        value=value,
        shape={name: int(size) for name, size in of.sizes.items()},
        asked=of.operation,
        scope=scope,
        source="a test",
    )
