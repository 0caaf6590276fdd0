"""nl.tile_size: the sizes tiles may have on the generation the kernel runs for."""

from __future__ import annotations

from trnbench.nki.recorder import current


class TileSize:
    """Read while a kernel runs; in elements, except where the name says bytes."""

    @property
    def pmax(self) -> int:
        return current().machine.partitions

    @property
    def gemm_stationary_fmax(self) -> int:
        return current().machine.stationary_free

    @property
    def gemm_moving_fmax(self) -> int:
        """512 wherever a product has to fit one PSUM bank at fp32; kernels tile by it on every generation."""
        machine = current().machine
        return min(machine.moving_free, machine.psum_bank_bytes // 4)

    @property
    def psum_fmax(self) -> int:
        """fp32 elements of one PSUM bank."""
        return current().machine.psum_bank_bytes // 4

    @property
    def psum_fmax_bytes(self) -> int:
        return current().machine.psum_bank_bytes

    @property
    def total_available_sbuf_size(self) -> int:
        """Bytes per partition."""
        return current().machine.sbuf_partition_bytes


tile_size = TileSize()
