"""Transfers by DMA: which engine triggers one, what makes its descriptors, and what it costs.

Any sequencer can trigger a transfer; the Sync engine is there for that. Hardware makes descriptors for the
Sync and the scalar engine, GpSimd makes them for itself. What the kernel leaves open goes to the Sync
engine, with descriptors prepared beforehand; where its address is known at run time alone, to GpSimd.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

NANO = 1e-9

SYNC = "sync"
HARDWARE, SOFTWARE, PREPARED = "hwdge", "swdge", "none"

_GATHERED = ("vector", "column")


def descriptors_by(variables: Mapping[str, Any]) -> str:
    """What makes a transfer's descriptors.

    Addresses that come one by one from SBUF: GpSimd alone can. What is prepared beforehand has no address
    that is known at run time alone.
    """
    indirect, maker = variables.get("indirect"), variables.get("dge")
    if indirect in _GATHERED:
        return SOFTWARE
    if maker in (HARDWARE, SOFTWARE):
        return str(maker)
    return SOFTWARE if indirect else PREPARED


def triggered_by(variables: Mapping[str, Any]) -> str:
    """The engine that starts a transfer."""
    if descriptors_by(variables) == SOFTWARE or variables.get("via") == "gpsimd_dma":
        return "gpsimd"
    return str(variables.get("trigger") or SYNC)


class TransferCosts:
    """Of one core, from the `[dma]` table and the constants fitted beside it.

    An engine moves one transfer at a time: a fixed time (it ends with the update of a semaphore), then
    for every descriptor a fixed time and its bytes at the rate of one engine. All engines of a core
    together never pass the vendor's planning figure, engines × bytes per ns. What goes from device memory
    to device memory passes there twice. One transfer alone does not get that far: from its first byte to its
    end it takes a latency at least, however little it moves, a time that other transfers fill.

    A transfer begins with a trigger, an instruction of the engine that gives it. Descriptors that are not
    prepared beforehand are made before the transfer can start, and the trigger lasts that long: by a hardware
    block ("hwdge") or by GpSimd ("swdge"), which writes one for every address of a gather. An address that is
    known at run time alone is read first.
    """

    def __init__(
        self,
        entry: Callable[[str], float],
        table: Mapping[str, Any],
        constant: Callable[[str], float],
        clock: Callable[[str], float],
    ) -> None:
        def given(key: str, default: float = 0.0) -> float:
            return float(table.get(key, default))

        self.engines = int(entry("engines_per_core"))
        self.path_rate = self.engines * entry("bytes_per_ns_per_engine") / NANO
        bytes_per_ns = given("bytes_per_ns_per_engine_theoretical", entry("bytes_per_ns_per_engine"))
        self.engine_rate = bytes_per_ns / NANO
        self.reach = int(given("partitions_per_engine", 1))
        self.descriptor_s = constant("dma.descriptor_ns") * NANO
        self.transfer_s = constant("dma.transfer_ns") * NANO
        self.latency_s = constant("dma.transfer_latency_ns") * NANO
        self.start_s = entry("semaphore_to_start_ns") * NANO
        self._generation = {
            HARDWARE: given("hwdge_ns") * NANO,
            SOFTWARE: given("swdge_ns") * NANO,
        }
        self._address_s = given("address_cycles") / clock("gpsimd")
        self._gathered_s = given("swdge_descriptor_ns") * NANO
        self._inside = given("gpsimd_bytes_per_ns_per_direction") / NANO
        self._transposed = {
            "hbm": given("transpose_fraction_hbm", 1.0),
            "sbuf": given("transpose_fraction_sbuf", 1.0),
        }
        self._computed = given("compute_fraction", 1.0)

    def spread(self, variables: Mapping[str, Any]) -> int:
        """How many engines a transfer uses: one for every `partitions_per_engine` partitions.

        Rows of device memory are no partitions: where there is one, its descriptors go to all engines.
        """
        if self._gpsimd(variables):
            return 1
        rows = int(variables["P"])
        if rows == 1 and "hbm" in (variables.get("src"), variables.get("dst")):
            return self.engines
        return min(self.engines, max(1, -(-rows // self.reach)))

    def engine_s(self, variables: Mapping[str, Any], engines: int) -> float:
        """Seconds each of `engines` engines is busy with its share of one transfer."""
        amount, descriptors = variables["bytes"], variables["descriptors"]
        if self._gpsimd(variables):
            return float(amount / self._inside / engines)
        moved = amount / (self.engine_rate * self._fraction(variables))
        return float((moved + descriptors * self.descriptor_s) / engines + self.transfer_s)

    def generation_s(self, variables: Mapping[str, Any]) -> float:
        """Seconds that a transfer's trigger makes descriptors before the transfer starts."""
        made = self._generation.get(descriptors_by(variables), 0.0)
        indirect = variables.get("indirect")
        if indirect in _GATHERED:
            return made + float(variables["descriptors"]) * self._gathered_s
        return made + (self._address_s if indirect else 0.0)

    def floor_s(self, variables: Mapping[str, Any]) -> float:
        """Seconds from the first byte of one transfer to its end, at least."""
        return 0.0 if self._gpsimd(variables) else self.latency_s

    def path_s(self, variables: Mapping[str, Any]) -> float:
        """Seconds its bytes take on the way that all engines of the core share."""
        if self._gpsimd(variables):
            return 0.0
        twice = variables.get("src") == "hbm" and variables.get("dst") == "hbm"
        rate = self.path_rate * self._fraction(variables)
        return float(variables["bytes"] * (2 if twice else 1) / rate)

    def seconds(self, variables: Mapping[str, Any]) -> float:
        """What one transfer takes of a core's DMA when others fill the engines it leaves free."""
        return max(self.share_s(variables), self.path_s(variables))

    def share_s(self, variables: Mapping[str, Any]) -> float:
        """The same of the engines alone, their common way left out."""
        engines = self.spread(variables) if "P" in variables else self.engines
        return self.engine_s(variables, engines) * engines / self.engines

    def stream(self, amount: float, run: float) -> float:
        """Seconds for `amount` bytes in descriptors of `run` bytes on all engines, 128 to a transfer."""
        descriptors = amount / run
        transfers = descriptors / (self.engines * self.reach)
        once = self.engine_s({"bytes": amount, "descriptors": descriptors}, self.engines) - self.transfer_s
        return max(once + transfers * self.transfer_s, amount / self.path_rate)

    def _gpsimd(self, variables: Mapping[str, Any]) -> bool:
        """Whether the DMA built into GpSimd moves it, at a rate of its own."""
        return bool(self._inside) and variables.get("via") == "gpsimd_dma"

    def _fraction(self, variables: Mapping[str, Any]) -> float:
        """The share of the rate of a copy that transposing or adding transfers reach."""
        if variables.get("transpose"):
            return self._transposed.get(str(variables.get("src")), 1.0)
        return self._computed if variables.get("compute") else 1.0
