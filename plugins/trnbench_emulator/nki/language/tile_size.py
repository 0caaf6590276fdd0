"""nl.tile_size: the sizes tiles may have on the generation the kernel runs for."""

from __future__ import annotations

from typing import NamedTuple

from trnbench_emulator.nki.isa.statistics import BN_STATS_MOST
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.recording import STATE, Recording

_FP32 = 4


class _Target(NamedTuple):
    """NKI has these as constants, equal on all its targets; kernel files read them while they are imported,
    when no generation is chosen yet."""

    partitions: int = 128
    stationary_free: int = 128
    moving_free: int = 512
    psum_bank_bytes: int = 2048


def _limits() -> Machine | _Target:
    recorder: Recording | None = STATE.recorder
    return _Target() if recorder is None else recorder.machine


class TileSize:
    """In elements, except where the name says bytes. What differs between generations can only be read
    while a kernel runs."""

    psum_min_align = 4
    sbuf_min_align = 1
    bn_stats_fmax = BN_STATS_MOST

    @property
    def pmax(self) -> int:
        return _limits().partitions

    @property
    def gemm_stationary_fmax(self) -> int:
        return _limits().stationary_free

    @property
    def gemm_moving_fmax(self) -> int:
        """512 wherever a product has to fit one PSUM bank at fp32; kernels tile by it on every generation."""
        limits = _limits()
        return min(limits.moving_free, limits.psum_bank_bytes // _FP32)

    @property
    def psum_fmax(self) -> int:
        """fp32 elements of one PSUM bank."""
        return self.psum_bank_fmax_bytes // _FP32

    psum_bank_fmax = psum_fmax

    @property
    def psum_bank_fmax_bytes(self) -> int:
        return _limits().psum_bank_bytes

    psum_fmax_bytes = psum_bank_fmax_bytes

    @property
    def psum_num_banks(self) -> int:
        return current().machine.psum_banks

    @property
    def sbuf_fmax_bytes(self) -> int:
        """Bytes per partition."""
        return current().machine.sbuf_partition_bytes

    total_available_sbuf_size = sbuf_fmax_bytes

    @property
    def sbuf_fmax(self) -> int:
        return current().machine.sbuf_partition_bytes // _FP32

    @property
    def sbuf_size_bytes(self) -> int:
        """Of all partitions."""
        machine = current().machine
        return machine.sbuf_partition_bytes * machine.partitions


tile_size = TileSize()
