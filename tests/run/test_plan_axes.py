"""Axes of a kernel: sweeps typed for them, crossed, zipped and excluded."""

from __future__ import annotations

import shlex
from collections import defaultdict
from pathlib import Path

import pytest
import tiny_machine as tiny
from hypothesis import given
from hypothesis import strategies as st
from messages import messages
from stored_run import message_of

from trnbench.errors import TrnbenchError, UnknownName
from trnbench.kernels.kernel import Axis, Kernel
from trnbench.run.points import Points
from trnbench.run.selection import Selection

SIZE = Axis(name="size", values=(128, 256), unit="B")
DTYPE = Axis(name="dtype", kind="str", values=("bf16",), choices=("bf16", "fp8", "fp32"))


def kernel(name: str, *axes: Axis, **more) -> Kernel:
    return tiny.kernel(name, axes=axes, requires=lambda point: (), **more)


SQUARE = kernel("square", DTYPE, SIZE)

OBLONG = kernel(
    "oblong", Axis(name="m", values=(1, 2, 3)), Axis(name="n", values=(4, 5, 6)), zipped=(("m", "n"),)
)

CUBE = kernel("cube", DTYPE, *OBLONG.axes, Axis(name="k", values=(1, 2)))

PLAIN = kernel("plain")


def points_of(of: Kernel, among: tuple[Kernel, ...] = (), *, wide: bool = False, **selection):
    chosen = Selection(**{name: tuple(values) for name, values in selection.items()})
    return Points.of(chosen, among or (of,)).combine(of, wide=wide)[0]


@pytest.mark.parametrize(("words", "message", "code"), messages(Path(__file__).parent / "wrong_axes.txt"))
def test_what_wrong_axes_zips_and_exclusions_say(words, message, code):
    name, *options = shlex.split(words)
    selection = defaultdict(list)
    for option, _, value in (each.partition("=") for each in options):
        selection[option].append(value)
    swept = {"square": SQUARE, "oblong": OBLONG, "cube": CUBE}[name]
    said = message_of(TrnbenchError, lambda: points_of(swept, (SQUARE, OBLONG), **selection))
    assert said == (message, code)


def test_of_an_axis_like_no_other_the_most_shared_ones_are_named():
    among = tuple(kernel(f"k{at}", *(Axis(name=f"a{i}", values=(1,)) for i in range(7))) for at in range(10))
    owners = "k0, k1, k2, k3, k4, k5, k6, k7, … 2 more"
    said = message_of(UnknownName, lambda: points_of(among[0], among, axes=["qqqqqq=1"]))[0]
    assert said.endswith(f"  try:   -a {'; '.join(f'a{i}=… ({owners})' for i in range(6))}")


def test_a_sweep_changes_kernels_that_have_the_axis_and_leaves_the_others():
    assert len(points_of(SQUARE, (SQUARE, PLAIN), axes=["size=1,2,3"])) == 3
    assert points_of(PLAIN, (SQUARE, PLAIN), axes=["size=1,2,3"]) == ({},)


def test_a_sweep_may_be_for_some_kernels_by_glob():
    other = kernel("squash", SIZE)
    among = (SQUARE, other, OBLONG)
    assert [p["size"] for p in points_of(SQUARE, among, axes=["squ*.size=9"])] == [9]
    assert [p["size"] for p in points_of(other, among, axes=["square.size=9"])] == [128, 256]


def test_options_for_one_axis_add_up():
    assert [p["size"] for p in points_of(SQUARE, axes=["size=4,8", "size=8,16"])] == [4, 8, 16]


def test_an_axis_may_be_typed_as_an_option():
    wide = kernel("wide", Axis(name="micro_batch", values=(1,)), Axis(name="seq_len", values=(8,)))
    axes = ["wide.micro-batch=1,2", "seq-len[pow2]=3:4"]
    assert points_of(wide, axes=axes, zips=["micro-batch,seq-len"], excludes=["micro-batch<2"]) == (
        {"micro_batch": 2, "seq_len": 16},
    )


def test_axes_cross_in_the_kernels_order():
    assert points_of(SQUARE, axes=["size=1,2", "dtype=fp8,bf16"]) == (
        {"dtype": "fp8", "size": 1},
        {"dtype": "fp8", "size": 2},
        {"dtype": "bf16", "size": 1},
        {"dtype": "bf16", "size": 2},
    )


def test_a_kernels_own_zip_holds_until_one_of_its_axes_is_typed():
    assert points_of(OBLONG) == ({"m": 1, "n": 4}, {"m": 2, "n": 5}, {"m": 3, "n": 6})
    assert len(points_of(OBLONG, axes=["m=7"])) == 3
    assert points_of(OBLONG, axes=["m=7,8", "n=1,2"], zips=["m,n"]) == ({"m": 7, "n": 1}, {"m": 8, "n": 2})
    assert len(points_of(OBLONG, axes=["m=7,8", "n=1,2"])) == 4


@given(st.integers(1, 30))
def test_a_zip_has_as_many_points_as_each_axis_a_cross_their_product(count):
    typed = ",".join(str(i) for i in range(1, count + 1))
    axes = [f"m={typed}", f"n={typed}"]
    assert len(points_of(OBLONG, axes=axes, zips=["m,n"])) == count
    assert len(points_of(OBLONG, axes=axes)) == count * count


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        ("dtype=fp32", 3),
        ("dtype=fp32,size>=512", 4),
        ("dtype=fp*", 0),
        ("dtype!=fp32", 3),
        ("size<1K", 2),
        ("size>256", 2),
        ("size<=256,size>=256", 4),
        ("size==512", 4),
        ("size=1K", 4),
    ],
)
def test_exclusions(typed, left):
    axes = ["dtype=fp8,fp32", "size=256,512,1024"]
    assert len(points_of(SQUARE, axes=axes, excludes=[typed])) == left


def test_an_exclusion_leaves_kernels_without_its_axes_alone():
    assert len(points_of(OBLONG, (SQUARE, OBLONG), excludes=["size>=1,dtype=bf16"])) == 3
    assert len(points_of(SQUARE, (SQUARE, OBLONG), excludes=["size>=1,m=1"])) == 2


def test_exclusions_add_up():
    assert len(points_of(SQUARE, axes=["size=1,2,3"], excludes=["size=1", "size=3"])) == 1


def test_wide_takes_the_shorter_sweep_unless_one_was_typed():
    short = kernel("short", Axis(name="size", values=(1, 2, 3), wide=(3,)))
    assert len(points_of(short)) == 3
    assert points_of(short, wide=True) == ({"size": 3},)
    assert len(points_of(short, wide=True, axes=["size=1,2"])) == 2


def test_dtypes_may_be_any_the_kernel_takes():
    assert {p["dtype"] for p in points_of(SQUARE, dtypes=["fp*"])} == {"fp8", "fp32"}
    assert points_of(PLAIN, (SQUARE, PLAIN), dtypes=["fp8"]) == ()
    assert {p["dtype"] for p in points_of(SQUARE, axes=["dtype=bf16,fp8"], dtypes=["fp*"])} == {"fp8"}


def test_a_kernels_check_that_fails_costs_its_own_points():
    def broken(_):
        raise ZeroDivisionError("oops")

    points, why = Points.of(Selection(), (SQUARE,)).combine(kernel("bad", SIZE, valid=broken), wide=False)
    assert points == ()
    assert why == ("its own check failed with ZeroDivisionError: oops",)
