"""Recordings that differ in nothing that takes time are scheduled once."""

from __future__ import annotations

from typing import Any

import pytest

from trnbench.emulator.core import roofline
from trnbench.emulator.core.costs import CostTable
from trnbench.emulator.core.emulate import Piece, time_program
from trnbench.emulator.core.likeness import likeness
from trnbench.emulator.core.pace import Pace
from trnbench.emulator.core.recorded import Recorder

WHERE = "trn2-16.48xlarge"


def _recorded(make_case: Any, kernel: str = "gemm", **point: Any) -> Any:
    case, system = make_case(kernel, WHERE, **point)
    found = Recorder().of(case, system)
    assert found is not None
    assert found.program is not None
    return found, system


def test_data_types_of_one_size_are_alike_and_take_the_same_time(make_case: Any) -> None:
    (one, system), (other, _) = (_recorded(make_case, dtype=each, size=1024) for each in ("bf16", "fp16"))
    assert likeness(one.program, one.pieces) == likeness(other.program, other.pieces)
    pace = Pace(CostTable(system))
    assert pace.key(one.program) == pace.key(other.program)
    times = [
        time_program(each.program, CostTable(system), pieces=each.pieces, held="tensor")
        for each in (one, other)
    ]
    for name in ("latency_s", "bound", "busy_s", "bytes", "waterfall", "path", "lines"):
        assert getattr(times[0], name) == getattr(times[1], name)


@pytest.mark.parametrize(
    "other",
    [{"dtype": "fp32", "size": 1024}, {"dtype": "bf16", "size": 1152}, {"dtype": "fp8", "size": 1024}],
)
def test_others_are_not(make_case: Any, other: dict[str, Any]) -> None:
    one, _ = _recorded(make_case, dtype="bf16", size=1024)
    found, _ = _recorded(make_case, **other)
    assert likeness(one.program, one.pieces) != likeness(found.program, found.pieces)


def test_pieces_and_source_lines_tell_programs_apart(make_case: Any) -> None:
    one, _ = _recorded(make_case, dtype="bf16", size=1024)
    again, _ = _recorded(make_case, dtype="bf16", size=1024)
    same = likeness(one.program, one.pieces)
    assert likeness(again.program, again.pieces) == same
    more = tuple(Piece(each.ends, each.times + 1) for each in one.pieces)
    assert likeness(one.program, more) != same
    file, line = again.program.places[0]
    again.program.places[0] = (file, line + 1)
    assert likeness(again.program, again.pieces) != same


def test_a_model_schedules_what_is_alike_once(make_case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduled: list[Any] = []
    plain = roofline.time_program

    def counted(program: Any, *args: Any, **options: Any) -> Any:
        scheduled.append(program)
        return plain(program, *args, **options)

    monkeypatch.setattr(roofline, "time_program", counted)
    model = roofline.CoreModel()
    seen = [
        model.estimate(*make_case("gemm", WHERE, dtype=dtype, size=512)) for dtype in ("bf16", "fp16", "fp32")
    ]
    assert len(scheduled) == 2
    assert seen[0].time_s == seen[1].time_s
    assert seen[0].detail == seen[1].detail
    assert seen[0].time_s < seen[2].time_s
