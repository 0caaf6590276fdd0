"""Rows of TOML that are kernels: what one takes from another, what formulas name, what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnbench.errors import FactError
from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Kernel
from trnbench.kernels.table import read_kernels
from trnbench.kernels.work import Extent

ROW = """
[metrics.rate]
name = "hbm_bytes_per_s"
unit = "B/s"
count = "hbm_bytes"

[[kernels]]
name = "acme_copy"
family = "hbm"
title = "Copy"
about = "How fast it copies."
scopes = "core instance"
primary = "rate"
tags = "memory copy"
implementations = { model = "roofline" }
requires = "dtype:{dtype} {far}"
valid = [["size % 4 == 0", "{size} is no multiple of 4"]]
footprint = { hbm = "moved" }
axes.dtype = "bf16 fp32; about of all"
axes.size = "64; about elements"
let = { moved = "passes * size * item", passes = 2, far = "'hosts:2' if size > 64 else ''" }
work.bytes = { hbm = "moved * cores", sbuf = "0" }
work.formula = "hbm_bytes = {passes}·size·{item:g} B{times}"
"""
LIKE = """
[[kernels]]
name = "acme_triad"
like = "acme_copy"
let = { passes = 3 }
"""


def kernels(folder: Path, text: str) -> list[Kernel]:
    path = folder / "kernels.toml"
    path.write_text(text, encoding="utf-8")
    return [kernel for kernel in read_kernels(path, "acme.kernels") if isinstance(kernel, Kernel)]


def test_a_row_takes_from_another_what_it_does_not_say(tmp_path: Path) -> None:
    copy, triad = kernels(tmp_path, ROW + LIKE)
    point, extent = {"dtype": "bf16", "size": 64}, Extent(scope=Scope.INSTANCE, cores=8)
    assert (copy.title, triad.title) == ("Copy", "Copy")
    assert copy.work(point, extent).as_counts() == {"hbm_bytes": 2 * 64 * 2 * 8}
    assert triad.work(point, extent).formula == "hbm_bytes = 3·size·2 B; × 8 cores"
    assert triad.work(point, Extent(scope=Scope.CORE)).formula == "hbm_bytes = 3·size·2 B"
    assert triad.footprint(point, extent) == {"hbm": 3 * 64 * 2}
    assert copy.requires(point) == ("dtype:bf16",)
    assert copy.requires({**point, "size": 128}) == ("dtype:bf16", "hosts:2")
    assert copy.valid({**point, "size": 66}) == "66 is no multiple of 4"
    assert copy.work.__module__ == "acme.kernels"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('primary = "rate"', 'primary = "speed"', "primary 'speed' is no entry of [metrics]: rate"),
        ("[metrics.rate]", "[rates.rate]", "primary 'rate' is no entry of [metrics]: it has none"),
        ('"core instance"', '"engine room"', "'room' is not a valid Scope"),
        ("about elements", "abuot elements", "Unexpected keyword argument 'abuot'"),
        ('title = "Copy"', "", "Missing required argument 'title'"),
        ('tags = "memory copy"', "", "it says no 'tags'"),
        (
            'work.bytes = { hbm = "moved * cores", sbuf = "0" }',
            'work.hbm_bytes = "moved"',
            "work counts no hbm_bytes, but flops, engine_flops, bytes, link_bytes, network_bytes, elements, "
            "instructions, tokens, formula",
        ),
    ],
)
def test_a_row_that_makes_no_kernel_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(FactError) as caught:
        kernels(tmp_path, ROW.replace(old, new))
    assert caught.value.what == f"kernel 'acme_copy' of kernels.toml cannot be made: {message}"


def test_a_published_shape_is_a_point_where_every_axis_has_a_whole_number(tmp_path: Path) -> None:
    row = 'published = { operation = "copy {dtype}", sizes = { n = "size" }, POINT }\n'
    one, none = 'point = { size = "n" }, fixed = { dtype = "bf16" }, single = ["batch"]', "program = 'p'"
    known, unknown = (
        kernels(tmp_path, ROW + row.replace("POINT", back))[0].published for back in (one, none)
    )
    point = {"dtype": "bf16", "size": 128}
    shapes = ({"n": 128}, {"n": 128, "batch": 1}, {"n": 128, "batch": 2}, {"n": 1.5}, {"m": 128})
    assert [known.point(shape) for shape in shapes] == [point, point, None, None, None]
    assert unknown.point({"n": 128}) is None
    words = [(each.group, each.operation(point), each.program(point)) for each in (known, unknown)]
    assert words == [("core", "copy bf16", ""), ("core", "copy bf16", "p")]
    assert known.sizes(point) == {"n": 128.0}
