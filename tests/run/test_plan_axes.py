"""Axes, zips and exclusions as typed: what they mean, and what they say when they mean nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.errors import TrnbenchError, UnknownName, UsageError
from trnbench.facts.scope import Scope
from trnbench.kernels.axis import Axis
from trnbench.kernels.kernel import Kernel, PrimaryMetric
from trnbench.kernels.work import Work
from trnbench.run.axes import MAX_VALUES, parse_sweep
from trnbench.run.exclude import parse_exclusion
from trnbench.run.number import read_number, read_whole
from trnbench.run.points import Points
from trnbench.run.selection import Selection

SIZE = Axis(name="size", values=(128, 256), unit="B")
DTYPE = Axis(name="dtype", kind="str", values=("bf16",), choices=("bf16", "fp8", "fp32"))
RATE = Axis(name="rate", kind="float", values=(0.5,), least=0.0)


def kernel(name: str, *axes: Axis, **more) -> Kernel:
    return Kernel(
        name=name,
        family="f",
        title="t",
        about="a.",
        axes=axes,
        scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="latency_s", unit="s", better="lower"),
        work=lambda point, extent: Work(),
        footprint=lambda point, extent: {},
        requires=lambda point: (),
        **more,
    )


SQUARE = kernel("square", DTYPE, SIZE)
OBLONG = kernel(
    "oblong",
    Axis(name="m", values=(1, 2, 3)),
    Axis(name="n", values=(4, 5, 6)),
    zipped=(("m", "n"),),
)
PLAIN = kernel("plain")


def points_of(of: Kernel, among: tuple[Kernel, ...] = (), *, wide: bool = False, **selection):
    chosen = Selection(**{name: tuple(values) for name, values in selection.items()})
    return Points.of(chosen, among or (of,)).combine(of, wide=wide)[0]


def sizes(typed: str):
    return parse_sweep(typed).values(SIZE)


# ---- numbers


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("4096", 4096),
        ("1K", 1024),
        ("64k", 65536),
        ("1M", 1 << 20),
        ("1MiB", 1 << 20),
        ("2GB", 2 << 30),
        ("1.5K", 1536),
        ("1e3", 1000),
        ("0.5", Fraction(1, 2)),
        ("-3", -3),
        (" 7 ", 7),
    ],
)
def test_numbers_as_people_type_them(typed, value):
    assert read_number(typed, "it") == value


@pytest.mark.parametrize(
    "typed", ["", "K", "x", "1KK", "1 2", "nan", "inf", "0x10", "1e", "1e999", "١", "--1"]
)
def test_what_is_no_number(typed):
    with pytest.raises(UsageError) as caught:
        read_number(typed, "axis size")
    assert str(caught.value) == (
        f"{typed!r} is not a number\n"
        "  cause: axis size takes numbers\n"
        "  try:   4096 or 4K; K, M, G and T stand for 2^10, 2^20, 2^30 and 2^40"
    )


def test_a_count_is_whole():
    assert read_whole("1.5K", "axis size") == 1536
    with pytest.raises(UsageError, match=r"'1.5' is not a whole number"):
        read_whole("1.5", "axis size")


@given(st.integers(0, 1 << 50), st.sampled_from(["", "K", "M", "G", "T"]))
def test_suffixes_are_powers_of_two(number, suffix):
    assert (
        read_number(f"{number}{suffix}", "it")
        == number << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[suffix]
    )


# ---- sweeps


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("size=1K,64K,1M", (1 << 10, 1 << 16, 1 << 20)),
        ("size[list]=5,3", (5, 3)),
        ("size[pow2]=10:30:2", tuple(1 << e for e in range(10, 31, 2))),
        ("size[pow2]=3:5", (8, 16, 32)),
        ("size[range]=128:1024:128", tuple(range(128, 1025, 128))),
        ("size[range]=1K:1.5K:256", (1024, 1280, 1536)),
        ("size[range]=3:5", (3, 4, 5)),
        ("size[range]=1:10:4", (1, 5, 9)),
        ("size=1K,1024,1KiB", (1024,)),
        ("square.size=7", (7,)),
    ],
)
def test_sweeps(typed, values):
    assert sizes(typed) == values


def test_words_and_fractions():
    assert parse_sweep("dtype=fp8,bf16,fp8").values(DTYPE) == ("fp8", "bf16")
    assert parse_sweep("rate[range]=0:1:0.25").values(RATE) == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert parse_sweep("rate[range]=0:0.3:0.1").values(RATE) == (0.0, 0.1, 0.2, 0.3)


@given(st.integers(0, 62), st.integers(0, 62), st.integers(1, 70))
def test_powers_of_two_count_up_in_exponents(first, last, step):
    first, last = sorted((first, last))
    assert sizes(f"size[pow2]={first}:{last}:{step}") == tuple(1 << e for e in range(first, last + 1, step))


@given(st.integers(1, 10**6), st.integers(0, 500), st.integers(1, 10**5))
def test_ranges_keep_their_last_value(first, steps, step):
    last = first + steps * step
    assert sizes(f"size[range]={first}:{last}:{step}") == tuple(range(first, last + 1, step))
    assert sizes(f"size[range]={first}:{last + step - 1}:{step}")[-1] == last


@given(st.lists(st.integers(1, 1 << 62), min_size=1, max_size=20))
def test_lists_keep_order_and_drop_repetitions(values):
    assert sizes("size=" + ",".join(map(str, values))) == tuple(dict.fromkeys(values))


@given(st.text(max_size=40))
def test_anything_typed_is_a_sweep_or_a_message(typed):
    try:
        assert all(parse_sweep(typed).values(axis) for axis in (SIZE, DTYPE, RATE))
        message = "a sweep"
    except TrnbenchError as error:
        message = error.what and error.try_
    assert message


WRONG = [
    (
        "size",
        "'size' is no axis\n"
        "  cause: an axis is a name, an equals sign and values\n"
        "  try:   NAME=1K,64K  NAME[range]=128:1024:128  NAME[pow2]=10:30:2  KERNEL.NAME=…",
    ),
    (
        "size=1,,2",
        "'size=1,,2' has an empty value\n"
        "  cause: there is nothing between two commas\n"
        "  try:   NAME=1K,64K  NAME[range]=128:1024:128  NAME[pow2]=10:30:2  KERNEL.NAME=…",
    ),
    (
        "size[range]=10:5:2",
        "'size[range]=10:5:2' is empty\n"
        "  cause: it starts at 10 and ends before that, at 5\n"
        "  try:   size[range]=5:10:2",
    ),
    (
        "size[range]=1:10:0",
        "'size[range]=1:10:0' has step 0\n"
        "  cause: a range counts up, so its step is positive\n"
        "  try:   a step of 1 or more, from 1 to 10",
    ),
    (
        "size[range]=1",
        "'size[range]=1' is no range\n"
        "  cause: [range] takes FIRST:LAST or FIRST:LAST:STEP\n"
        "  try:   -a 'size[range]=128:1024:128'",
    ),
    (
        "size[pow2]=1024:4096",
        "'size[pow2]=1024:4096' leaves the exponents 0 to 62\n"
        "  cause: [pow2] takes exponents, not the powers themselves\n"
        "  try:   -a 'size[pow2]=10:30' for 2^10 to 2^30",
    ),
    (
        "size[pwo2]=1:2",
        "unknown kind of sweep 'pwo2'\n"
        "  cause: did you mean pow2?\n"
        "  try:   NAME=1K,64K  NAME[range]=128:1024:128  NAME[pow2]=10:30:2  KERNEL.NAME=…",
    ),
    (
        "size=10:30:2",
        "'10:30:2' is not a number\n"
        "  cause: a list has commas; a range says that it is one\n"
        "  try:   -a 'size[range]=10:30:2' or -a 'size[pow2]=10:30:2'",
    ),
    (
        "size=big",
        "'big' is not a number\n"
        "  cause: axis size takes numbers\n"
        "  try:   4096 or 4K; K, M, G and T stand for 2^10, 2^20, 2^30 and 2^40",
    ),
    (
        "size=0",
        "size = 0 in 'size=0' is too small\n  cause: axis size starts at 1\n  try:   -a size=1",
    ),
    (
        "size=4611686018427387905",
        "size = 4.61169e+18 in 'size=4611686018427387905' is too large\n"
        "  cause: an axis ends at 2^62\n"
        "  try:   -a size=256",
    ),
    (
        "size[range]=1:2:0.5",
        "size = 1.5 in 'size[range]=1:2:0.5' is not a whole number\n"
        "  cause: axis size counts B\n"
        "  try:   a whole start and step",
    ),
    (
        "size[range]=1:1M",
        "'size[range]=1:1M' has 1,048,576 values\n"
        f"  cause: an axis takes {MAX_VALUES:,} at most\n"
        "  try:   a larger step, or [pow2] in place of [range]",
    ),
]


@pytest.mark.parametrize(("typed", "message"), WRONG, ids=[typed for typed, _ in WRONG])
def test_what_a_wrong_sweep_says(typed, message):
    with pytest.raises(UsageError) as caught:
        sizes(typed)
    assert str(caught.value) == message
    assert caught.value.exit_code == 2


def test_words_are_checked_against_those_the_axis_takes():
    with pytest.raises(UnknownName) as caught:
        parse_sweep("dtype=bf61").values(DTYPE)
    assert str(caught.value) == "unknown dtype 'bf61'\n  cause: did you mean bf16?\n  try:   -a dtype=bf16"
    with pytest.raises(UsageError) as refused:
        parse_sweep("dtype[range]=1:2").values(DTYPE)
    assert str(refused.value) == (
        "axis dtype has no numbers to count through in 'dtype[range]=1:2'\n"
        "  cause: it takes words: bf16, fp8, fp32\n"
        "  try:   -a dtype=bf16"
    )


# ---- which kernels they are for


def test_an_unknown_axis_says_which_kernels_have_which():
    with pytest.raises(UnknownName) as caught:
        points_of(SQUARE, (SQUARE, OBLONG), axes=["sise=1"])
    assert str(caught.value) == "unknown axis 'sise'\n  cause: did you mean size?\n  try:   size (square)"


def test_an_axis_of_another_kernel_says_whose_it_is():
    with pytest.raises(UsageError) as caught:
        points_of(SQUARE, (SQUARE, OBLONG), axes=["square.m=1"])
    assert str(caught.value) == (
        "no kernel that fits 'square' has the axis 'm'\n"
        "  cause: it belongs to oblong\n"
        "  try:   -a m=… for those, or an axis of these: dtype (square); size (square)"
    )
    with pytest.raises(UnknownName, match="unknown kernel 'sqare'"):
        points_of(SQUARE, axes=["sqare.size=1"])


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


# ---- cross, zip, exclude


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


def test_a_zip_of_unequal_lengths_gives_the_lengths():
    with pytest.raises(UsageError) as caught:
        points_of(OBLONG, axes=["m=1,2", "n=1,2,3"], zips=["m,n"])
    assert str(caught.value) == (
        "axes m and n of oblong cannot be zipped\n"
        "  cause: they have 2 values of m and 3 values of n\n"
        "  try:   as many values for each: -a m=… -a n=…"
    )


@pytest.mark.parametrize("typed", ["m", "m,", "m,m", ","])
def test_a_zip_needs_two_axes(typed):
    with pytest.raises(UsageError) as caught:
        points_of(OBLONG, zips=[typed])
    assert caught.value.what == f"--zip {typed!r} names no axes that could move together"


def test_a_zip_of_unknown_axes():
    with pytest.raises(UnknownName, match="unknown axis 'q'"):
        points_of(OBLONG, zips=["m,q"])


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


@pytest.mark.parametrize("typed", ["", "size", "size>", ">3", "size=1,", "size<>3,"])
def test_an_exclusion_that_compares_nothing(typed):
    with pytest.raises(UsageError, match="compares nothing"):
        parse_exclusion(typed)


def test_an_exclusion_of_words_cannot_be_ordered():
    with pytest.raises(UsageError) as caught:
        points_of(SQUARE, excludes=["dtype<fp8"])
    assert str(caught.value) == (
        "'<' compares numbers, not dtype, in 'dtype<fp8'\n"
        "  cause: axis dtype takes words\n"
        "  try:   --exclude 'dtype=fp8'"
    )


def test_an_exclusion_of_an_unknown_axis():
    with pytest.raises(UnknownName, match="unknown axis 'sze'"):
        points_of(SQUARE, excludes=["sze=1"])


def test_too_many_points_says_what_multiplies():
    with pytest.raises(UsageError) as caught:
        points_of(OBLONG, axes=["m[range]=1:1000", "n[range]=1:1001"])
    assert str(caught.value) == (
        "oblong would have 1,001,000 points, the most is 100,000\n"
        "  cause: 1000 of m × 1001 of n\n"
        "  try:   fewer values, a larger step, or axes that move together with --zip"
    )


def test_wide_takes_the_shorter_sweep_unless_one_was_typed():
    short = kernel("short", Axis(name="size", values=(1, 2, 3), wide=(3,)))
    assert len(points_of(short)) == 3
    assert points_of(short, wide=True) == ({"size": 3},)
    assert len(points_of(short, wide=True, axes=["size=1,2"])) == 2


def test_dtypes_may_be_any_the_kernel_takes():
    assert {p["dtype"] for p in points_of(SQUARE, dtypes=["fp*"])} == {"fp8", "fp32"}
    assert points_of(PLAIN, (SQUARE, PLAIN), dtypes=["fp8"]) == ()
    assert {p["dtype"] for p in points_of(SQUARE, axes=["dtype=bf16,fp8"], dtypes=["fp*"])} == {"fp8"}
    with pytest.raises(UnknownName, match="unknown dtype 'fp9'"):
        points_of(SQUARE, dtypes=["fp9"])


def test_a_kernels_check_that_fails_costs_its_own_points():
    def broken(_):
        raise ZeroDivisionError("oops")

    points, why = Points.of(Selection(), (SQUARE,)).combine(kernel("bad", SIZE, valid=broken), wide=False)
    assert points == ()
    assert why == ("its own check failed with ZeroDivisionError: oops",)
