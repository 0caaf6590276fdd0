"""A published collective as its source states it, as a question."""

from __future__ import annotations

from trnbench.errors import UsageError
from trnbench.generation import System
from trnbench_emulator.fabric.algorithms.algorithm import AUTO, PERMUTE
from trnbench_emulator.fabric.constants import NCCOM
from trnbench_emulator.fabric.question import Options, Question
from trnbench_emulator.fabric.systems import fabric_of

SENDRECV = "sendrecv"


def published_question(
    system: System,
    operation: str,
    size: float,
    ranks: int,
    *,
    nodes: int = 0,
    lnc: int = 0,
    algorithm: str = AUTO,
    context: str = NCCOM,
) -> Question:
    """`size` bytes as a question states them, over `ranks` logical cores of `nodes` instances.

    Ranks fill one device after the other; of several nodes each gets equally many. `nodes`: 0 for all there
    are. `lnc`: physical cores per rank, 0 for the generation's default. "sendrecv" is a permute of two ranks.
    Raises UsageError when the ranks do not fit the system, and for an unknown context.
    """
    default = int(system.costs.get("lnc", {}).get("default", 1))
    level = "core" if (lnc or default) == 1 else "logical-core"
    fabric = fabric_of(system, Options(level=level, context=context))
    instances = system.size if system.instance.sizable else 1
    nodes = nodes or instances
    have = fabric.size // max(instances, 1)
    per_node, rest = divmod(ranks, nodes)
    if rest or per_node > have or nodes > instances or ranks < 2:
        raise UsageError(
            f"{ranks} ranks on {nodes} nodes do not fit {system.name}",
            cause=f"a node has {have} ranks here",
            try_="ranks that divide by the nodes and fit them",
        )
    some = () if ranks == fabric.size else tuple(n * have + r for n in range(nodes) for r in range(per_node))
    return fabric.question(
        PERMUTE if operation == SENDRECV else operation, size, algorithm=algorithm, ranks=some
    )
