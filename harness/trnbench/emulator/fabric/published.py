"""A published collective as its source states it, emulated."""

from __future__ import annotations

from trnbench.emulator.fabric.algorithms.algorithm import AUTO
from trnbench.emulator.fabric.collective import run, timed
from trnbench.emulator.fabric.constants import NCCOM
from trnbench.emulator.fabric.result import Result
from trnbench.emulator.fabric.systems import Fabric, Options
from trnbench.errors import UsageError
from trnbench.generation import System

SENDRECV = "sendrecv"


def emulate_collective_point(
    system: System,
    operation: str,
    size: float,
    ranks: int,
    *,
    nodes: int = 0,
    lnc: int = 0,
    algorithm: str = "",
    context: str = NCCOM,
    fabric: Fabric | None = None,
) -> Result:
    """`size` bytes as `collective.run` takes them, over `ranks` logical cores of `nodes` instances.

    Ranks fill one device after the other; of several nodes each gets equally many. `nodes`: 0 for
    all there are. `lnc`: physical cores per rank, 0 for the generation's default. "sendrecv" is
    a permute of two ranks. `algorithm`: empty for what the runtime was observed to take: `auto`.
    `fabric` saves building it again for the same system and lnc.
    Raises UsageError when the ranks do not fit the system.
    """
    fabric = fabric or fabric_for(system, lnc, context)
    collective, name, group = _asked(fabric, operation, ranks, nodes, algorithm)
    return run(fabric, collective, size, algorithm=name, group=group)


def time_collective_point(
    fabric: Fabric, operation: str, size: float, ranks: int, *, nodes: int = 0
) -> tuple[float, str]:
    """Seconds and algorithm of the same, without its explanation."""
    collective, name, group = _asked(fabric, operation, ranks, nodes, "")
    return timed(fabric, collective, size, algorithm=name, group=group)


def _asked(
    fabric: Fabric, operation: str, ranks: int, nodes: int, algorithm: str
) -> tuple[str, str, list[int] | None]:
    """(collective, algorithm, ranks that take part or None for all)."""
    system = fabric.system
    nodes = nodes or (system.size if system.instance.sizable else 1)
    have = fabric.size // max(system.size if system.instance.sizable else 1, 1)
    each, rest = divmod(ranks, nodes)
    if rest or each > have or nodes > (system.size if system.instance.sizable else 1) or ranks < 2:
        raise UsageError(
            f"{ranks} ranks on {nodes} nodes do not fit {system.name}",
            cause=f"a node has {have} ranks here",
            try_="ranks that divide by the nodes and fit them",
        )
    collective = "permute" if operation == SENDRECV else operation
    whole = ranks == fabric.size
    group = None if whole else [node * have + r for node in range(nodes) for r in range(each)]
    return collective, algorithm or AUTO, group


_KNOWN: dict[tuple[str, str, str], Fabric] = {}


def fabric_for(system: System, lnc: int = 0, context: str = NCCOM) -> Fabric:
    """Its ranks are cores of `lnc` physical ones, what they do stands in `context`; the same object for the
    same system. Raises UsageError for an unknown context.
    """
    default = int(system.costs.get("lnc", {}).get("default", 1))
    level = "core" if (lnc or default) == 1 else "logical-core"
    key = system.name, level, context
    found = _KNOWN.get(key)
    if found is None or found.system is not system:
        found = _KNOWN[key] = Fabric(system, Options(level=level, context=context))
    return found
