"""Folding changes nothing: the program is that of all rounds executed, the schedule that of all instructions.

Kernels are drawn at random, and those of the package are all compared. Traps are loops that look alike
from round to round, and are not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drawn_kernels import kernels, source
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trnbench.emulator.core import steady
from trnbench.emulator.core.builder import Builder
from trnbench.emulator.core.core import Core
from trnbench.emulator.core.costs import CostTable
from trnbench.emulator.core.launch import Launch
from trnbench.emulator.core.model import KernelModel
from trnbench.emulator.core.pace import Pace, Without
from trnbench.emulator.core.program import Program
from trnbench.emulator.core.scheduler import NOTHING_REMOVED, schedule
from trnbench.errors import KernelError
from trnbench.nki import Machine, TensorSpec, load_kernel, record
from trnbench.nki.provide import provide

TRN1, TRN2, TRN3 = "trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver"
CAUSES = (
    NOTHING_REMOVED,
    Without(throttle=True, exclusions=True),
    Without(throttle=True, exclusions=True, buffers=True, start=True),
    Without(throttle=True, exclusions=True, buffers=True, start=True, latency=True, order=True),
    Without(order=True, hbm=True, queues=frozenset({"vector", "scalar"})),
    Without(throttle=True, exclusions=True, queues=frozenset({"load ring", "store ring"})),
    Without(throttle=True, buffers=True, hbm=True, queues=frozenset({"gpsimd", "load ring", "store ring"})),
)
SPEC = TensorSpec((128, 8192), "float32")
QUIET = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
    max_examples=40,
)


class Both:
    """A kernel recorded with and without folding."""

    def __init__(self, file: Path, system: Any, *args: Any, name: str = "kernel") -> None:
        self.machine = Machine.of(system)
        self.system = system
        self.executed = 0
        self.peaks: list[tuple[int, int]] = []
        self.unfolded = self._record(file, name, args, False)
        self.folded = self._record(file, name, args, True)

    def _record(self, file: Path, name: str, args: Any, fold: bool) -> Program:
        kernel, _, _ = load_kernel(f"{file}::{name}", nki="trnbench")
        builder = Builder(self.machine)
        issue = builder.issue
        self.executed = 0

        def counted(*instruction: Any) -> None:
            self.executed += 1
            issue(*instruction)

        builder.issue = counted  # type: ignore[method-assign]
        trace = record(kernel, args, machine=self.machine, sink=builder, fold=fold)
        self.peaks.append((trace.sbuf_peak_bytes, trace.psum_peak_bytes))
        assert trace.count == len(builder.program)
        return builder.program

    def check(self) -> None:
        same_program(self.unfolded, self.folded)
        assert self.peaks[0] == self.peaks[1]
        pace = Pace(CostTable(self.system))
        for without in CAUSES:
            same_schedule(self.unfolded, self.folded, pace, without)


def same_program(one: Program, other: Program) -> None:
    for name in ("op", "place", "waiters", "deps"):
        assert getattr(one, name) == getattr(other, name), name
    assert [each.key() for each in one.ops] == [each.key() for each in other.ops]
    assert one.places == other.places
    assert sorted(one.loops) == sorted(other.loops)
    for name in ("owners", "refs", "sizes"):
        assert getattr(one.psum, name) == getattr(other.psum, name), name


def same_schedule(one: Program, other: Program, pace: Pace, without: Without) -> None:
    plain = schedule(one, pace, without=without, fold=False)
    folded = schedule(other, pace, without=without)
    for name in ("total", "busy", "start", "issued", "end", "cause"):
        assert getattr(plain, name) == getattr(folded, name), name


@pytest.fixture(autouse=True)
def short_loops_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops with little to gain are left to themselves, and kernels of tests are short."""
    monkeypatch.setattr(steady, "_GAIN", 128)


@pytest.fixture(scope="module")
def both(registry: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Both]:
    folder = tmp_path_factory.mktemp("folded")
    number = iter(range(1 << 30))

    def made(body: str, where: str = TRN2) -> Both:
        file = folder / f"kernel_{next(number)}.py"
        file.write_text(source(body))
        return Both(file, registry.system(where), SPEC)

    return made


