"""Banks of PSUM: where tiles lie, and that vector and scalar engine never use one bank together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_program import program_of

from trnbench_emulator.core.banks import placed
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace, Without
from trnbench_emulator.core.program import Program, queue_of
from trnbench_emulator.core.recording import Recording
from trnbench_emulator.core.scheduler import NOTHING_REMOVED, schedule
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.nki import TensorSpec

TRN1, TRN2, TRN3 = "trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver"
SPEC = TensorSpec((128, 512), "float32")

HEAD = """
import nki
import nki.isa as nisa
import nki.language as nl

def psum(width, address=None):
    return nl.ndarray((128, width), dtype=nl.float32, buffer=nl.psum, address=address)

@nki.jit
def kernel(x):
    a = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    b = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
"""
Recorded = Callable[[str, str], Program]


def touched_by(program: Program) -> list[int]:
    return program.psum.touched(len(program)).tolist()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def recorded(registry: Any, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder: Path = tmp_path_factory.mktemp("banks")
    number = iter(range(1 << 30))

    def made(where: str, body: str) -> Program:
        file = folder / f"kernel_{next(number)}.py"
        file.write_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + "    return x\n")
        return program_of(f"{file}::kernel", (SPEC,), registry.system(where))

    return made


# Where tiles lie --------------------------------------------------------------------------------


def test_tiles_go_round(recorded: Recorded) -> None:
    body = "for i in range(10):\n    t = psum(512)\n    nisa.activation(dst=t, op=nl.exp, data=a)"
    assert touched_by(recorded(TRN2, body)) == [1 << at % 8 for at in range(10)]


def test_a_bank_that_is_held_is_passed_over(recorded: Recorded) -> None:
    body = (
        "keep = psum(1024)\nnisa.memset(dst=keep, value=1.0)\nfor i in range(9):\n    t = psum(8)\n"
        "    nisa.activation(dst=t, op=nl.exp, data=a[:, 0:8])\n"
        "nisa.tensor_copy(dst=a, src=keep[:, 512:1024])\nnisa.tensor_copy(dst=a, src=keep[:, 256:768])"
    )
    touched = touched_by(recorded(TRN2, body))
    assert touched[0] == 0b11
    assert touched[1:10] == [1 << at for at in (2, 3, 4, 5, 6, 7, 2, 3, 4)]
    assert touched[10:] == [0b10, 0b11]


def test_an_address_says_the_bank(recorded: Recorded) -> None:
    body = (
        "t = psum(512, (0, 6144))\nu = psum(64, (0, 16000))\nnisa.activation(dst=t, op=nl.exp, data=a)\n"
        "nisa.activation(dst=u, op=nl.exp, data=a[:, 0:64])\nnisa.tensor_copy(dst=a, src=b)"
    )
    assert touched_by(recorded(TRN2, body)) == [1 << 3, 1 << 7, 0]


def test_more_tiles_than_banks_share_them() -> None:
    count, tiles = 8, 20
    found = _placed([0] + [1] * tiles, [0, *range(tiles)], [99] * (tiles + 1), count)
    assert [found[1:].count(bank) for bank in range(count)] == [3, 3, 3, 3, 2, 2, 2, 2]


def _placed(needed: Sequence[int], begins: Sequence[int], ends: Sequence[int], count: int) -> list[int]:
    wide, first, last = (np.array(values, np.int64) for values in (needed, begins, ends))
    return placed(wide, wide * 2048, first, last, count).tolist()


@st.composite
def lives(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """First and last use, and banks, of tiles in the order of their first use."""
    begins = sorted(draw(st.lists(st.integers(0, 40), min_size=1, max_size=25)))
    return [(begin, begin + draw(st.integers(0, 12)), draw(st.integers(1, 8))) for begin in begins]


@given(tiles=lives())
def test_tiles_overlap_only_where_no_room_is_left(tiles: Sequence[tuple[int, int, int]]) -> None:
    count, begins, ends = 8, [0], [0]
    needed = [1]
    for begin, end, wide in tiles:
        begins.append(begin)
        ends.append(end)
        needed.append(wide)
    found = _placed(needed, begins, ends, count)
    for tile in range(1, len(needed)):
        mine = set(range(found[tile], found[tile] + needed[tile]))
        assert max(mine) < count
        taken: set[int] = set()
        for other in range(1, tile):
            if ends[other] >= begins[tile]:
                taken |= set(range(found[other], found[other] + needed[other]))
        room = any(not taken & set(range(at, at + needed[tile])) for at in range(count - needed[tile] + 1))
        assert not (room and mine & taken)


# What it costs ----------------------------------------------------------------------------------

TWO = "t, u = psum(512), psum(512)\n"
SAME = "nisa.tensor_copy(dst=a[:, 0:64], src=t[:, 0:64], engine=nisa.vector_engine)\n" + (
    "nisa.activation(dst=b[:, 0:64], op=nl.exp, data=t[:, 64:128])"
)
APART = SAME.replace("data=t", "data=u")


@pytest.mark.parametrize(
    ("where", "body", "waits"),
    [
        (TRN1, SAME, True),  # never together in PSUM
        (TRN1, APART, True),
        (TRN2, SAME, True),
        (TRN2, APART, False),
        (TRN3, SAME, True),
        (TRN3, APART, False),
    ],
)
def test_vector_and_scalar_in_psum(registry: Any, recorded: Any, where: str, body: str, waits: bool) -> None:
    found, pace = recorded(where, TWO + body), Pace(CostTable(registry.system(where)))
    made = schedule(found, pace, without=Without(order=True))
    vector, scalar = 0, 1
    assert made.start[vector] == 0
    assert made.start[scalar] == (made.issued[vector] if waits else 0)
    free = schedule(found, pace, without=Without(order=True, exclusions=True))
    assert free.start[scalar] == 0


def timed(registry: Any, where: str, program: Program) -> dict[str, float]:
    return dict(KernelModel().timing(Recording((program,)), registry.system(where)).waterfall)


def test_the_waterfall_says_so(registry: Any, recorded: Recorded) -> None:
    body = TWO + (SAME + "\n") * 20
    terms = {where: timed(registry, where, recorded(where, body)) for where in (TRN1, TRN2)}
    assert terms[TRN2]["conflicts on a bank of PSUM"] > 0
    assert "conflicts on a bank of PSUM" not in terms[TRN1]
    assert terms[TRN1]["engines that exclude each other"] > 0
    free = TWO + (APART + "\n") * 20
    assert "conflicts on a bank of PSUM" not in timed(registry, TRN2, recorded(TRN2, free))


CALLS = (
    "t = psum({width})",
    "u = psum({width})",
    "t, u = u, t",
    "nisa.activation(dst=b[:, 0:8], op=nl.exp, data=t[:, {at} : {at} + 8])",
    "nisa.activation(dst=u[:, {at} : {at} + 8], op=nl.exp, data=a[:, 0:8])",
    "nisa.tensor_copy(dst=a[:, 0:8], src=t[:, {at} : {at} + 8], engine=nisa.vector_engine)",
    "nisa.tensor_copy(dst=u[:, {at} : {at} + 8], src=b[:, 0:8], engine=nisa.vector_engine)",
    "nisa.memset(dst=t, value=0.0, engine=nisa.vector_engine)",
)


@st.composite
def bodies(draw: st.DrawFn) -> str:
    lines = ["t, u = psum(512), psum(1024)", f"for i in nl.affine_range({draw(st.integers(1, 40))}):"]
    for _ in range(draw(st.integers(1, 8))):
        line = draw(st.sampled_from(CALLS))
        width, at = draw(st.sampled_from([512, 600, 1024])), draw(st.integers(0, 504))
        lines.append("    " + line.format(width=width, at=at))
    return "\n".join([*lines, "nisa.tensor_copy(dst=a[:, 0:8], src=b[:, 0:8])"])


@given(
    body=bodies(),
    where=st.sampled_from([TRN2, TRN3]),
    without=st.sampled_from([NOTHING_REMOVED, Without(order=True)]),
)
def test_never_both_in_one_bank(registry: Any, recorded: Any, body: str, where: str, without: Any) -> None:
    found = recorded(where, body)
    made = schedule(found, Pace(CostTable(registry.system(where))), without=without)
    touched = touched_by(found)
    spans: dict[int, list[tuple[int, int, int]]] = {1: [], 2: []}
    for number, op in enumerate(found.op):
        queue = queue_of(found.ops[op])
        if queue in spans and touched[number]:
            spans[queue].append((made.start[number], made.issued[number], touched[number]))
    for begin, end, banks in spans[1]:
        for other, until, used in spans[2]:
            assert not (banks & used and begin < until and other < end)
