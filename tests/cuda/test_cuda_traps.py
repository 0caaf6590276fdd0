"""Each way in which a GPU fools a benchmark, tried on a stand-in for one: impossible, or loud."""

from __future__ import annotations

from typing import Any

import pytest
from fake_cuda import HBM, L2, LAUNCH_S, Gpu, launch
from measured_machine import Quiet

from trnbench import Observation, Timing
from trnbench.errors import TrnbenchError
from trnbench.measure.observe import observe
from trnbench_cuda.smi import Sample, witness
from trnbench_torch.cuda import AWAITED, CudaCarrier, CudaDevice, set_precision
from trnbench_torch.device import Launches

QUICK = Timing(warm_up_s=0.0, sample_s=0.02, samples=40, growth_s=0.02)
MIB = 1 << 20


def seen(gpu: Gpu, *launches: Any, cache: float = 50e6, **more: Any) -> Observation:
    devices = [CudaDevice(index) for index in range(len(launches))]
    carrier = CudaCarrier(devices, torch=gpu.torch, cache_bytes=cache, timer=gpu.clock, **more)
    program = carrier.program(Launches(launches))
    return observe(
        program, device="NVIDIA H200", named_by="itself", timing=QUICK, timer=gpu.clock, watch=Quiet
    )


def doubts(found: Observation) -> tuple[str, ...]:
    return (*found.proof.doubts({}), *found.proof.doubts_of_time())


def test_a_kernel_is_timed_by_events_and_queued_where_it_is_short() -> None:
    gpu = Gpu()
    found = seen(gpu, launch(lambda share: gpu.enqueue(20e-6 * share)))
    assert found.clock == "device"
    assert found.time_s == pytest.approx(20e-6, rel=0.02)
    series = found.detail["timing"]["series"]["batched"]
    assert series["iterations"] == pytest.approx(500e-6 / 20e-6, abs=2)
    assert not doubts(found)
    assert found.proof.completion == AWAITED


def test_an_asynchronous_launch_that_nobody_awaits_is_an_error() -> None:
    gpu = Gpu(deaf=True)
    with pytest.raises(TrnbenchError) as told:
        seen(gpu, launch(lambda share: gpu.enqueue(1e-3)))
    assert told.value.what == "the GPU was waited for and is not done"


def test_a_time_that_does_not_grow_with_the_work_is_suspect() -> None:
    gpu = Gpu()
    found = seen(gpu, launch(lambda share: gpu.enqueue(1e-3 if share else 1e-6)))
    assert doubts(found)[0].startswith("the time does not grow with the work")


def test_memory_is_judged_cold_although_its_arrays_fit_into_the_l2() -> None:
    gpu = Gpu()
    found = seen(gpu, launch(lambda share: gpu.stream_bytes(64 * MIB * share), memory=True), cache=126e6)
    series = found.detail["timing"]["series"]
    assert found.detail["timing"]["judged"] == "cold"
    assert found.time_s == pytest.approx(64 * MIB / HBM, rel=0.01)
    assert series["hot"]["device_median_s"] < 0.9 * series["cold"]["device_median_s"]
    assert gpu.flushes >= series["cold"]["samples"]
    assert "written behind one another on the same stream, against an L2 of" in series["cold"]["flush"]
    assert HBM < L2


def test_what_is_flushed_covers_a_larger_cache_too() -> None:
    def flushed(cache: float) -> int:
        return CudaCarrier([CudaDevice(0)], torch=Gpu().torch, cache_bytes=cache)._flush_bytes

    assert flushed(0.0) == flushed(50e6) == 256 * MIB
    assert flushed(126e6) == 504_000_000


def test_the_time_between_events_holds_no_time_of_the_hosts_where_it_is_cold() -> None:
    """The GPU is still writing the flush while the host queues the kernel behind it."""
    gpu = Gpu()
    found = seen(gpu, launch(lambda share: gpu.stream_bytes(MIB * share), memory=True))
    assert found.time_s == pytest.approx(MIB / HBM, rel=1e-3)
    assert MIB / HBM < LAUNCH_S


def test_work_on_another_stream_than_that_of_the_events_is_suspect() -> None:
    gpu = Gpu()
    found = seen(gpu, launch(lambda share: gpu.enqueue(2e-3 * share, stream=1)))
    assert any("another stream" in each for each in doubts(found))