# Kernels drawn at random ------------------------------------------------------------------------


@given(body=kernels(), where=st.sampled_from([TRN1, TRN2, TRN3]))
@QUIET
def test_kernels_of_any_shape(both: Callable[..., Both], body: str, where: str) -> None:
    both(body, where).check()


# Traps ------------------------------------------------------------------------------------------

START = (
    "a, b, total, wide = fetch(x, 0), fetch(x, 64), fetch(x, 128), fetch(x, 0, 512)\nkept, count = [], 0\n"
)
TRAPS = {
    "a round unlike the others": "for i in nl.affine_range(40):\n    if i == 23:\n        a = fetch(x, 0)",
    "a counter": (
        "for i in nl.affine_range(40):\n    count = count + 1\n    if count == 31:\n        a = fetch(x, 0)\n"
        "    nisa.tensor_copy(dst=b, src=a)"
    ),
    "a list that grows": (
        "for i in nl.affine_range(40):\n    kept.append(fetch(x, i * 64))\n"
        "for t in kept:\n    nisa.tensor_copy(dst=b, src=t)"
    ),
    "a second name of a list": (
        "for i in nl.affine_range(40):\n    more = kept\n    more += [fetch(x, i)]\n    more = 0\n"
        "for t in kept:\n    nisa.tensor_copy(dst=b, src=t)"
    ),
    "a function with a memory": (
        "for i in nl.affine_range(40):\n    if noted(i) == 2:\n        nisa.tensor_copy(dst=a, src=b)\n"
        "    nisa.tensor_copy(dst=b, src=a)"
    ),
    "a tile of the round before": (
        "for i in nl.affine_range(40):\n    nisa.tensor_copy(dst=b, src=a)\n    a = fetch(x, i * 64)"
    ),
    "two tiles of the first round that change places": (
        "for i in nl.affine_range(200):\n    if i == 0:\n        a, b = tile(), tile()\n"
        "    nisa.activation(dst=a, op=nl.exp, data=b)\n    a, b = b, a"
    ),
    "two tiles in turn": (
        "for i in nl.affine_range(40):\n    a, b = b, a\n    nisa.tensor_copy(dst=a, src=b)"
    ),
    "shapes that change": (
        "for i in nl.affine_range(40):\n    c = tile(i + 1)\n"
        "    nisa.dma_copy(dst=c, src=x[0:128, 0 : i + 1])"
    ),
    "a dictionary": (
        "found = {0: 1, 30: 2}\nfor i in nl.affine_range(40):\n    for _ in range(found.get(i, 0)):\n"
        "        nisa.tensor_copy(dst=b, src=a)\n    nisa.tensor_copy(dst=a, src=b)"
    ),
    "zip beside it": (
        "kept = [fetch(x, 64 * n) for n in range(40)]\nfor i, t in zip(nl.affine_range(40), kept):\n"
        "    nisa.tensor_copy(dst=b, src=t)"
    ),
    "text of the number": (
        "for i in nl.affine_range(40):\n    if str(i) == '33' or f'{i}' == '35':\n        a = fetch(x, 0)\n"
        "    nisa.tensor_copy(dst=b, src=a)"
    ),
    "its type": (
        "for i in nl.affine_range(40):\n    if isinstance(i, int):\n        nisa.tensor_copy(dst=b, src=a)"
    ),
    "its bits": "for i in nl.affine_range(40):\n    if i & 8:\n        nisa.tensor_copy(dst=b, src=a)",
    "its square": (
        "for i in nl.affine_range(40):\n"
        "    nisa.tensor_copy(dst=wide[:, i * i % 500 : i * i % 500 + 1], src=a[:, 0:1])"
    ),
    "its share": (
        "for i in nl.affine_range(40):\n    at = int(i / 7) * 8\n"
        "    nisa.tensor_copy(dst=wide[:, at : at + 8], src=a[:, 0:8])"
    ),
    "as a value": (
        "for i in nl.affine_range(40):\n"
        "    nisa.tensor_scalar(dst=b, data=a, op0=nl.multiply, operand0=i)\n    nisa.memset(dst=a, value=i)"
    ),
    "a sum of two numbers": (
        "for i in nl.affine_range(12):\n    for j in nl.affine_range(12):\n        if i + j < 7:\n"
        "            nisa.tensor_copy(dst=b, src=a)\n        nisa.tensor_copy(dst=a, src=b)"
    ),
    "rows read after the loop that wrote them": (
        "for i in nl.affine_range(40):\n    nisa.tensor_copy(dst=wide[:, i * 8 : i * 8 + 8], src=a[:, 0:8])\n"
        "for i in nl.affine_range(40):\n"
        "    nisa.activation(dst=b[:, 0:8], op=nl.exp, data=wide[:, i * 8 : i * 8 + 8])"
    ),
    "rows read against the order": (
        "for i in nl.affine_range(40):\n    nisa.dma_copy(dst=x[0:128, i * 64 : i * 64 + 64], src=a)\n"
        "    nisa.dma_copy(dst=b, src=x[0:128, 2496 - i * 64 : 2560 - i * 64])"
    ),
    "the last tile, used afterwards": (
        "for i in nl.affine_range(40):\n    c = fetch(x, i * 64)\nnisa.tensor_copy(dst=b, src=c)\n"
        "nisa.tensor_copy(dst=wide[:, i : i + 1], src=c[:, 0:1])"
    ),
    "the tile of a round that was left out": (
        "for i in nl.affine_range(40):\n    if i < 36:\n        a = fetch(x, i * 64)\n"
        "    nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)"
    ),
    "tiles that fill the memory": (
        "for i in nl.affine_range(40):\n    c = fetch(x, i * 64, 4096)\n"
        "    nisa.tensor_copy(dst=b, src=c[:, 0:64])"
    ),
    "a tile kept now and then": (
        "for i in nl.affine_range(40):\n    c = fetch(x, i * 64, 2048)\n    if i % 4 == 0:\n"
        "        total = c\n"
        "    nisa.tensor_copy(dst=b, src=total[:, 0:64])"
    ),
    "an engine that cools down": (
        "left, right = tile(128), tile(512)\nfor i in nl.affine_range(60):\n    sums = tile(512, nl.psum)\n"
        "    nisa.nc_matmul(dst=sums, stationary=left, moving=right)\n"
        "    nisa.activation(dst=right, op=nl.exp, data=sums)"
    ),
    "banks that both engines use": (
        "left, right = tile(128), tile(512)\nfor i in nl.affine_range(90):\n    sums = tile(512, nl.psum)\n"
        "    nisa.nc_matmul(dst=sums, stationary=left, moving=right)\n"
        "    nisa.activation(dst=b, op=nl.exp, data=sums[:, 0:64])\n"
        "    nisa.tensor_copy(dst=a, src=sums[:, 64:128])\n"
        "    nisa.tensor_copy(dst=wide, src=sums)"
    ),
    "banks beside one that lasts": (
        "big = fetch(x, 0, 700)\nlasting, more = tile(1024, nl.psum), tile(100, nl.psum)\n"
        "nisa.memset(dst=lasting, value=0.0)\n"
        "nisa.memset(dst=more, value=0.0)\nfor i in nl.affine_range(90):\n"
        "    sums, small = tile(700, nl.psum), tile(8, nl.psum)\n"
        "    nisa.tensor_copy(dst=sums, src=big)\n    nisa.activation(dst=small, op=nl.exp, data=a[:, 0:8])\n"
        "    nisa.activation(dst=lasting[:, i * 10 : i * 10 + 8], op=nl.exp, data=sums[:, 600:608])\n"
        "    nisa.tensor_tensor(dst=b[:, 0:8], data1=small, data2=a[:, 0:8], op=nl.add)\n"
        "    nisa.tensor_copy(dst=wide[:, 0:100], src=more)\n"
        "nisa.tensor_copy(dst=b[:, 0:8], src=small)\n"
        "nisa.activation(dst=b[:, 0:8], op=nl.exp, data=sums[:, 0:8])"
    ),
    "banks of nested loops": (
        "left, right = tile(128), tile(512)\nfor i in nl.affine_range(24):\n    sums = tile(512, nl.psum)\n"
        "    for j in nl.affine_range(12):\n        part = tile(64, nl.psum)\n"
        "        nisa.nc_matmul(dst=sums, stationary=left, moving=right)\n"
        "        nisa.activation(dst=part, op=nl.exp, data=a)\n"
        "        nisa.tensor_copy(dst=b, src=part)\n"
        "    nisa.activation(dst=wide, op=nl.exp, data=sums)\n    nisa.tensor_copy(dst=wide, src=sums)"
    ),
    "two lists in turn": (
        "p, q = [], []\nr = p\nfor i in nl.affine_range(40):\n    p, q = q, p\n"
        "    nisa.tensor_copy(dst=a, src=b)\np.append(a)\nfor t in r:\n    nisa.tensor_copy(dst=b, src=t)"
    ),
    "two tiles in turn, used late": (
        "for i in nl.affine_range(40):\n    a, b = b, a\n    nisa.tensor_copy(dst=total, src=total)\n"
        "    if i > 30:\n        nisa.tensor_copy(dst=wide[:, 0:64], src=a)"
    ),
    "a view of the round before, used late": (
        "v = wide[:, 0:8]\nfor i in nl.affine_range(40):\n    if i > 30:\n"
        "        nisa.tensor_copy(dst=b[:, 0:8], src=v)\n"
        "    v = wide[:, i * 8 : i * 8 + 8]\n    nisa.tensor_copy(dst=v, src=a[:, 0:8])"
    ),
    "the number of the round before": (
        "last = 0\nfor i in nl.affine_range(40):\n"
        "    nisa.tensor_copy(dst=wide[:, last * 8 : last * 8 + 8], src=a[:, 0:8])\n    last = i\n"
        "nisa.tensor_copy(dst=b[:, 0:8], src=wide[:, last * 8 : last * 8 + 8])"
    ),
    "a number that only some rounds set": (
        "at = 0\nfor i in nl.affine_range(40):\n    if i < 36:\n        at = i\n"
        "    nisa.tensor_copy(dst=b, src=a)\nnisa.tensor_copy(dst=wide[:, at : at + 1], src=a[:, 0:1])"
    ),
    "the number, after its loop": (
        "for i in nl.affine_range(40):\n    nisa.tensor_copy(dst=b, src=a)\n"
        "nisa.tensor_copy(dst=wide[:, i : i + 1], src=a[:, 0:1])\nkept.append(i + 1)\n"
        "nisa.memset(dst=wide[:, 0 : kept[0]], value=0.0)"
    ),
    "a place in a range": (
        "for i in nl.affine_range(40):\n    some = nl.affine_range(i, i + 6)\n"
        "    if 20 in some:\n        nisa.tensor_copy(dst=a, src=b)\n"
        "    nisa.tensor_copy(dst=wide[:, some[2] : some[2] + 1], src=a[:, 0:1])"
    ),
    "tiles kept for three rounds": (
        "one, two = a, b\nfor i in nl.affine_range(40):\n    three = fetch(x, i * 64)\n"
        "    nisa.tensor_tensor(dst=total, data1=one, data2=three, op=nl.add)\n    one, two = two, three"
    ),
    "buffers that fill the memory": (
        "c = fetch(x, 0, 8192)\nfor i in nl.affine_range(40):\n    d = fetch(x, i, 8000)\n"
        "    nisa.activation(dst=c[:, 0:64], op=nl.exp, data=c[:, 0:64])\n"
        "    nisa.tensor_copy(dst=b, src=c[:, 0:64])\n    c = d\nnisa.tensor_copy(dst=b, src=c[:, 0:64])"
    ),
    "banks of the round before": (
        "left, right, before = tile(128), tile(512), tile(512, nl.psum)\nfor i in nl.affine_range(60):\n"
        "    sums = tile(512, nl.psum)\n    nisa.nc_matmul(dst=sums, stationary=left, moving=right)\n"
        "    nisa.activation(dst=wide, op=nl.exp, data=before)\n"
        "    nisa.tensor_copy(dst=b, src=before[:, 0:64])\n    before = sums\n"
        "nisa.tensor_copy(dst=wide, src=before)"
    ),
    "buffers of nested loops": (
        "for i in nl.affine_range(12):\n    d = fetch(x, i * 64)\n    for j in nl.affine_range(12):\n"
        "        c = fetch(x, i * 64 + j)\n"
        "        nisa.tensor_tensor(dst=total, data1=a, data2=c, op=nl.add)\n        a = c\n"
        "    nisa.tensor_tensor(dst=total, data1=b, data2=a, op=nl.add)\n    b = d"
    ),
    "tiles made anew beside what was waited for": (
        "for i in nl.affine_range(6):\n    nisa.activation(dst=b, op=nl.exp, data=a)\n"
        "    for _ in nl.affine_range(3):\n        a = fetch(x, i * 64)\n    for j in nl.affine_range(4):\n"
        "        a = fetch(x, i * 64)\n        for k in nl.affine_range(2):\n"
        "            nisa.activation(dst=b, op=nl.exp, data=a)\n            b = fetch(x, i * 64)\n"
        "            nisa.dma_copy(dst=x[0:128, 0:64], src=b)"
    ),
    "stores beside each other, read afterwards": (
        "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "for i in nl.affine_range(90):\n    nisa.activation(dst=a, op=nl.exp, data=b)\n"
        "    nisa.dma_copy(dst=out[0:128, i * 64 : i * 64 + 64], src=a)\n"
        "for i in nl.affine_range(90):\n    nisa.dma_copy(dst=b, src=out[0:128, i * 64 : i * 64 + 64])\n"
        "    nisa.activation(dst=a, op=nl.exp, data=b)"
    ),
    "stores apart from each other, and over them": (
        "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "for i in nl.affine_range(100):\n    nisa.activation(dst=a, op=nl.exp, data=b)\n"
        "    nisa.dma_copy(dst=out[0:128, i * 80 : i * 80 + 64], src=a)\n"
        "nisa.dma_copy(dst=out[0:64, 3000:3064], src=b[0:64, 0:64])\n"
        "for i in nl.affine_range(60):\n    nisa.activation(dst=b, op=nl.exp, data=a)\n"
        "    nisa.dma_copy(dst=out[0:128, i * 100 : i * 100 + 64], src=b)"
    ),
    "stores of few rows": (
        "out = nl.ndarray((8192, 64), dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "for i in nl.affine_range(150):\n    nisa.activation(dst=a, op=nl.exp, data=b)\n"
        "    nisa.dma_copy(dst=out[i * 3 : i * 3 + 2, 0:64], src=a[0:2, 0:64])\n"
        "nisa.dma_copy(dst=b, src=out[0:128, 0:64])\nnisa.dma_copy(dst=b, src=out[300:428, 0:64])"
    ),
    "stores that come back": (
        "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "for i in nl.affine_range(100):\n    nisa.activation(dst=a, op=nl.exp, data=b)\n"
        "    nisa.dma_copy(dst=out[0:128, 6400 - i * 64 : 6464 - i * 64], src=a)\n"
        "    nisa.dma_copy(dst=b, src=x[0:128, i * 8 : i * 8 + 64])\n"
        "for i in nl.affine_range(60):\n    nisa.dma_copy(dst=x[0:128, i * 8 : i * 8 + 64], src=a)\n"
        "    nisa.dma_copy(dst=out[0:128, i * 64 : i * 64 + 64], src=b)"
    ),
    "a sum in a loop that grows": (
        "for i in nl.affine_range(14):\n    nisa.memset(dst=total, value=1.0)\n"
        "    for j in nl.affine_range(6 * i + 1):\n        c = fetch(x, j * 64, 1024)\n"
        "        nisa.activation(dst=c, op=nl.exp, data=c)\n"
        "        nisa.tensor_tensor(dst=total, data1=total, data2=c[:, 0:64], op=nl.add)\n"
        "    nisa.dma_copy(dst=x[0:128, 8000:8064], src=total)"
    ),
    "a tensor that is read along and written in one place": (
        "for i in nl.affine_range(100):\n    nisa.dma_copy(dst=x[0:128, 0:64], src=fetch(x, i * 64))"
    ),
    "tiles of an earlier loop that go out of use": (
        "for i in nl.affine_range(9):\n    c = fetch(x, i * 64, 4096)\n"
        "    nisa.activation(dst=b, op=nl.exp, data=a)\n    nisa.tensor_copy(dst=b, src=c[:, 0:64])\n"
        "for i in nl.affine_range(60):\n    c = fetch(x, i * 64, 2048)\n"
        "    nisa.tensor_copy(dst=b, src=c[:, 0:64])"
    ),
    "a sum in a bank that stays, of tiles that go round": (
        "left, right, sums = tile(128), tile(512), tile(512, nl.psum)\n"
        "for i in nl.affine_range(50):\n    part = tile(128, nl.psum)\n"
        "    nisa.nc_matmul(dst=sums[:, i * 8 : i * 8 + 8], stationary=left, moving=right[:, 0:8])\n"
        "    nisa.nc_matmul(dst=part, stationary=left, moving=right[:, 0:128])\n"
        "    nisa.activation(dst=b[:, 0:64], op=nl.exp, data=part[:, 0:64])\n"
        "nisa.tensor_copy(dst=wide, src=sums)\nnisa.tensor_copy(dst=b, src=part[:, 0:64])"
    ),
    "tiles that Python holds longer than they are used": (
        "for i in nl.affine_range(40):\n    c = fetch(x, i, 8100)\n"
        "    nisa.tensor_copy(dst=b, src=c[:, 0:64])\n    d = tile(16000)\n    nisa.tensor_copy(dst=d[:, 0:64], src=b)\n"
        "    e = tile(16000)\n    nisa.tensor_copy(dst=e[:, 0:64], src=b)"
    ),
    "views by other means": (
        "for i in nl.affine_range(40):\n"
        "    nisa.tensor_copy(dst=wide.ap([[512, 128], [1, 8]], offset=i * 8), src=a[:, 0:8])\n"
        "    nisa.tensor_copy(dst=b[:, 0:8], src=wide.slice(1, i * 8, i * 8 + 8))\n"
        "    nisa.tensor_copy(dst=b[:, 0:8], src=wide[:, nl.ds(i * 8, 8)])\n"
        "    nisa.tensor_copy(dst=b[:, 0:1], src=wide.reshape((128, 64, 8)).select(1, i)[:, 0:1])"
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", [TRN1, TRN2])
@pytest.mark.parametrize("name", TRAPS)
def test_traps(both: Callable[..., Both], name: str, where: str) -> None:
    both(START + TRAPS[name], where).check()


@pytest.mark.parametrize("name", TRAPS)
def test_traps_of_loops_over_pythons_range(both: Callable[..., Both], name: str) -> None:
    both(START + TRAPS[name].replace("nl.affine_range(", "range(")).check()


ERRORS = {
    "outside a tensor in memory": (
        "for i in nl.affine_range(200):\n    nisa.dma_copy(dst=a, src=x[0:128, i * 64 : i * 64 + 64])"
    ),
    "outside a tile": (
        "for i in nl.affine_range(40):\n    nisa.tensor_copy(dst=a, src=wide[:, i * 16 : i * 16 + 64])"
    ),
    "more tiles than fit": (
        "for i in nl.affine_range(40):\n    kept.append(fetch(x, 0, 8192))\n"
        "for t in kept:\n    nisa.tensor_copy(dst=a, src=t[:, 0:64])"
    ),
    "an error of Python": "for i in nl.affine_range(40):\n"
    "    nisa.tensor_copy(dst=a, src=[a, b][i // 20 + i // 30])",
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_a_late_round_are_the_same(registry: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(source(START + ERRORS[name]))
    machine, said = Machine.of(registry.system(TRN2)), []
    for fold in (True, False):
        kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
        with pytest.raises(KernelError) as caught:
            record(kernel, (SPEC,), machine=machine, sink=Builder(machine), fold=fold)
        said.append((caught.value.what, caught.value.cause))
    assert said[0] == said[1]


def test_a_limit_is_reached_at_the_same_instruction(registry: Any, tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    file.write_text(
        source("a, b = tile(), tile()\nfor i in nl.affine_range(10**9):\n    nisa.tensor_copy(dst=a, src=b)")
    )
    machine, said = Machine.of(registry.system(TRN2)), []
    for fold in (True, False):
        kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
        with pytest.raises(KernelError, match="issued more than 5,000 instructions") as caught:
            record(kernel, (SPEC,), machine=machine, sink=Builder(machine), limit=5000, fold=fold)
        said.append(caught.value.what)
    assert said[0] == said[1]


# It does fold -----------------------------------------------------------------------------------


def test_a_plain_loop_is_executed_a_few_times(both: Callable[..., Both]) -> None:
    body = (
        "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "for i in nl.affine_range(100):\n    nisa.dma_copy(dst=out[0:128, 0:64], src=fetch(x, i * 64))"
    )
    found = both(body)
    found.check()
    assert len(found.folded) == 200
    assert 0 < found.executed < 20


def test_two_tiles_in_turn_have_a_period_of_two(both: Callable[..., Both]) -> None:
    body = (
        "pair = [tile(), tile()]\nfor i in nl.affine_range(200):\n"
        "    nisa.tensor_copy(dst=pair[i % 2], src=pair[(i + 1) % 2])\n    fetch(x, i * 8)"
    )
    found = both(body)
    found.check()
    assert 0 < found.executed < 30


CARRIED = {
    "the next tile is asked for": (
        "for i in range(100):\n    c = fetch(x, i * 64)\n    nisa.activation(dst=b, op=nl.exp, data=a)\n"
        "    a = c\n"
        "nisa.activation(dst=b, op=nl.exp, data=a)"
    ),
    "tiles in lists": (
        "held = [(fetch(x, 0), fetch(x, 64))]\nfor i in nl.affine_range(100):\n"
        "    more = [(fetch(x, i), fetch(x, i + 64))]\n    for one, other in held:\n"
        "        nisa.tensor_tensor(dst=total, data1=one, data2=other, op=nl.add)\n    held = more\n"
        "nisa.tensor_copy(dst=b, src=held[0][1])"
    ),
    "a sum that is made anew": (
        "for i in nl.sequential_range(100):\n    c = fetch(x, i * 64)\n    more = tile()\n"
        "    nisa.tensor_tensor(dst=more, data1=total, data2=c, op=nl.add)\n    total = more\n"
        "nisa.tensor_copy(dst=b, src=total)"
    ),
    "a running maximum": (
        "for i in range(100):\n    c = fetch(x, i * 64)\n    top = tile(1)\n"
        "    nisa.tensor_reduce(dst=top, op=nl.maximum, data=c, axis=1)\n"
        "    nisa.tensor_tensor(dst=total[:, 0:1], data1=total[:, 0:1], data2=top, op=nl.maximum)\n"
        "nisa.tensor_copy(dst=b, src=total)"
    ),
    "a tile of the first round that stays": (
        "for i in nl.affine_range(100):\n    if i == 0:\n        c = fetch(x, 0)\n"
        "    more = fetch(x, i * 64)\n    nisa.tensor_tensor(dst=c, data1=c, data2=more, op=nl.add)\n"
        "nisa.tensor_copy(dst=b, src=c)"
    ),
    "a round whose inner loops are left out, and what is left of it": (
        "for i in nl.affine_range(12):\n    for j in nl.affine_range(200):\n        if j == 0:\n"
        "            c = tile()\n        out = fetch(x, j * 32)\n"
        "        nisa.activation(dst=c, op=nl.exp, data=out)\n"
        "    nisa.tensor_tensor(dst=total, data1=total, data2=out, op=nl.add)\n"
        "nisa.tensor_tensor(dst=total, data1=out, data2=c, op=nl.add)"
    ),
    "two rounds ago": (
        "for i in range(100):\n    nisa.tensor_tensor(dst=total, data1=a, data2=b, op=nl.add)\n"
        "    a, b = b, fetch(x, i * 64)\nnisa.tensor_tensor(dst=total, data1=a, data2=b, op=nl.add)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", [TRN1, TRN2])
@pytest.mark.parametrize("name", CARRIED)
def test_what_a_round_leaves_to_the_next_is_followed(
    both: Callable[..., Both], name: str, where: str
) -> None:
    found = both(START + CARRIED[name], where)
    found.check()
    assert len(found.folded) > 200
    assert 0 < found.executed < max(45, len(found.folded) // 10)


def test_the_scheduler_carries_out_a_part(
    registry: Any, both: Callable[..., Both], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        "out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "for i in nl.affine_range(1000):\n    a = fetch(x, i * 8)\n"
        "    nisa.activation(dst=a, op=nl.exp, data=a)\n    nisa.dma_copy(dst=out[0:128, 0:64], src=a)"
    )
    found, carried = both(body), []
    found.check()
    advance = Core.advance

    def counted(self: Core, begin: int, stop: int) -> None:
        carried.append(stop - begin)
        advance(self, begin, stop)

    monkeypatch.setattr(Core, "advance", counted)
    pace = Pace(CostTable(registry.system(TRN2)))
    schedule(found.folded, pace)
    assert sum(carried) < len(found.folded) / 2
    carried.clear()
    schedule(found.folded, pace, fold=False)
    assert sum(carried) == len(found.folded)


# Kernels of the package -------------------------------------------------------------------------

LARGEST = 12_000  # instructions of one that is compared


def points(kernel: Any) -> list[dict[str, Any]]:
    """The default points of a kernel, and those with one axis at its largest."""
    first = {axis.name: axis.values[0] for axis in kernel.axes}
    return [first, *({**first, axis.name: axis.values[-1]} for axis in kernel.axes if len(axis.values) > 1)]


@pytest.mark.parametrize("where", [TRN1, TRN3])
def test_every_kernel_of_the_package(registry: Any, where: str) -> None:
    system = registry.system(where)
    machine, pace = Machine.of(system), Pace(CostTable(system))
    compared: set[str] = set()
    sources = [(kernel, ref) for kernel in registry.kernels.values() for ref in kernel.nki_sources]
    for kernel, ref in sources:
        function, module, _ = load_kernel(ref, nki="trnbench")
        inputs = getattr(module, f"{ref.rpartition(':')[2]}_inputs")
        for point in points(kernel):
            given = inputs(point)
            if given is None:
                continue
            args = [TensorSpec(tuple(e[0]), e[1]) if isinstance(e, tuple) else e for e in given]
            programs = []
            with provide("trnbench"):
                for fold in (False, True):
                    builder = Builder(machine)
                    try:
                        record(function, args, machine=machine, sink=builder, fold=fold, limit=LARGEST)
                    except KernelError:  # too large, or not for this generation: in both ways or in none
                        programs.append(None)
                        continue
                    programs.append(builder.program)
            plain, folded = programs
            assert (plain is None) == (folded is None), (ref, point)
            if plain is None or folded is None:
                continue
            same_program(plain, folded)
            for without in CAUSES:
                same_schedule(plain, folded, pace, without)
            compared.add(ref)
    assert len(compared) >= 10


@pytest.mark.parametrize("where", [TRN1, TRN2])
@pytest.mark.parametrize(("m", "n", "k"), [(1024, 1024, 2048), (640, 2048, 4096), (3000, 1100, 1025)])
@pytest.mark.parametrize("name", ["gemm_naive", "gemm_blocked"])
def test_products(registry: Any, where: str, name: str, m: int, n: int, k: int) -> None:
    system = registry.system(where)
    kernel, _, _ = load_kernel(f"trnbench.kernels.nki.gemm:{name}", nki="trnbench")
    specs = (TensorSpec((k, m), "bf16"), TensorSpec((k, n), "bf16"))
    one, other = (KernelModel().time(kernel, specs, system, Launch(fold=fold)) for fold in (True, False))
    same_program(other.schedule.program, one.schedule.program)
    for name in ("latency_s", "bound", "busy_s", "bytes", "waterfall", "path", "lines"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.schedule.end == other.schedule.end
