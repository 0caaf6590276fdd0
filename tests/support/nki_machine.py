"""The machine that recorded snippets of kernels are checked against."""

from __future__ import annotations

import msgspec

from trnbench_emulator.nki import Machine

V3 = Machine(
    generation="trn2",
    core="neuroncore-v3",
    nc_version=3,
    partitions=128,
    stationary_free=128,
    moving_free=512,
    moving_free_bf16=512,
    sbuf_partition_bytes=224 << 10,
    psum_partition_bytes=16 << 10,
    psum_banks=8,
    hbm_bytes=96 << 30,
)

EVERY_INSTRUCTION = msgspec.structs.replace(
    V3, generation="trn3", core="neuroncore-v4", nc_version=4, psum_dtypes=("float32", "bfloat16")
)
"""The same memories on a core that has every instruction."""
