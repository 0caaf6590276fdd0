"""Another copy of a piece, appended, is what executing the piece again would have recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from drawn_kernels import kernels, source
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from trnbench.errors import KernelError
from trnbench_emulator.core import recording as recorded
from trnbench_emulator.core import timing as models
from trnbench_emulator.core.cases import CaseModel, arguments_of
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.pieces import Piece
from trnbench_emulator.core.program import BUFFER, Program, work_class
from trnbench_emulator.core.recording import Launch, Recording, record_launch
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel

BF16, FP32, FP8 = "bfloat16", "float32", "float8_e4m3"
SYSTEMS = ("trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver")


def _square(size: int, dtype: str) -> Any:
    return (((size, size), dtype),) * 2


def _heads(tokens: int, width: int, causal: bool) -> Any:
    across, along = ((8, width, tokens), BF16), ((8, tokens, width), BF16)
    return (across, across, along, causal)


PROBLEMS = {
    **{f"product in {dtype}": ("gemm_best:gemm_best", _square(4096, dtype)) for dtype in (BF16, FP32, FP8)},
    "product with a rest": ("gemm_best:gemm_best", (((2048, 4096), FP32), ((2048, 10944), FP32))),
    "tile by tile": ("gemm:gemm_naive", _square(2048, FP8)),
    "transpose": ("transpose:transpose", (((4096, 4096), FP32),)),
    "attention, long": ("attention:attention", _heads(4096, 64, False)),
    "attention, short": ("attention:attention", _heads(1024, 128, False)),
    "attention, rounds that grow": ("attention:attention", _heads(1024, 128, True)),
}


def _recorded(registry: Any, problem: str, where: str) -> Recording:
    ref, inputs = PROBLEMS[problem]
    kernel, module, _ = load_kernel(f"trnbench_kernels.nki.{ref}", nki="trnbench")
    cut = getattr(module, ref.partition(":")[2] + "_pieces")
    parts = tuple((arguments_of(part), times) for part, times in cut(inputs))
    machine = Machine.of(registry.system(where))
    return record_launch(kernel, arguments_of(inputs), machine, Launch(explain=False), parts=parts)


def _told(program: Program) -> tuple[Any, ...]:
    """All of it; a kernel that is executed again has its ops twice."""
    ops = [op.key() for op in program.ops]
    banks = (program.psum.refs, program.psum.owners, program.psum.sizes)
    return ([ops[number] for number in program.op], program.place, program.waiters, program.deps, *banks)


def _executed_again(builder: Any, *_: Any) -> None:
    builder.births = None


def _the_same_executed_again(made: Callable[[], Any]) -> Any:
    """What is recorded where each copy is executed again; where copies are appended it has to be the same."""
    appended = made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "first_copy", _executed_again)
        again = made()
    if isinstance(again, str):
        assert appended == again
    else:
        assert appended.pieces == again.pieces
        assert _told(appended.programs[0]) == _told(again.programs[0])
    return again


@pytest.mark.parametrize("where", SYSTEMS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_copy_is_what_executing_it_again_records(registry: Any, problem: str, where: str) -> None:
    _the_same_executed_again(lambda: _recorded(registry, problem, where))


KEEPING = (Path(__file__).parent / "kernels" / "keeping.txt").read_text()


def test_a_piece_whose_tiles_outlive_it_is_executed_again(registry: Any, tmp_path: Path) -> None:
    """Nobody knows when they end."""
    file = tmp_path / "keeping.py"
    file.write_text(KEEPING)
    kernel, module, _ = load_kernel(f"{file}::keeping", nki="trnbench")
    part = arguments_of((((128, 64), BF16),))
    machine = Machine.of(registry.system(SYSTEMS[1]))
    recording = record_launch(kernel, part, machine, Launch(explain=False), parts=((part, 4_000),))
    assert len(module.kept) == len(recording.pieces[0].ends) == 9


PLACED = (Path(__file__).parent / "kernels" / "streamed.txt").read_text()


def test_places_that_were_decided_beforehand_are_waited_for_in_each_copy(
    registry: Any, tmp_path: Path
) -> None:
    file = tmp_path / "streamed.py"
    file.write_text(PLACED)
    kernel, _, _ = load_kernel(f"{file}::streamed", nki="trnbench")
    part = arguments_of((((64, 128, 4096), FP32),))
    machine = Machine.of(registry.system(SYSTEMS[0]))
    again = _the_same_executed_again(
        lambda: record_launch(kernel, part, machine, Launch(explain=False), parts=((part, 900),))
    )
    begin, *_ = again.pieces[0].ends
    program = again.programs[0]
    assert any(dep & 3 == BUFFER for dep in program.deps[program.first[begin] :])


@given(body=kernels(), room=st.sampled_from([6, 12, 40, 200]))
@settings(max_examples=30)
def test_copies_of_drawn_kernels(registry: Any, tmp_path: Path, body: str, room: int) -> None:
    """`room`: KiB of SBUF for a partition, so that copies wait for each other's places. Kernels that remember
    how often they were called are not the same again."""
    assume("noted" not in body)
    file = tmp_path / f"kernel_{abs(hash(body))}.py"
    file.write_text(source(body))
    kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    machine = msgspec.structs.replace(
        Machine.of(registry.system(SYSTEMS[1])), sbuf_partition_bytes=room * 1024
    )
    spec = (TensorSpec((128, 8192), "float32"),)

    def made() -> Any:
        try:
            return record_launch(kernel, spec, machine, Launch(explain=False), parts=((spec, 9_000),))
        except KernelError as error:
            return error.what

    _the_same_executed_again(made)


# Recordings that differ in nothing that takes time are scheduled once --------------------------------

WHERE = "trn2-16.48xlarge"


def _of_case(make_case: Any, kernel: str = "gemm", **point: Any) -> Any:
    case, system = make_case(kernel, WHERE, **point)
    model = CaseModel()
    source = model.source(case)
    return model.time(case, source, system).recording, system


def test_data_types_of_one_size_are_alike_and_take_the_same_time(make_case: Any) -> None:
    (one, system), (other, _) = (_of_case(make_case, dtype=each, size=1024) for each in ("bf16", "fp16"))
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
    one, _ = _of_case(make_case, dtype="bf16", size=1024)
    found, _ = _of_case(make_case, **other)
    assert one.classes != found.classes


def test_source_lines_tell_programs_apart(make_case: Any) -> None:
    one, _ = _of_case(make_case, dtype="bf16", size=1024)
    (again,) = _of_case(make_case, dtype="bf16", size=1024)[0].programs
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
    one, system = _of_case(make_case, dtype="bf16", size=4096)
    more = Recording(one.programs, tuple(Piece(each.ends, each.times + 1) for each in one.pieces))
    model = KernelModel()
    found = iter((one, more))
    monkeypatch.setattr(model.recorder, "of", lambda *_: next(found))
    first, second = (model.time(None, (), system) for _ in range(2))
    assert first.latency_s < second.latency_s
