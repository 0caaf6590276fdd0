"""Enumerations that calls take: engines, reduce commands, DMA and matmul modes, core versions."""

from __future__ import annotations

from enum import Enum, IntEnum


class engine(str, Enum):  # noqa: N801 - the documented names are lower case
    unknown = "unknown"
    tensor = "tensor"
    vector = "vector"
    scalar = "scalar"
    gpsimd = "gpsimd"
    dma = "dma"
    sync = "sync"


tensor_engine, vector_engine, scalar_engine = engine.tensor, engine.vector, engine.scalar
gpsimd_engine, unknown_engine = engine.gpsimd, engine.unknown


class reduce_cmd(str, Enum):  # noqa: N801
    idle = "idle"
    reset = "reset"
    reduce = "reduce"
    reset_reduce = "reset_reduce"
    load_reduce = "load_reduce"


class dge_mode(str, Enum):  # noqa: N801
    unknown = "unknown"
    none = "none"
    swdge = "swdge"
    hwdge = "hwdge"


DGE_NUMBERS = ("unknown", "swdge", "hwdge", "none")
"""What a number given as `dge_mode` stands for; source: aws-neuron-sdk 81ce03ae, nki/api/nki/isa."""


class oob_mode(str, Enum):  # noqa: N801
    error = "error"
    skip = "skip"


class matmul_perf_mode(str, Enum):  # noqa: N801
    none = "none"
    double_row = "double_row"


class nc_version(IntEnum):  # noqa: N801
    gen2 = 2
    gen3 = 3
    gen4 = 4


class dma_engine(str, Enum):  # noqa: N801
    dma = "dma"
    gpsimd_dma = "gpsimd_dma"
