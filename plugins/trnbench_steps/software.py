"""Which path of the software a step takes, where exporters differ: named, with a source, and never fitted.

A path is a word of the job where it is known, by a published reading or by who asks. Elsewhere the usual one
stands, and the step by the other path is told beside it.
"""

from __future__ import annotations

import msgspec

from trnbench_steps.attention import AttentionKind
from trnbench_steps.division import Division
from trnbench_steps.expert_share import path_of
from trnbench_steps.job import Task
from trnbench_steps.paths import (
    BLOCKS,
    CHOSEN,
    COMPILED,
    EVERY,
    FUSED,
    KERNELS,
    NATIVE,
    OPERATORS,
    UNFUSED,
    WIDENED,
)

_NXD = "aws-neuron/neuronx-distributed@fecfe75: src/neuronx_distributed/"
_EXPERTS = f"{_NXD}modules/moe/expert_mlps_v2.py"
_WEIGHTS = f"{_NXD}quantization/quantization_layers.py"
_PATHS: dict[str, tuple[str, str]] = {
    FUSED: (
        "a kernel keeps the scores of a prompt on the core",
        "aws-neuron/neuronx-distributed-inference@4bcdc54: modules/attention/attention_base.py, "
        "get_flash_attention_strategy; huggingface/optimum-neuron@213224e: the same",
    ),
    UNFUSED: (
        "the scores of a prompt go through memory, operator by operator",
        "aws-neuron/transformers-neuronx@0623de2: layers/attention.py, context_combined; a kernel comes with "
        "Neuron 2.19 (release notes of PyTorch, transformers-neuronx)",
    ),
    COMPILED: ("the compiler makes matrix products and norms of a layer", ""),
    KERNELS: (
        "kernels of the library make them",
        "aws-neuron/aws-neuron-sdk@06f3378: trn2-llama3.3-70b-tutorial.rst, --qkv-kernel-enabled "
        "--mlp-kernel-enabled",
    ),
    WIDENED: ("8-bit weights are turned into the type of activations", f"{_WEIGHTS}, direct_cast_dequantize"),
    NATIVE: ("products take fp8 activations and weights", f"{_WEIGHTS}, quantize_fp8_per_channel"),
    CHOSEN: (
        "each token gathers its own experts, one after the other",
        f"{_EXPERTS}, forward_selective_loading",
    ),
    EVERY: ("every expert takes every token", f"{_EXPERTS}, forward_all_experts"),
    BLOCKS: ("one kernel takes blocks of tokens, each of one expert", f"{_EXPERTS}, forward_blockwise"),
    OPERATORS: (
        "operators of the graph take such blocks one after the other",
        f"{_EXPERTS}, torch_blockwise_matmul_inference",
    ),
}


class SoftwarePath(msgspec.Struct, frozen=True, kw_only=True):
    """What one of the job's fields came to; `known`: the job says so; `other`: what it might be instead."""

    name: str
    path: str
    says: str
    source: str
    known: bool
    other: str = ""


def paths_of(division: Division) -> tuple[SoftwarePath, ...]:
    """Of everything that a step of `division` has: attention of prompts, products, 8-bit weights, experts."""
    job, kinds = division.job, division.model.kinds
    paths: list[SoftwarePath] = []
    if job.task is not Task.DECODE and any(kind.attention.kind is not AttentionKind.LINEAR for kind in kinds):
        paths.append(_path("attention_path", job.attention_path, FUSED, UNFUSED))
    if job.products:
        paths.append(_path("products", job.products, COMPILED))
    if job.weights in ("int8", "fp8", "cfp8"):
        fp8 = job.weights != "int8"
        paths.append(_path("widening", job.widening if fp8 else WIDENED, WIDENED, NATIVE if fp8 else ""))
    words = [path_of(division, kind.feed_forward) for kind in kinds if kind.feed_forward.experts]
    if words and words[0]:
        paths.append(_path("experts", job.experts and words[0], words[0]))
    return tuple(paths)


def _path(name: str, word: str, usual: str, other: str = "") -> SoftwarePath:
    says, source = _PATHS[word or usual]
    known = bool(word)
    return SoftwarePath(
        name=name, path=word or usual, says=says, source=source, known=known, other="" if known else other
    )
