"""FLOP and byte counts and footprints against numbers worked out by hand."""

from __future__ import annotations

import pytest
from kernel_extents import CORE, GIB, KERNELS, MIB, ranks

from trnbench.facts.scope import Scope
from trnbench.kernels.extent import Extent

BY_HAND = [
    # 2·128³; three matrices of 128² elements of 2 bytes
    ("gemm", {"dtype": "bf16", "size": 128}, CORE, {"flops": 4_194_304, "hbm_bytes": 98_304}),
    # fp8 in (1 byte), bf16 out (2 bytes): 2·256² + 2·256²
    ("gemm", {"dtype": "fp8", "size": 256}, CORE, {"flops": 33_554_432, "hbm_bytes": 262_144}),
    # 32 elements of 4 bits share one byte of scale: 17/32 byte each; A and B are 1024² each
    ("gemm", {"dtype": "mxfp4", "size": 1024}, CORE, {"flops": 2**31, "hbm_bytes": 1_114_112 + 2_097_152}),
    ("gemm", {"dtype": "mxfp8", "size": 1024}, CORE, {"flops": 2**31, "hbm_bytes": 2_162_688 + 2_097_152}),
    ("gemm", {"dtype": "tf32", "size": 128}, CORE, {"flops": 4_194_304, "hbm_bytes": 196_608}),
    # 4 cores, each its own product
    (
        "gemm",
        {"dtype": "bf16", "size": 128},
        Extent(scope=Scope.DEVICE, cores=4),
        {"flops": 16_777_216, "hbm_bytes": 393_216},
    ),
    ("gemm_naive", {"dtype": "bf16", "size": 128}, CORE, {"flops": 4_194_304, "hbm_bytes": 98_304}),
    ("gemm_blocked", {"dtype": "bf16", "size": 128}, CORE, {"flops": 4_194_304, "hbm_bytes": 98_304}),
    # one product of 512³ however many cores share it; three matrices of 512² elements of 2 bytes
    (
        "gemm_shared",
        {"dtype": "bf16", "size": 512},
        Extent(scope=Scope.DEVICE, cores=8),
        {"flops": 268_435_456, "hbm_bytes": 1_572_864},
    ),
    # (1·4096 + 4096·4096 + 1·4096)·2
    (
        "gemm_skinny",
        {"dtype": "bf16", "m": 1, "n": 4096, "k": 4096},
        CORE,
        {"flops": 33_554_432, "hbm_bytes": 33_570_816},
    ),
    # 2·127·129·130; (127·130 + 130·129 + 127·129)·4
    (
        "gemm_ragged",
        {"dtype": "fp32", "m": 127, "n": 129, "k": 130},
        CORE,
        {"flops": 4_259_580, "hbm_bytes": 198_652},
    ),
    # 8-bit in, 32-bit out: 2·128² + 4·128²
    ("gemm_int8", {"dtype": "int8", "size": 128}, CORE, {"flops": 4_194_304, "hbm_bytes": 98_304}),
    # B keeps 4 of 16, each with 4 bits of place: A 2·256², B (2·1/4 + 1/8)·256², C 2·256²
    (
        "gemm_sparse",
        {"dtype": "bf16", "sparsity": "4:16", "size": 256},
        CORE,
        {"flops": 33_554_432, "hbm_bytes": 131_072 + 40_960 + 131_072},
    ),
    ("hbm_read", {"size": MIB}, CORE, {"hbm_bytes": MIB, "sbuf_bytes": MIB}),
    ("hbm_write", {"size": MIB}, CORE, {"hbm_bytes": MIB, "sbuf_bytes": MIB}),
    ("hbm_copy", {"size": MIB}, CORE, {"hbm_bytes": 2 * MIB}),
    # a million bytes are 262,144 elements of 4 bytes, a multiply and an add each
    (
        "hbm_triad",
        {"dtype": "fp32", "size": MIB},
        CORE,
        {"hbm_bytes": 3 * MIB, "sbuf_bytes": 3 * MIB, "vector_flops": 524_288},
    ),
    # 2 KiB on each of 128 partitions, 64 times
    (
        "dma_sweep",
        {"bytes_per_partition": 2048, "partitions": 128, "transfers": 64},
        CORE,
        {"hbm_bytes": 16_777_216, "sbuf_bytes": 16_777_216},
    ),
    # 128 lanes · 128 elements · 64 instructions; two in, one out, 2 bytes
    (
        "vector_throughput",
        {"op": "tensor_tensor", "dtype": "bf16", "elements": 128, "instructions": 64},
        CORE,
        {"vector_flops": 1_048_576, "sbuf_bytes": 6_291_456, "elements": 1_048_576, "instructions": 64},
    ),
    # scale, bias and exp for each of 128·128 elements; 4 bytes in and out
    (
        "scalar_throughput",
        {"op": "exp", "dtype": "fp32", "elements": 128, "instructions": 1},
        CORE,
        {"scalar_flops": 49_152, "sbuf_bytes": 131_072, "elements": 16_384, "instructions": 1},
    ),
    (
        "gpsimd_throughput",
        {"op": "copy", "dtype": "bf16", "elements": 1, "instructions": 1},
        CORE,
        {"gpsimd_flops": 128, "sbuf_bytes": 512, "elements": 128, "instructions": 1},
    ),
    # 2·128·128·512 for each of 4 products; fp8 goes in pairs of rows, twice the contraction
    (
        "tensor_throughput",
        {"dtype": "bf16", "columns": 512, "instructions": 4},
        CORE,
        {"flops": 67_108_864, "instructions": 4},
    ),
    (
        "tensor_throughput",
        {"dtype": "fp8", "columns": 512, "instructions": 4},
        CORE,
        {"flops": 134_217_728, "instructions": 4},
    ),
    # four microscaled elements to a row of the array: 2·512·128·512 for each
    (
        "tensor_throughput",
        {"dtype": "mxfp8", "columns": 512, "instructions": 4},
        CORE,
        {"flops": 268_435_456, "instructions": 4},
    ),
    # 2·128³ for each of 64 products, 128² elements copied after each
    (
        "tensor_latency",
        {"dtype": "bf16", "instructions": 64},
        CORE,
        {"flops": 268_435_456, "vector_flops": 1_048_576, "instructions": 64},
    ),
    # 128·128 elements twice; 2 bytes in, 1 and a thirty-second out
    (
        "quantize_throughput",
        {"dtype": "bf16", "elements": 128, "instructions": 2},
        CORE,
        {"vector_flops": 32_768, "sbuf_bytes": 99_328, "elements": 32_768, "instructions": 2},
    ),
    # 128·64 elements copied, read and written; from PSUM one of the two
    (
        "vector_modes",
        {"op": "tensor_copy", "operands": "strided", "dtype": "bf16", "elements": 64, "instructions": 4},
        CORE,
        {"vector_flops": 32_768, "sbuf_bytes": 131_072, "elements": 32_768, "instructions": 4},
    ),
    (
        "vector_modes",
        {"op": "tensor_tensor", "operands": "psum", "dtype": "fp32", "elements": 64, "instructions": 1},
        CORE,
        {
            "vector_flops": 8_192,
            "sbuf_bytes": 65_536,
            "psum_bytes": 32_768,
            "elements": 8_192,
            "instructions": 1,
        },
    ),
    # 256 rows of the contraction in double rows: 2·256·128·64 twice
    (
        "tensor_rows",
        {"rows": "double", "dtype": "fp8", "columns": 64, "instructions": 2},
        CORE,
        {"flops": 8_388_608, "instructions": 2},
    ),
    # 128·256 bytes, four times
    (
        "core_exchange",
        {"through": "dma", "bytes_per_partition": 256, "exchanges": 4},
        CORE,
        {"sbuf_bytes": 131_072},
    ),
    (
        "dma_descriptors",
        {"made": "software", "bytes_per_partition": 512, "transfers": 2},
        CORE,
        {"hbm_bytes": 131_072, "sbuf_bytes": 131_072},
    ),
    # tiles of 32 KiB: three and the result out of device memory, or one in and the result back
    (
        "dma_transpose",
        {"by": "transpose", "memory": "hbm", "dtype": "bf16", "transfers": 3},
        CORE,
        {"sbuf_bytes": 98_304, "hbm_bytes": 131_072},
    ),
    (
        "dma_transpose",
        {"by": "copy", "memory": "sbuf", "dtype": "bf16", "transfers": 3},
        CORE,
        {"sbuf_bytes": 98_304, "hbm_bytes": 65_536},
    ),
    (
        "dma_accumulate",
        {"added_by": "dma", "dtype": "bf16", "size": MIB},
        CORE,
        {"hbm_bytes": 3 * MIB, "sbuf_bytes": 3 * MIB},
    ),
    (
        "exponential_engines",
        {"engine": "vector", "dtype": "fp32", "elements": 64, "instructions": 2},
        CORE,
        {"vector_flops": 16_384, "sbuf_bytes": 131_072, "elements": 16_384, "instructions": 2},
    ),
    # of 16 devices on 4 hosts: three quarters of a gathered MiB among 4, a half among 2
    (
        "all_gather_across",
        {"dtype": "bf16", "size": MIB},
        ranks(16),
        {"payload_bytes": MIB, "link_bytes": 0.75 * MIB},
    ),
    (
        "all_gather_server",
        {"dtype": "bf16", "size": MIB},
        ranks(16),
        {"payload_bytes": MIB, "link_bytes": 0.75 * MIB},
    ),
    (
        "all_gather_rack",
        {"dtype": "bf16", "size": MIB},
        ranks(16),
        {"payload_bytes": MIB, "link_bytes": 0.5 * MIB},
    ),
    ("gemm_beta1", {"dtype": "bf16", "size": 512}, CORE, {"flops": 268_435_456, "hbm_bytes": 1_572_864}),
    (
        "tensor_cfp8",
        {"dtype": "cfp8", "columns": 64, "instructions": 4},
        CORE,
        {"flops": 8_388_608, "instructions": 4},
    ),
    # 128·64 results twice; three products of halves for each
    (
        "fp32_passes",
        {"by": "bf16-halves", "dtype": "fp32", "columns": 64, "products": 2},
        CORE,
        {"flops": 12_582_912, "elements": 16_384, "instructions": 6},
    ),
    # two operations of each of 128·128 elements, ten times
    (
        "vector_latency",
        {"op": "tensor_scalar", "dtype": "fp32", "elements": 128, "instructions": 10},
        CORE,
        {"vector_flops": 327_680, "sbuf_bytes": 1_310_720, "elements": 163_840, "instructions": 10},
    ),
    (
        "scalar_latency",
        {"op": "exp", "dtype": "fp32", "elements": 1, "instructions": 10},
        CORE,
        {"scalar_flops": 3_840, "sbuf_bytes": 10_240, "elements": 1_280, "instructions": 10},
    ),
    (
        "gpsimd_latency",
        {"op": "copy", "dtype": "bf16", "elements": 2, "instructions": 10},
        CORE,
        {"gpsimd_flops": 2_560, "sbuf_bytes": 10_240, "elements": 2_560, "instructions": 10},
    ),
    (
        "activation_sweep",
        {"op": "tanh", "dtype": "fp32", "elements": 64, "instructions": 2},
        CORE,
        {"scalar_flops": 49_152, "sbuf_bytes": 131_072, "elements": 16_384, "instructions": 2},
    ),
    (
        "vector_reciprocal",
        {"op": "reciprocal", "dtype": "fp32", "elements": 64, "instructions": 2},
        CORE,
        {"vector_flops": 16_384, "sbuf_bytes": 131_072, "elements": 16_384, "instructions": 2},
    ),
    (
        "scalar_reciprocal",
        {"op": "reciprocal", "dtype": "fp32", "elements": 64, "instructions": 2},
        CORE,
        {"scalar_flops": 49_152, "sbuf_bytes": 131_072, "elements": 16_384, "instructions": 2},
    ),
    # 128·64·2 steps: 2 vector, 3 gpsimd, 2 scalar; 128·64 more on vector; 3·8192 + 256 + 256 elements
    (
        "selective_scan",
        {"dtype": "fp32", "channels": 128, "tokens": 64, "states": 2},
        CORE,
        {"vector_flops": 40_960, "gpsimd_flops": 49_152, "scalar_flops": 32_768, "hbm_bytes": 100_352},
    ),
    # 2·8·16·64·32; 8·(64·16 + 64·32 + 16·32) elements of 2 bytes
    (
        "moe_experts",
        {"dtype": "bf16", "experts": 8, "tokens": 16, "hidden": 64, "columns": 32},
        CORE,
        {"flops": 524_288, "hbm_bytes": 57_344},
    ),
    # 128·512 elements: 3 vector, 2 scalar and a reciprocal per row
    (
        "softmax",
        {"dtype": "bf16", "rows": 128, "columns": 512},
        CORE,
        {"vector_flops": 196_608, "scalar_flops": 131_200, "hbm_bytes": 262_144},
    ),
    # 7 vector per element, a square root per row; gamma and beta of 512 elements of 4 bytes
    (
        "layer_norm",
        {"dtype": "fp32", "rows": 128, "columns": 512},
        CORE,
        {"vector_flops": 458_752, "scalar_flops": 128, "hbm_bytes": 524_288 + 4_096},
    ),
    (
        "rms_norm",
        {"dtype": "fp32", "rows": 128, "columns": 512},
        CORE,
        {"vector_flops": 262_144, "scalar_flops": 128, "hbm_bytes": 524_288 + 2_048},
    ),
    # two products of 2·1024·64·1024 each; Q, K, V, O of 1024·64 elements of 2 bytes
    (
        "attention",
        {"dtype": "bf16", "seq": 1024, "head_dim": 64, "mask": "full", "heads": 1},
        CORE,
        {
            "flops": 268_435_456,
            "vector_flops": 2_097_152,
            "scalar_flops": 2_097_152,
            "hbm_bytes": 524_288,
        },
    ),
    # causal: 1024·1025/2 = 524,800 pairs; two heads
    (
        "attention",
        {"dtype": "bf16", "seq": 1024, "head_dim": 64, "mask": "causal", "heads": 2},
        CORE,
        {
            "flops": 268_697_600,
            "vector_flops": 2_099_200,
            "scalar_flops": 2_099_200,
            "hbm_bytes": 1_048_576,
        },
    ),
    ("transpose", {"dtype": "bf16", "size": 512}, CORE, {"hbm_bytes": 1_048_576}),
    (
        "host_to_device",
        {"size": MIB},
        Extent(scope=Scope.INSTANCE, cores=32, devices=16),
        {"host_bytes": 16 * MIB, "hbm_bytes": 16 * MIB},
    ),
    ("device_to_host", {"size": MIB}, CORE, {"host_bytes": MIB, "hbm_bytes": MIB}),
    # busbw factors of 16 ranks: 2·15/16, 15/16, 1
    (
        "all_reduce",
        {"dtype": "bf16", "size": MIB},
        ranks(16),
        {"payload_bytes": MIB, "link_bytes": 1_966_080},
    ),
    ("all_gather", {"dtype": "bf16", "size": MIB}, ranks(16), {"payload_bytes": MIB, "link_bytes": 983_040}),
    (
        "reduce_scatter",
        {"dtype": "bf16", "size": MIB},
        ranks(16),
        {"payload_bytes": MIB, "link_bytes": 983_040},
    ),
    ("all_to_all", {"dtype": "bf16", "size": MIB}, ranks(16), {"payload_bytes": MIB, "link_bytes": 983_040}),
    ("broadcast", {"dtype": "bf16", "size": MIB}, ranks(16), {"payload_bytes": MIB, "link_bytes": MIB}),
    ("permute", {"dtype": "bf16", "size": MIB}, ranks(16), {"payload_bytes": MIB, "link_bytes": MIB}),
    # 128 tokens to 8 experts, 4096 wide, 2 bytes: 8 MiB, of which 63/64 leave
    (
        "moe_dispatch",
        {"dtype": "bf16", "tokens": 128, "hidden": 4096, "top_k": 8},
        ranks(64),
        {"payload_bytes": 8 * MIB, "link_bytes": 8_257_536},
    ),
    (
        "point_to_point",
        {"reach": "neighbour", "size": MIB},
        ranks(2),
        {"payload_bytes": MIB, "hbm_bytes": 2 * MIB, "link_bytes": MIB},
    ),
    (
        "remote_memory_read",
        {"reach": "other-host", "size": MIB},
        ranks(2),
        {"payload_bytes": MIB, "hbm_bytes": 2 * MIB, "link_bytes": MIB},
    ),
]


