"""The limits of one generation's NeuronCore: what a kernel is checked against."""

from __future__ import annotations

from trnbench.errors import FactError
from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench.record import Record

FP32_BYTES = 4


class Machine(Record, kw_only=True):
    """Sizes in elements or bytes as the name says. Built from facts by `of`, never written by hand."""

    generation: str  # "trn2"
    core: str  # "neuroncore-v3"
    nc_version: int  # 3
    partitions: int
    stationary_free: int  # columns of the array
    moving_free: int  # elements of one PSUM bank at fp32, more where the generation allows
    moving_free_bf16: int  # the same where the result is bf16
    sbuf_partition_bytes: int
    psum_partition_bytes: int
    psum_banks: int
    hbm_bytes: int
    psum_dtypes: tuple[str, ...] = ("float32",)  # what a matmul may leave in PSUM

    @property
    def psum_bank_bytes(self) -> int:
        return self.psum_partition_bytes // self.psum_banks

    @classmethod
    def of(cls, system: System) -> Machine:
        """Raises `FactError` when the core's facts do not give a limit."""

        def need(metric: str, scope: Scope = Scope.CORE, **criteria: str) -> int:
            value = system.fact(scope, metric, **criteria)
            if value is None:
                raise FactError(
                    f"no fact gives {metric} of {system.subject(scope)}",
                    cause="NKI kernels are checked against the limits of the core they run on",
                    try_=f"add {metric} to {', '.join(str(path) for path in system.generation.facts)}",
                )
            return int(value)

        limits = system.costs.get("limits", {})
        partitions = need("partition_count")
        psum = need("psum_capacity") // partitions
        banks = need("psum_bank_count")
        per_partition = system.fact(Scope.CORE, "sbuf_partition_capacity")
        digits = "".join(
            character for character in system.instance.core.rpartition("-")[2] if character.isdigit()
        )
        moving_free = int(limits.get("moving_free", psum // banks // FP32_BYTES))
        return cls(
            generation=system.generation.name,
            core=system.instance.core,
            nc_version=int(limits.get("nc_version", digits or 0)),
            partitions=partitions,
            stationary_free=need("array_columns"),
            moving_free=moving_free,
            moving_free_bf16=int(limits.get("moving_free_bf16", moving_free)),
            sbuf_partition_bytes=int(per_partition or need("sbuf_capacity") // partitions),
            psum_partition_bytes=psum,
            psum_banks=banks,
            hbm_bytes=need("hbm_capacity", Scope.DEVICE),
            psum_dtypes=tuple(limits.get("psum_dtypes", ("float32",))),
        )
