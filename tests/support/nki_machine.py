"""The machine that recorded snippets of kernels are checked against."""

from __future__ import annotations

from trnbench_emulator.nki import Machine

V3 = Machine(
    generation="trn2",
    core="neuroncore-v3",
    nc_version=3,
    partitions=128,
    stationary_free=128,
    moving_free=512,
    sbuf_partition_bytes=224 << 10,
    psum_partition_bytes=16 << 10,
    psum_banks=8,
    hbm_bytes=96 << 30,
)
