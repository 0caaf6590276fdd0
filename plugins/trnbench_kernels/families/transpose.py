"""Transposing a square matrix in device memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import PLAIN, item_bytes, needs
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, always, renamed
from trnbench.kernels.sweep import EVERY_SCOPE, per_core
from trnbench.kernels.work import Work


def _work(point: Point, extent: Extent) -> Work:
    item = item_bytes(point["dtype"])
    return Work(
        bytes={"hbm": 2.0 * int(point["size"]) ** 2 * item * extent.cores},
        formula=per_core(f"hbm_bytes = 2·size²·{item:g} B; no arithmetic counted", extent),
    )


def _footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": 2.0 * int(point["size"]) ** 2 * item_bytes(point["dtype"])}


def kernels() -> Iterator[Kernel]:
    """transpose."""
    yield Kernel(
        name="transpose",
        family="transpose",
        title="Matrix transpose",
        about="Changing which axis lies on the partitions: the hidden cost between two products.",
        axes=(
            Axis(name="dtype", kind="str", values=("bf16", "fp32"), choices=PLAIN, about="in and out"),
            Axis(name="size", values=(512, 2048, 8192), about="rows and columns"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth"),
        work=_work,
        footprint=_footprint,
        requires=lambda point: (*needs(point["dtype"], "nc_transpose"),),
        tags=("memory", "layout", "tensor"),
        implementations={"nki": "trnbench_kernels.nki.transpose:transpose"},
        published=PublishedAs(
            operation=always("transpose"), sizes=renamed({"rows": "size", "columns": "size"})
        ),
    )
