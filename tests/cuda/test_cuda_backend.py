"""Which system the GPUs are, by the names they give themselves; what is missing; no other device instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import trnbench
from trnbench.errors import TrnbenchError
from trnbench.peaks import choose_peak
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench_cuda import backend as cuda
from trnbench_cuda.backend import UNVERIFIED, CudaBackend, identify, named, table, visible
from trnbench_cuda.smi import Gpu

Install = Callable[[dict[str, str]], Path]


def gpus(count: int, name: str = "NVIDIA H200", **more: Any) -> list[Gpu]:
    return [Gpu(index=index, uuid=f"GPU-{index}{index}", name=name, **more) for index in range(count)]


@pytest.mark.parametrize(
    ("name", "count", "instance"),
    [
        ("NVIDIA H100 80GB HBM3", 1, "h100-sxm"),
        ("NVIDIA H100 PCIe", 1, "h100-pcie"),
        ("NVIDIA H200", 1, "h200-sxm"),
        ("NVIDIA H200", 8, "hgx-h200"),
        ("NVIDIA H100 80GB HBM3", 8, "hgx-h100"),
        ("NVIDIA H100 PCIe", 8, "h100-pcie"),  # eight cards are no board
        ("NVIDIA H200", 4, "h200-sxm"),
    ],
)
def test_names_and_numbers_make_a_system(name: str, count: int, instance: str) -> None:
    found = identify(gpus(count, name), {})
    assert found.instance == instance
    assert len(found.gpus) == (8 if instance.startswith("hgx") else 1)
    assert trnbench.load_registry().system(instance).devices == len(found.gpus)
    if count > 1 and len(found.gpus) == 1:
        assert found.notes == (f"{count} GPUs here make no documented system: the first one is measured",)


def test_an_unknown_gpu_is_measured_without_a_peak() -> None:
    found = identify(gpus(1, "NVIDIA B300"), {})
    assert found.instance == "cuda-device"
    assert found.notes == ("unknown GPU 'NVIDIA B300': measured, no peak",)
    system = trnbench.load_registry().system("cuda-device")
    for metric in ("peak_flops", "hbm_bandwidth"):
        assert choose_peak(system, metric=metric, scope=trnbench.Scope.CORE, dtype="bf16") is None


def test_a_slice_of_a_known_gpu_has_no_peak_either() -> None:
    found = identify(gpus(1, sliced=True), {})
    assert found.instance == "cuda-device"
    assert found.notes == (
        "NVIDIA H200 with MIG on: a slice of it is no documented system: measured, no peak",
    )


def test_gpus_that_are_hidden_take_no_part() -> None:
    four = gpus(4)
    assert [gpu.index for gpu in visible(four, "2,0")] == [2, 0]
    assert [gpu.index for gpu in visible(four, "GPU-1,GPU-33")] == [1, 3]
    assert [gpu.index for gpu in visible(four, "1,9,2")] == [1]  # CUDA stops at what it does not know
    hidden = identify(four, {"CUDA_VISIBLE_DEVICES": ""})
    assert (hidden.why, hidden.try_) == ("CUDA_VISIBLE_DEVICES hides every GPU", "unset CUDA_VISIBLE_DEVICES")
    assert identify([], {}).why == "the driver lists no GPU"


def test_every_name_belongs_to_a_system_that_is_there() -> None:
    registry = trnbench.load_registry()
    for known in table().values():
        single = registry.system(known.single)
        assert single.book.value(single.instance.device, "engine_count") == known.multiprocessors
        if known.board:
            assert registry.system(known.board).instance.device == single.instance.device


def torch_with(name: str, units: int = 132) -> Any:
    properties = SimpleNamespace(multi_processor_count=units, L2_cache_size=52_428_800)
    return SimpleNamespace(
        cuda=SimpleNamespace(
            get_device_properties=lambda _: properties,
            get_device_name=lambda _: name,
            is_available=lambda: False,
        ),
        __version__="2.13.0",
        version=SimpleNamespace(cuda=None),
    )


def test_the_gpu_names_itself_and_its_cache() -> None:
    assert named(torch_with("NVIDIA H200"), identify(gpus(1), {})) == ("NVIDIA H200", 52_428_800.0)


@pytest.mark.parametrize(
    ("torch", "what"),
    [
        (torch_with("Tesla T4"), "torch calls the GPU 'Tesla T4', nvidia-smi 'NVIDIA H200'"),
        (torch_with("NVIDIA H200", 66), "NVIDIA H200 has 66 multiprocessors here, not 132"),
    ],
)
def test_another_gpu_or_a_part_of_one_is_refused(torch: Any, what: str) -> None:
    with pytest.raises(TrnbenchError) as told:
        named(torch, identify(gpus(1), {}))
    assert told.value.what == what


def test_no_other_device_is_measured_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", torch_with("NVIDIA H200"))
    with pytest.raises(TrnbenchError) as told:
        cuda._torch()
    assert told.value.what == "torch finds no CUDA GPU, and no other device is measured in its place"
    assert told.value.cause == "torch 2.13.0, CUDA not built in"


def test_what_is_missing_is_said_step_by_step(nvidia_smi: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert CudaBackend().detect().why == "nvidia-smi is not on the PATH: no driver of NVIDIA's, so no GPU"
    nvidia_smi({"index,uuid": "echo '0, GPU-1, NVIDIA H200, 143771, Disabled, 570.86.15'"})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert CudaBackend().detect().why == "torch is not installed"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setattr("trnbench.torch_version", lambda: "2.13.0+cpu")
    assert CudaBackend().detect().why == "torch 2.13.0+cpu is built without CUDA"
    monkeypatch.setattr("trnbench.torch_version", lambda: "2.13.0")
    found = CudaBackend().detect()
    assert (found.available, found.instance, found.kinds) == (True, "h200-sxm", ("torch",))
    assert found.unverified == UNVERIFIED


def test_a_broken_driver_is_told_and_raises_nothing(nvidia_smi: Install) -> None:
    nvidia_smi({"index,uuid": "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18"})
    found = CudaBackend().detect()
    assert not found.available
    assert found.why == (
        "nvidia-smi ended with exit code 18: Failed to initialize NVML: Driver/library version mismatch"
    )


def test_cases_of_a_board_and_of_other_machines(nvidia_smi: Install) -> None:
    nvidia_smi(
        {"index,uuid": 'for i in 0 1 2 3 4 5 6 7; do echo "$i, GPU-$i, NVIDIA H200, 1, Disabled, 5"; done'}
    )
    backend, registry = CudaBackend(), trnbench.load_registry()
    planned = plan(registry, Selection(instances=("hgx-h200",), kinds=("torch", "torch-distributed")))
    why = {case.id: backend.unsupported(case, planned.systems["hgx-h200"]) for case in planned.runnable}
    assert why["hgx-h200::gemm[dtype=bf16,size=4096]@instance:replicated"] == ""
    assert why["hgx-h200::gemm[dtype=mxfp4,size=1024]@core"] == "Hopper's matrix units do not take mxfp4"
    assert any(case.kernel.name == "all_reduce" and not why[case.id] for case in planned.runnable)
    other = plan(registry, Selection(kernels=("gemm",), instances=("h100-sxm",))).cases[0]
    assert backend.unsupported(other, registry.system("h100-sxm")) == (
        "this machine is hgx-h200; a measured run is of the machine in front of you"
    )


def test_a_single_gpu_has_each_case_once() -> None:
    registry = trnbench.load_registry()
    planned = plan(registry, Selection(kernels=("gemm",), instances=("h200-sxm",), kinds=("torch",)))
    assert {case.key.scope for case in planned.cases} == {trnbench.Scope.CORE}
    asked = plan(
        registry, Selection(kernels=("gemm",), instances=("h200-sxm",), kinds=("torch",), scopes=("system",))
    )
    assert {case.key.scope for case in asked.cases} == {trnbench.Scope.INSTANCE}


def test_gpus_are_not_emulated() -> None:
    registry = trnbench.load_registry()
    emulator = registry.backends["emulated"]
    for name in ("hgx-h200", "h100-sxm"):
        planned = plan(registry, Selection(kernels=("gemm", "all_reduce"), instances=(name,)))
        for case in planned.runnable:
            why = emulator.unsupported(case, planned.systems[name])
            assert why.startswith("hopper has no cost table, so no time follows for a ")


def test_documented_peaks_of_a_gpu_are_dense_unless_sparse_is_asked() -> None:
    system = trnbench.load_registry().system("hgx-h200")

    def peak(metric: str, scope: str, **more: Any) -> float:
        choice = choose_peak(system, metric=metric, scope=trnbench.Scope(scope), **more)
        return choice.chosen.value

    assert peak("peak_flops", "core", dtype="bf16") == 989.5e12
    assert peak("peak_flops", "core", dtype="bf16", sparse=True) == 1979e12
    assert peak("peak_flops", "instance", dtype="fp8") == 8 * 1979e12
    assert peak("peak_flops", "core", dtype="fp32") == 67e12  # not the matrix units' TF32
    assert peak("hbm_bandwidth", "core") == 4.8e12
    one_way = trnbench.Direction.ONE_WAY
    assert peak("neuronlink_bandwidth", "device", direction=one_way) == 450e9
