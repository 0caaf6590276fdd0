"""`trnbench run --backend torch`: the processor by torch, into the store, judged like everything else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import typed

import trnbench
from trnbench import Grade, Run, Status
from trnbench.cli.doctor import _backend
from trnbench.errors import UsageError
from trnbench.registry import Registry
from trnbench.run.api import choose_backend, here
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench_cuda.backend import UNVERIFIED as ON_CUDA
from trnbench_torch import DISTRIBUTED, SOURCES, library
from trnbench_torch.neuron import UNVERIFIED as ON_NEURON

NO_TORCH = pytest.mark.skipif(library.missing() is None, reason="torch is installed here")


def command(*words: str, store: Path) -> subprocess.CompletedProcess[str]:
    trnbench_command = Path(sys.executable).with_name("trnbench")
    return subprocess.run(
        [str(trnbench_command), "--store", str(store), *words], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trnbench.bench(
        ["gemm", "hbm_copy", "all_reduce"],
        backend="torch",
        axes=("gemm.size=96", "gemm.dtype=fp32", "hbm_copy.size=64KiB", "all_reduce.size=64KiB"),
        scopes=("core", "system"),
        sample_s=0.05,
        processes=1,  # each imports torch; the command below has as many as it has by itself
        store=tmp_path_factory.mktemp("store") / "r.db",
    )


@pytest.mark.torch
def test_it_measures_this_processor_and_its_ranks(run: Run) -> None:
    assert run.grade is Grade.MEASURED
    assert set(run.systems) == {"host", "host-ranks"}
    assert {each.case.kernel for each in run.measurements} == {"gemm", "hbm_copy", "all_reduce"}


@pytest.mark.torch
def test_every_number_has_its_evidence(run: Run) -> None:
    for each in run.measurements:
        # A busy machine may leave a number unjudged, or suspect; it may not leave one without its evidence.
        assert each.status in (Status.OK, Status.INCONCLUSIVE, Status.SUSPECT), each.reason_text
        assert each.evidence.grade is Grade.MEASURED
        assert each.evidence.version.startswith(f"torch {library.version()}")
        assert each.clock == "host"
        assert each.samples
        assert set(each.detail["proof"]) == {"device", "completion", "output", "growth"}
        assert each.detail["data"]["kind"] == "uniform random"
        assert each.implementation.startswith("torch")


@pytest.mark.torch
def test_collectives_are_timed_until_the_last_rank_has_its_result(run: Run) -> None:
    (found,) = [each for each in run.measurements if each.case.kernel == "all_reduce"]
    assert (
        found.detail["proof"]["completion"] == "every one of the 2 ranks has answered that it has its result"
    )
    assert len(found.detail["rank_s"]) == 2
    assert found.metrics["busbw_bytes_per_s"].value > 0.0
    assert found.implementation.endswith("(gloo)")


@pytest.mark.torch
def test_a_product_is_held_against_what_the_vector_units_allow(run: Run) -> None:
    (found,) = [each for each in run.measurements if each.case.kernel == "gemm" and each.case.scope == "core"]
    system = trnbench.load_registry().system("host")
    if system.fact(trnbench.Scope.CORE, "peak_flops", dtype="fp32") is None:
        assert found.judgement is None  # a processor that no table knows: measured, no peak
    else:
        assert found.judgement.fraction > 0.0


@pytest.mark.torch
def test_the_installed_command_measures_and_prints_data(tmp_path: Path) -> None:
    words = (
        "run softmax --backend torch -a columns=512 -a rows=64 --dtype fp32 --scope core --sample-time 0.05"
    )
    done = command(*words.split(), "--no-report", "--format", "json", "-q", store=tmp_path / "r.db")
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)


@pytest.mark.torch
def test_too_little_memory_is_told_apart_from_a_crash() -> None:
    from trnbench_torch.observation import in_memory

    def greedy() -> None:
        import torch

        torch.empty(1 << 60, dtype=torch.uint8)

    with pytest.raises(MemoryError, match=r"allocate memory|not enough memory"):
        in_memory(greedy)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="something else"):
        in_memory(lambda: (_ for _ in ()).throw(RuntimeError("something else")))


@pytest.mark.torch
def test_it_plans_what_torch_has_and_each_part_of_the_machine_once() -> None:
    registry = trnbench.load_registry()
    backend = registry.backends["torch"]
    planned = plan(registry, here(Selection(), backend))
    kinds = {"torch", "torch-distributed"}
    assert all(kinds & set(case.kernel.implementations) for case in planned.cases)
    assert all(case.kernel.spread.linked == (case.key.instance == "host-ranks") for case in planned.cases)
    parts = [
        (
            case.key.instance,
            case.key.kernel,
            tuple(case.key.point.items()),
            case.extent.cores,
            case.extent.ranks,
        )
        for case in planned.cases
    ]
    assert len(parts) == len(set(parts))


def test_what_a_processor_cannot_do_is_skipped_with_the_reason() -> None:
    from trnbench_host.cpu import Cpu
    from trnbench_host.torch_backend import MOST_FLOPS, lacks, too_much

    cpu = Cpu(
        name="old", vendor="v", family=1, model=1, flags=frozenset({"avx2"}), sockets=1, cores=2, threads=2
    )
    registry = trnbench.load_registry()
    cases = {
        case.id: case
        for case in plan(
            registry, Selection(kernels=("gemm", "attention"), instances=("host",), kinds=("torch",))
        ).cases
    }

    def why(dtype: str) -> str:
        return lacks(cpu, cases[f"host::gemm[dtype={dtype},size=128]@core"])

    assert why("fp32") == ""
    assert why("tf32") == "no processor multiplies tf32: torch would compute in another type"
    assert why("bf16") == (
        "this processor has no bfloat16 products (amx_bf16, avx512_bf16, bf16): torch would convert bf16"
    )
    large = cases["host::gemm[dtype=fp32,size=16384]@core"]
    assert large.kernel.work(large.key.point, large.extent).flops > MOST_FLOPS
    assert too_much(large, 0.0) == (
        "8,796 GFLOP a call are more than a core does in some seconds (150 GFLOP): "
        "choose smaller ones with -a"
    )
    small = cases["host::gemm[dtype=fp32,size=2048]@core"]
    assert too_much(small, 64e6) == "needs 48 MiB of the 61 MiB of memory that are free"
    assert too_much(small, 0.0) == ""


def test_processors_are_shared_out_among_ranks() -> None:
    from trnbench_host.torch_backend import shared

    assert shared((0, 1, 2, 3), 2) == ((0, 1), (2, 3))
    assert shared((0,), 2) == ((0,), (0,))
    assert shared((4, 5, 6), 2) == ((4,), (5,))


def test_the_default_run_has_nothing_of_torch_and_no_gpu() -> None:
    planned = plan(trnbench.load_registry())
    assert {system.generation.name for system in planned.systems.values()} == {"trn1", "trn2", "trn3"}


@NO_TORCH
def test_without_torch_the_message_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told:
        choose_backend(trnbench.load_registry(), "torch")
    assert told.value.what == "backend 'torch' cannot run here"
    done = command("run", "gemm", "--backend", "torch", store=tmp_path / "r.db")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: backend 'torch' cannot run here\n"
        "  cause: torch is not installed\n"
        "  try:   pip install 'trnbench[torch]'  (0.8 GB for processors alone, several GB with CUDA)\n"
    )


def test_missing_torch_is_looked_for_and_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = library.missing()
    assert (found.available, found.why) == (False, "torch is not installed")
    assert found.try_.startswith("pip install 'trnbench[torch]'")


# docs/torch.md says what the code does ---------------------------------------------------------------


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "torch.md").read_text()


def test_every_kernel_is_named(page: str) -> None:
    shown = page.partition("There is one implementation")[2].partition("They take the same axes")[0]
    assert set(re.findall(r"`(\w+)`", shown)) == {*SOURCES, *DISTRIBUTED}


def test_every_system_is_named(page: str) -> None:
    registry = trnbench.load_registry()
    row = next(line for line in page.splitlines() if line.startswith("| system |"))
    ours = {name for each in ("hopper", "cuda", "host") for name in _names(registry, each)}
    assert set(re.findall(r"`([\w-]+)`", row)) - {"neuron-ls"} == ours


def _names(registry: Registry, generation: str) -> set[str]:
    return {instance.name for instance in registry.generations[generation].instances}


def test_every_trap_has_a_test_that_exists(page: str, root: Path) -> None:
    rows = [line for line in page.splitlines() if "::test_" in line]
    assert len(rows) == 11
    for path, test in re.findall(r"`([./\w]+\.py)::(\w+)`", "\n".join(rows)):
        assert f"def {test}(" in (root / "tests" / "cuda" / path).read_text(), (path, test)


def test_the_commands_it_shows_are_understood(page: str) -> None:
    shown = re.findall(r"^    trnbench (.*?)(?:  +#.*)?$", page, flags=re.MULTILINE)
    assert len(shown) >= 6
    for line in shown:
        words = line.split()
        told = typed(words[0], "--help")
        assert told.exit_code == 0
        for option in (word for word in words if word.startswith("--")):
            assert option in told.output


def test_what_to_install_and_how_much_it_is_are_the_same_everywhere(page: str, root: Path) -> None:
    assert library.INSTALL in page
    assert library.SIZE in page
    assert library.SIZE in (root / "pyproject.toml").read_text()


def test_doctor_prints_what_was_never_tried() -> None:
    backends = trnbench.load_registry().backends
    for name, unverified in (("cuda", ON_CUDA), ("torch-neuron", ON_NEURON)):
        rows = list(_backend(backends[name]))
        assert [row["found"] for row in rows if row["state"] == "unverified"] == list(unverified)
