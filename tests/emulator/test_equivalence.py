"""Recordings that differ in nothing that takes time are scheduled once."""

from __future__ import annotations

from typing import Any

import pytest

from trnbench_emulator.core import timing as models
from trnbench_emulator.core.cases import CaseModel
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.pieces import Piece
from trnbench_emulator.core.program import work_class
from trnbench_emulator.core.recording import Launch, Recording
from trnbench_emulator.core.timing import KernelModel

WHERE = "trn2-16.48xlarge"


def _recorded(make_case: Any, kernel: str = "gemm", **point: Any) -> Any:
    case, system = make_case(kernel, WHERE, **point)
    model = CaseModel()
    source = model.source(case)
    assert source is not None
    return model.time(case, source, system).recording, system


def test_data_types_of_one_size_are_alike_and_take_the_same_time(make_case: Any) -> None:
    (one, system), (other, _) = (_recorded(make_case, dtype=each, size=1024) for each in ("bf16", "fp16"))
    assert one.classes == other.classes
    pace = Pace(CostTable(system))
    assert pace.key(one.programs[0]) == pace.key(other.programs[0])
    times = [KernelModel().timing(each, system, Launch(held="tensor")) for each in (one, other)]
    for name in ("latency_s", "bound", "busy_s", "bytes", "waterfall", "path", "lines"):
        assert getattr(times[0], name) == getattr(times[1], name)


@pytest.mark.parametrize(
    "other",
    [{"dtype": "fp32", "size": 1024}, {"dtype": "bf16", "size": 1152}, {"dtype": "fp8", "size": 1024}],
)
def test_others_are_not(make_case: Any, other: dict[str, Any]) -> None:
    one, _ = _recorded(make_case, dtype="bf16", size=1024)
    found, _ = _recorded(make_case, **other)
    assert one.classes != found.classes


def test_source_lines_tell_programs_apart(make_case: Any) -> None:
    one, _ = _recorded(make_case, dtype="bf16", size=1024)
    (again,) = _recorded(make_case, dtype="bf16", size=1024)[0].programs
    assert work_class(again) == one.classes[0]
    file, line = again.places[0]
    again.places[0] = (file, line + 1)
    assert work_class(again) != one.classes[0]


def test_a_model_schedules_what_is_alike_once(make_case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scheduled: list[Any] = []
    plain = models._timing

    def counted(recording: Any, *args: Any) -> Any:
        scheduled.append(recording)
        return plain(recording, *args)

    monkeypatch.setattr(models, "_timing", counted)
    model = CaseModel()
    seen = [
        model.estimate(*make_case("gemm", WHERE, dtype=dtype, size=512)) for dtype in ("bf16", "fp16", "fp32")
    ]
    assert len(scheduled) == 2
    assert seen[0].time_s == seen[1].time_s
    assert seen[0].detail == seen[1].detail
    assert seen[0].time_s < seen[2].time_s


def test_pieces_tell_recordings_apart(make_case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same program may stand for problems of different size."""
    one, system = _recorded(make_case, dtype="bf16", size=4096)
    more = Recording(one.programs, tuple(Piece(each.ends, each.times + 1) for each in one.pieces))
    model = KernelModel()
    found = iter((one, more))
    monkeypatch.setattr(model.recorder, "of", lambda *_: next(found))
    first, second = (model.time(None, (), system) for _ in range(2))
    assert first.latency_s < second.latency_s
