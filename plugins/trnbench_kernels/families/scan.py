"""The selective scan of a state-space model (Mamba): a recurrence along the tokens of every channel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import item_bytes, needs
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, always, read_back, renamed
from trnbench.kernels.sweep import EVERY_SCOPE, per_core
from trnbench.kernels.work import Work


def _memory(point: Point) -> float:
    channels, tokens, states = (int(point[name]) for name in ("channels", "tokens", "states"))
    return (3 * channels * tokens + channels * states + 2 * states * tokens) * item_bytes(point["dtype"])


def _work(point: Point, extent: Extent) -> Work:
    channels, tokens, states = (float(int(point[name])) for name in ("channels", "tokens", "states"))
    steps = channels * tokens * states * extent.cores
    return Work(
        engine_flops={
            "vector": 2 * steps + channels * tokens * extent.cores,
            "gpsimd": 3 * steps,
            "scalar": 2 * steps,
        },
        bytes={"hbm": _memory(point) * extent.cores},
        formula=per_core(
            "per channel, token and state 2 vector (the recurrence), 3 gpsimd (δ·u·B, ·C, sum) and 2 scalar "
            "operations (δ·A, exp), per channel and token one more vector (δ·u); "
            "hbm_bytes = (3·channels·tokens + "
            f"channels·states + 2·states·tokens)·{item_bytes(point['dtype']):g} B, each array once",
            extent,
        ),
    )


def _footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": _memory(point)}


def _valid(point: Point) -> str:
    return "" if int(point["channels"]) % 128 == 0 else "channels come in groups of 128 partitions"


_AXES = {"channels": "channels", "seq": "tokens", "state": "states"}


def kernels() -> Iterator[Kernel]:
    """selective_scan."""
    yield Kernel(
        name="selective_scan",
        family="scan",
        title="Selective scan",
        about="The recurrence of a state-space model: a chain of tokens that no matrix product takes over.",
        axes=(
            Axis(name="dtype", kind="str", values=("fp32",), choices=("fp32", "bf16"), about="of all arrays"),
            Axis(name="channels", values=(256,), about="128 at a time, one on each partition"),
            Axis(name="tokens", values=(512, 2048), about="length of the recurrence"),
            Axis(name="states", values=(16,), about="states of each channel"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(
            name="vector_flops_per_s",
            unit="FLOP/s",
            count="vector_flops",
            peak="peak_flops",
            qualifier="vector",
        ),
        work=_work,
        footprint=_footprint,
        requires=lambda point: (
            *needs(point["dtype"], "tensor_tensor_scan", "activation", "tensor_tensor", "dma_copy"),
        ),
        valid=_valid,
        tags=("operator", "vector", "recurrence"),
        implementations={"nki": "trnbench_kernels.nki.scan:selective_scan"},
        published=PublishedAs(operation=always("mamba"), sizes=renamed(_AXES), point=read_back(_AXES)),
    )