FOOTPRINTS = [
    ("gemm", {"dtype": "bf16", "size": 16384}, CORE, {"hbm": 1.5 * GIB}),
    ("hbm_triad", {"dtype": "fp32", "size": GIB}, CORE, {"hbm": 3 * GIB}),
    ("hbm_read", {"size": GIB}, CORE, {"hbm": GIB}),
    ("hbm_copy", {"size": GIB}, CORE, {"hbm": 2 * GIB}),
    (
        "dma_sweep",
        {"bytes_per_partition": 8, "partitions": 128, "transfers": 9},
        CORE,
        {"hbm": 1024, "sbuf": 1024},
    ),
    (
        "vector_throughput",
        {"op": "reduce", "dtype": "bf16", "elements": 4, "instructions": 9},
        CORE,
        {"sbuf": 8 * 128 * (8 + 4)},
    ),
    ("all_gather", {"dtype": "bf16", "size": 16 * MIB}, ranks(16), {"hbm": 17 * MIB}),
    ("all_reduce", {"dtype": "bf16", "size": MIB}, ranks(16), {"hbm": 2 * MIB}),
    ("moe_dispatch", {"dtype": "bf16", "tokens": 4, "hidden": 128, "top_k": 2}, ranks(4), {"hbm": 5120}),
    ("host_to_device", {"size": MIB}, ranks(16), {"hbm": MIB, "host": MIB}),
]


@pytest.mark.parametrize(("name", "point", "extent", "counts"), BY_HAND)
def test_counts_agree_with_those_worked_out_by_hand(name, point, extent, counts):
    assert KERNELS[name].work(point, extent).as_counts() == counts


def test_every_kernel_has_a_number_worked_out_by_hand():
    assert {name for name, *_ in BY_HAND} == set(KERNELS)


@pytest.mark.parametrize(("name", "point", "extent", "expected"), FOOTPRINTS)
def test_footprints_are_of_one_share(name, point, extent, expected):
    assert dict(KERNELS[name].footprint(point, extent)) == expected