def test_what_an_allocator_does_at_first_is_in_no_sample() -> None:
    gpu = Gpu()
    calls: list[int] = []

    def call(share: float) -> None:
        calls.append(1)
        if len(calls) <= 2:
            gpu.host += 0.5  # cudaMalloc
        gpu.enqueue(1e-3 * share)

    found = seen(gpu, launch(call))
    assert found.time_s == pytest.approx(1e-3, rel=0.02)
    assert found.detail["timing"]["series"]["hot"]["max_s"] < 0.1


def test_launches_are_hidden_behind_a_kernel_that_spins_and_in_a_graph() -> None:
    gpu = Gpu()
    found = seen(gpu, launch(lambda share: gpu.enqueue(1e-6 * share)))
    assert found.time_s == pytest.approx(1e-6, rel=0.1)  # a fifth of what launching it takes
    assert LAUNCH_S == 5e-6
    assert gpu.replays > 0
    assert not [each for each in found.notes if each.startswith(("bound by issuing", "not captured"))]


def test_a_call_that_cannot_be_captured_is_queued_and_held_back_all_the_same() -> None:
    gpu = Gpu(waits=True)
    found = seen(gpu, launch(lambda share: gpu.enqueue(1e-6 * share)))
    assert found.time_s == pytest.approx(1e-6, rel=0.1)
    assert gpu.replays == 0
    assert (
        "not captured in a CUDA graph, so queued call by call: operation not permitted when stream is "
        "capturing" in found.notes
    )


def test_a_hold_is_as_long_as_issuing_takes_and_is_in_no_time() -> None:
    gpu = Gpu()
    found = seen(gpu, launch(lambda share: gpu.enqueue(2e-3 * share)))
    assert found.time_s == pytest.approx(2e-3, rel=1e-3)
    series = found.detail["timing"]["series"]["hot"]
    assert series["median_s"] > 2e-3 + 90e-6  # the host waits for the spinning kernel, too
    assert not doubts(found)


def test_calls_that_the_host_cannot_issue_fast_enough_are_told() -> None:
    """A torch that has neither graphs nor a kernel that spins."""
    gpu = Gpu(bare=True)
    found = seen(gpu, launch(lambda share: gpu.enqueue(1e-6 * share)))
    assert found.time_s == pytest.approx(LAUNCH_S, rel=0.1)
    (note,) = [each for each in found.notes if each.startswith("bound by issuing")]
    assert note.startswith("bound by issuing: the host takes 5")
    busy = Gpu(bare=True)
    quiet = seen(busy, launch(lambda share: busy.enqueue(50e-6 * share)))
    assert not [each for each in quiet.notes if each.startswith("bound by issuing")]


def test_several_gpus_at_once_take_as_long_as_the_slowest() -> None:
    gpu = Gpu(devices=2)

    def on(device: int, seconds: float) -> Any:
        return launch(lambda share: gpu.enqueue(seconds * share, device=device))

    found = seen(gpu, on(0, 1e-3), on(1, 3e-3))
    assert found.time_s == pytest.approx(3e-3, rel=0.02)
    assert found.detail["settings"]["gpus"] == 2


OTHER = "has fp32 multiplied in TF32, which would be another data type than the case names"


@pytest.mark.parametrize(
    ("dtype", "name", "value", "told"),
    [
        ("fp32", "NVIDIA_TF32_OVERRIDE", "1", OTHER),
        ("fp32", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1", OTHER),
        ("tf32", "NVIDIA_TF32_OVERRIDE", "0", "forbids TF32, which this case is about"),
    ],
)
def test_tf32_that_the_environment_turns_on_or_off_is_refused(
    dtype: str, name: str, value: str, told: str
) -> None:
    with pytest.raises(TrnbenchError) as error:
        set_precision(Gpu().torch, dtype, {name: value})
    assert error.value.what == f"{name}={value} {told}"


def test_tf32_is_on_where_it_is_named_and_off_everywhere_else() -> None:
    gpu = Gpu()
    gpu.precision = "medium"  # as somebody left it
    assert set_precision(gpu.torch, "fp32", {}) == "highest"
    assert set_precision(gpu.torch, "tf32", {}) == "high"
    assert set_precision(gpu.torch, "bf16", {"NVIDIA_TF32_OVERRIDE": "1"}) == "highest"


def test_what_the_witness_says_reaches_the_number() -> None:
    gpu = Gpu()
    hot = [Sample(index=0, clock_hz=1.2e9, reasons=0x40)] * 4
    found = seen(gpu, launch(lambda share: gpu.enqueue(1e-3 * share)), witness=lambda: witness(hot))
    assert found.counters == {"sm_clock_hz": 1.2e9}
    assert doubts(found) == (
        "4 of 4 samples while it was measured: the hardware slows it down: too hot (nvidia-smi, clocks event "
        "reasons)",
    )
