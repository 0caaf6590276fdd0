"""nvidia-smi: its documented columns read, its absence, its age and its silence told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trnbench.errors import TrnbenchError
from trnbench_cuda import smi
from trnbench_cuda.smi import Gpu, Sample, read_samples, witness

Install = Callable[[dict[str, str]], Path]
H200 = "0, GPU-5a, NVIDIA H200, 143771, Disabled, 570.86.15"
LIST = "--query-gpu=index,uuid"


def test_gpus_are_read_as_they_are_listed(nvidia_smi: Install) -> None:
    log = nvidia_smi({LIST: f"echo '{H200}'; echo '1, GPU-6b, NVIDIA H200, 143771, Enabled, 570.86.15'"})
    first, second = smi.gpus()
    assert first == Gpu(
        index=0,
        uuid="GPU-5a",
        name="NVIDIA H200",
        memory_bytes=143771 * 2**20,
        sliced=False,
        driver="570.86.15",
    )
    assert second.sliced
    assert log.read_text().split() == [
        "--query-gpu=index,uuid,name,memory.total,mig.mode.current,driver_version",
        "--format=csv,noheader,nounits",
    ]


def test_cells_that_do_not_apply_are_absent(nvidia_smi: Install) -> None:
    nvidia_smi({LIST: "echo '0, GPU-1, NVIDIA GeForce RTX 4090, 24564, [N/A], 550.54.15'"})
    (found,) = smi.gpus()
    assert (found.name, found.sliced) == ("NVIDIA GeForce RTX 4090", False)
    text = "0, 1980, 41, [N/A], 700.00, [Not Supported], 0x0000000000000004\n0, 19"
    assert read_samples(text) == (
        Sample(index=0, clock_hz=1.98e9, temperature_c=41.0, limit_w=700.0, reasons=4),
    )


@pytest.mark.parametrize(
    ("does", "what", "cause"),
    [
        (
            "echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'; exit 9",
            "nvidia-smi ended with exit code 9",
            "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.",
        ),
        (
            "echo 'WARNING: infoROM is corrupted at gpu 0000:3B:00.0'",
            "nvidia-smi answers what was not asked: 'WARNING: infoROM is corrupted at gpu 0000:3B:00.0'",
            "another version, or a message between the lines",
        ),
    ],
)
def test_whatever_else_it_says_is_told(nvidia_smi: Install, does: str, what: str, cause: str) -> None:
    nvidia_smi({LIST: does})
    with pytest.raises(TrnbenchError) as told:
        smi.gpus()
    assert (told.value.what, told.value.cause) == (what, cause)


def test_one_that_hangs_is_given_up(nvidia_smi: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    nvidia_smi({LIST: "exec sleep 30"})
    monkeypatch.setattr(smi, "LIMIT_S", 0.2)
    with pytest.raises(TrnbenchError) as told:
        smi.gpus()
    assert told.value.what == "nvidia-smi gave no answer within 0.2 s"


def test_one_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert not smi.present()
    with pytest.raises(TrnbenchError, match="nvidia-smi is not on the PATH"):
        smi.gpus()


def test_an_older_driver_is_asked_by_the_older_name(nvidia_smi: Install) -> None:
    nvidia_smi(
        {
            "clocks_event_reasons": "echo 'Field is not a valid field to query.'; exit 2",
            "clocks_throttle_reasons": "echo 0x0000000000000001",
        }
    )
    assert smi.reasons_column() == "clocks_throttle_reasons.active"
    nvidia_smi({"nothing": "true"})
    assert smi.reasons_column() == ""


def test_samples_are_taken_in_the_background_until_it_is_stopped(nvidia_smi: Install) -> None:
    line = "0, 1755, 55, 689.1, 700.00, 700.00, 0x0000000000000004"
    log = nvidia_smi({"-lms=": f"while :; do echo '{line}'; sleep 0.05; done", "clocks_event": "echo 0x1"})
    sampler = smi.Sampler([0, 3])
    found = sampler.stop()
    assert found[0] == Sample(
        index=0,
        clock_hz=1.755e9,
        temperature_c=55.0,
        power_w=689.1,
        limit_w=700.0,
        usual_limit_w=700.0,
        reasons=4,
    )
    assert sampler.stop() == ()
    assert "--id=0,3" in log.read_text()


def sample(reasons: int | None, **more: float) -> Sample:
    return Sample(index=0, reasons=reasons, **more)


def test_a_gpu_that_was_slowed_down_is_suspect_and_one_at_its_power_limit_is_told() -> None:
    told = witness([sample(0x1), sample(0x4, clock_hz=1.5e9), sample(0x4, clock_hz=1.4e9), sample(0x8)])
    assert told.doubts == (
        "1 of 3 samples while it was measured: the hardware slows it down (nvidia-smi, clocks event reasons)",
    )
    assert told.notes == ("held down by its power limit in 2 of 3 samples, at a clock of 1.45 GHz",)
    assert told.detail == {"gpu_samples": 4, "gpu_samples_under_load": 3}


def test_a_lowered_power_limit_and_a_locked_clock_are_told() -> None:
    told = witness([sample(0x2, limit_w=500.0, usual_limit_w=700.0, power_w=480.0)])
    assert told.notes == (
        "its clock is limited by a setting (nvidia-smi -q -d CLOCK)",
        "its power limit is 500 W, 700 W as it was delivered",
    )
    assert told.counters == {"power_w": 480.0, "power_limit_w": 500.0}
    assert not told.doubts


@pytest.mark.parametrize("samples", [[], [Sample(index=0, reasons=1)]])
def test_clocks_that_nobody_saw_are_told(samples: list[Sample]) -> None:
    assert witness(samples).notes == (
        "clocks and power were not seen: nvidia-smi gave no sample while the GPU was at work",
    )
