"""Costs of instructions and transfers on one generation, from the formulas of its cost table."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

from trnbench.bounded.kinds import COST
from trnbench.errors import FactError, quoted
from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench_emulator.core.transfers import TransferCosts
from trnbench_emulator.nki.op import DMA, Op

LONGEST = 400
"""Characters of a formula: the longest of ours has 93."""

_CALLS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "ceil": math.ceil}
_NODES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Load, ast.Constant,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.USub, ast.UAdd,
)  # fmt: skip


@lru_cache(maxsize=1024)
def _compiled(text: str) -> CodeType:
    if len(text) > LONGEST:
        raise _error(text, f"it has {len(text):,} characters, a formula has up to {LONGEST}")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # brackets or digits beyond all measure
        raise _error(text, "it is no arithmetic") from None
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise _error(text, f"{type(node).__name__} is not allowed")
        if isinstance(node, ast.Constant) and not isinstance(node.value, (int, float)):
            raise _error(text, f"{node.value!r} is no number")
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _CALLS):
            raise _error(text, f"only {', '.join(_CALLS)} can be called")
    return compile(tree, "<cost formula>", "eval")


def evaluate(text: str, names: Mapping[str, Any]) -> float:
    """The value of `text` with `names`. Raises `FactError` for anything but arithmetic on known names."""
    code = _compiled(text)
    try:
        value = float(eval(code, {"__builtins__": {}}, {**_CALLS, **names}))  # checked node by node above
    except NameError as error:
        listed = ", ".join(sorted(str(name) for name in names))
        raise _error(text, f"{error}; known here: {listed}") from None
    except (ZeroDivisionError, TypeError, OverflowError, ValueError) as error:  # ValueError: ceil(nan)
        raise _error(text, str(error)) from None
    if not COST.fits(value):
        raise _error(text, f"it gives {value:g}; a cost is {COST.range}")
    return value


def _error(text: str, cause: str) -> FactError:
    return FactError(
        f"cost formula {quoted(text, 120)} cannot be evaluated",
        cause=cause,
        try_="numbers, variables, + - * / and brackets, min, max, ceil",
    )


ENGINES = ("tensor", "vector", "scalar", "gpsimd")
NANO = 1e-9


class CostTable:
    """Seconds per instruction and per transfer for the core of `system`.

    Everything comes from the generation's cost file and facts; a missing entry raises `FactError`
    with the table and key to add.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.constants: Mapping[str, Any] = system.costs.get("constants", {})
        self.rows: Mapping[str, list[dict[str, Any]]] = system.costs.get("instructions", {})
        self.dma: Mapping[str, Any] = system.costs.get("dma", {})
        rows = (*system.costs.get("carried", ()), *system.costs.get("fits", ()))
        self.fits: Mapping[str, Mapping[str, Any]] = {row["name"]: row for row in rows}
        self._seconds: dict[tuple[Any, ...], float] = {}
        self._work: dict[tuple[Any, ...], float] = {}
        self.steps: dict[tuple[Op, int], Any] = {}  # what `Pace` found for an op, of so many sharing cores

    # Engines ------------------------------------------------------------------------------------

    def clock(self, engine: str) -> float:
        """Hz."""
        return self._fact(f"clock of engine {engine}", "clock", qualifier=engine)

    def cycles(self, opcode: str, engine: str, variables: Mapping[str, Any]) -> float:
        """Cycles of `engine`: the first row of the instruction whose engine and conditions fit."""
        row = self._row(opcode, engine, variables)
        return evaluate(row["cycles"], {**self.constants, **variables, **self._apart(variables)})

    def _apart(self, variables: Mapping[str, Any]) -> dict[str, float]:
        """Elements that lie far apart come at a share of the rate: as many more of them."""
        rule = self.system.costs.get("access", {}).get("stride")
        if not rule or variables.get("stride", 0) <= rule["over_bytes"]:
            return {}
        return {"N": variables["N"] / rule["factor"]}

    def mode(self, op: Op) -> str:
        """The mode in which `op` is carried out; "" for the plain one."""
        return str(self._row(op.opcode, op.engine, op.variables).get("mode", ""))

    def _row(self, opcode: str, engine: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        for row in self.rows.get(opcode, ()):
            engines = row["engine"]
            if engine != engines and engine not in engines:
                continue
            if all(_fits(variables.get(name), wanted) for name, wanted in row.get("when", {}).items()):
                return row
        raise self._missing(f"cost of {opcode} on engine {engine}", f"[[instructions.{opcode}]]")

    def seconds(self, op: Op) -> float:
        """Time that one `op` occupies its engine (its share of the DMA engines, for a transfer)."""
        key = op.key()
        time_s = self._seconds.get(key)
        if time_s is None:
            if op.engine == DMA:
                time_s = self.transfers.seconds(op.variables)
            else:
                time_s = self.cycles(op.opcode, op.engine, op.variables) / self.clock(op.engine)
            self._seconds[key] = time_s
        return time_s

    def duration(self, op: Op) -> float:
        """From the start of an instruction to the end of what it writes, when nothing disturbs it.

        Its elements at the engine's rate and the fixed time of the engine's pipeline. The minimum interval
        between two instructions is none between start and end.
        """
        key = op.key()
        seconds = self._work.get(key)
        if seconds is None:
            cycles = self.cycles(op.opcode, op.engine, {**op.variables, "MIN_II": 0})
            seconds = self._work[key] = cycles / self.clock(op.engine) + self.latency(op.engine)
        return seconds

    def latency(self, engine: str) -> float:
        """Seconds from start to end of an instruction of `engine` beside its elements; 0 if none is given."""
        latency = self.system.costs.get("latency", {}).get(engine)
        if latency is None:
            return 0.0
        if isinstance(latency, str):
            return self.constant(latency) * NANO
        return float(latency["cycles"]) / self.clock(engine)

    def constant(self, name: str) -> float:
        """A fitted constant in the unit its name ends with; 0 where this generation has none."""
        fit = self.fits.get(name)
        return float(fit["value"]) if fit else 0.0

    @property
    def launch_s(self) -> float:
        """Seconds that a launched program takes beside its instructions, by the device's clock: `[launch]`, 0
        where the cost file has none."""
        return float(self.system.costs.get("launch", {}).get("device_us", {}).get("value", 0.0)) * 1e-6

    # DMA ----------------------------------------------------------------------------------------

    def dma_entry(self, key: str) -> float:
        try:
            return float(self.dma[key])
        except KeyError:
            raise self._missing(f"dma {key}", f"{key} in [dma]") from None

    @cached_property
    def transfers(self) -> TransferCosts:
        return TransferCosts(self.dma_entry, self.dma, self.constant, self.clock)

    @property
    def stream_run(self) -> float:
        """Bytes of a descriptor in a well-made stream: the saturating run, else the driver's packet."""
        packet = self.dma.get("descriptor", {}).get("packet_bytes")
        run = self.dma.get("saturating_bytes_per_partition", packet)
        if run is None:
            raise self._missing("size of a saturating transfer", "saturating_bytes_per_partition in [dma]")
        return float(run)

    # Memory -------------------------------------------------------------------------------------

    @property
    def hbm_rate(self) -> float:
        """Bytes/s of one device's memory."""
        return self._fact("memory bandwidth of the device", "hbm_bandwidth", Scope.DEVICE)

    @property
    def lanes(self) -> float:
        """Partitions: elements an engine takes per cycle in its plain mode."""
        return self._fact("partitions of the core", "partition_count")

    def _fact(self, what: str, metric: str, scope: Scope = Scope.CORE, **criteria: str) -> float:
        value = self.system.fact(scope, metric, **criteria)
        if value is None:
            raise self._missing(what, fact=metric, scope=scope)
        return value

    def missing_rate(self, dtype: str, sparse: bool) -> FactError:
        """No document says how fast the tensor engine is on this data type."""
        label = f"sparse {dtype}" if sparse else dtype
        return self._missing(f"rate of the tensor engine for {label}", fact="rate_factor")

    def _missing(self, what: str, where: str = "", *, fact: str = "", scope: Scope = Scope.CORE) -> FactError:
        """`where` of the cost file it would stand, or the metric of the `fact` that would give it."""
        system = self.system
        row = f'{{ metric = "{fact}", … }} for subject "{system.subject(scope)}" to a file of facts'
        costs = f"{where} to {system.generation.costs or 'the cost file of the generation'}"
        return FactError(
            f"no document gives the {what} of {system.instance.core}",
            cause=f"the cost file of {system.generation.name} and its facts were searched",
            try_=f"add {row if fact else costs}",
        )


def _fits(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)
