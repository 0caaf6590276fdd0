"""What instructions and transfers cost on one generation, evaluated from its cost table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trnbench.emulator.core.formula import evaluate
from trnbench.errors import FactError
from trnbench.facts.scope import Scope
from trnbench.generation import System
from trnbench.nki.instruction import DMA, Op

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
        self.fits = {each["name"]: each for each in system.costs.get("fits", ())}
        self._clocks: dict[str, float] = {}
        self._seconds: dict[tuple[Any, ...], float] = {}

    # Engines ------------------------------------------------------------------------------------

    def clock(self, engine: str) -> float:
        """Hz."""
        found = self._clocks.get(engine)
        if found is None:
            value = self.system.fact(Scope.CORE, "clock", qualifier=engine)
            if value is None:
                raise self._missing(f"clock of engine {engine}", 'metric = "clock" in the core facts')
            found = self._clocks[engine] = value
        return found

    def cycles(self, opcode: str, engine: str, variables: Mapping[str, Any]) -> float:
        """Cycles of `engine`: the first row of the instruction whose engine and conditions fit."""
        for row in self.rows.get(opcode, ()):
            engines = row["engine"]
            if engine != engines and engine not in engines:
                continue
            if all(_fits(variables.get(name), wanted) for name, wanted in row.get("when", {}).items()):
                return evaluate(row["cycles"], {**self.constants, **variables})
        raise self._missing(f"cost of {opcode} on engine {engine}", f"[[instructions.{opcode}]]")

    def seconds(self, op: Op) -> float:
        """Time that one `op` occupies its engine (its share of the DMA engines, for a transfer)."""
        key = op.key()
        found = self._seconds.get(key)
        if found is None:
            if op.engine == DMA:
                found = self.transfer(op.variables)
            else:
                found = self.cycles(op.opcode, op.engine, op.variables) / self.clock(op.engine)
            self._seconds[key] = found
        return found

    # DMA ----------------------------------------------------------------------------------------

    def dma_entry(self, key: str) -> float:
        try:
            return float(self.dma[key])
        except KeyError:
            raise self._missing(f"dma {key}", f"{key} in [dma]") from None

    @property
    def dma_rate(self) -> float:
        """Bytes/s of all DMA engines of one core, the vendor's planning figure."""
        return self.dma_entry("engines_per_core") * self.dma_entry("bytes_per_ns_per_engine") / NANO

    @property
    def descriptor_s(self) -> float:
        """Seconds a DMA engine spends per descriptor beside its bytes; 0 where nothing was fitted."""
        fit = self.fits.get("dma.descriptor_ns")
        return float(fit["value"]) * NANO if fit else 0.0

    @property
    def dma_start_s(self) -> float:
        """From the semaphore that allows a transfer to its first byte."""
        return self.dma_entry("semaphore_to_start_ns") * NANO

    def transfer(self, variables: Mapping[str, Any]) -> float:
        """Seconds all DMA engines are busy with one transfer, spread over them as evenly as others follow.

        Every descriptor costs its bytes at an engine's rate and a fixed time. A transfer of P
        partitions can only use ceil(P / 8) engines, but the next one uses the others.
        """
        rate = self.dma_entry("bytes_per_ns_per_engine") / NANO
        descriptors = variables["descriptors"]
        busy = variables["bytes"] / rate + descriptors * self.descriptor_s
        return float(busy / self.dma_entry("engines_per_core"))

    def stream(self, amount: float, run: float) -> float:
        """Seconds for `amount` bytes in descriptors of `run` bytes on all DMA engines of a core."""
        return self.transfer({"bytes": amount, "descriptors": amount / run})

    @property
    def stream_run(self) -> float:
        """Bytes of a descriptor in a well-made stream: the saturating run, else the driver's packet."""
        packet = self.dma.get("descriptor", {}).get("packet_bytes")
        found = self.dma.get("saturating_bytes_per_partition", packet)
        if found is None:
            raise self._missing("size of a saturating transfer", "saturating_bytes_per_partition in [dma]")
        return float(found)

    # Memory -------------------------------------------------------------------------------------

    @property
    def hbm_rate(self) -> float:
        """Bytes/s of one device's memory."""
        value = self.system.fact(Scope.DEVICE, "hbm_bandwidth")
        if value is None:
            raise self._missing("memory bandwidth of the device", 'metric = "hbm_bandwidth"')
        return value

    @property
    def lanes(self) -> float:
        """Partitions: elements an engine takes per cycle in its plain mode."""
        value = self.system.fact(Scope.CORE, "partition_count")
        if value is None:
            raise self._missing("partitions of the core", 'metric = "partition_count"')
        return value

    def missing_rate(self, dtype: str, sparse: bool) -> FactError:
        """No document says how fast the tensor engine is on this data type."""
        label = f"sparse {dtype}" if sparse else dtype
        return self._missing(f"rate of the tensor engine for {label}", 'metric = "rate_factor"')

    def _missing(self, what: str, where: str) -> FactError:
        system = self.system
        return FactError(
            f"no document gives the {what} of {system.instance.core}",
            cause=f"the cost file of {system.generation.name} and its facts were searched",
            try_=f"add {where} to {system.generation.costs or 'the cost file of the generation'}",
        )


def _fits(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)
