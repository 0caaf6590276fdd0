"""Cost formulas, the cost table, and cases: the source that takes one, or the roofline."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.errors import FactError, KernelError
from trnbench_emulator.core import cases
from trnbench_emulator.core import recording as recordings
from trnbench_emulator.core.cases import CaseModel
from trnbench_emulator.core.costs import CostTable, evaluate
from trnbench_emulator.core.recording import Recording
from trnbench_emulator.nki.op import Op


@given(st.integers(1, 4096), st.integers(1, 512))
def test_formulas_are_arithmetic(n: int, m: int) -> None:
    names = {"N": n, "M": m, "MIN_II": 64}
    assert evaluate("max(MIN_II, N / 4) + 2 * M - 1", names) == max(64, n / 4) + 2 * m - 1
    assert evaluate("ceil(N / M)", names) == -(-n // m)


FORMS = "numbers, variables, + - * / and brackets, min, max, ceil"


@pytest.mark.parametrize(
    ("formula", "cause"),
    [
        ("N +", "it is no arithmetic"),
        ("open('x')", "only min, max, ceil can be called"),
        ("N.real", "Attribute is not allowed"),
        ("[N]", "List is not allowed"),
        ("'N'", "'N' is no number"),
        ("N / 0", "division by zero"),
        ("Q", "name 'Q' is not defined; known here: N"),
        ("1e308 * N", "it gives inf; a cost is 0 to 1e+18"),
        ("1e18 * N", "it gives 1e+19; a cost is 0 to 1e+18"),
        ("1e308 * N - 1e308 * N", "it gives nan; a cost is 0 to 1e+18"),
        ("0 - N", "it gives -10; a cost is 0 to 1e+18"),
        ("ceil(1e308 * N)", "cannot convert float infinity to integer"),
        (f"N{' * 999999999999' * 26}", "int too large to convert to float"),
        ("9" * 5000, "it has 5,000 characters, a formula has up to 400"),
    ],
)
def test_anything_else_is_refused(formula: str, cause: str) -> None:
    with pytest.raises(FactError) as caught:
        evaluate(formula, {"N": 10})
    assert (caught.value.cause, caught.value.try_) == (cause, FORMS)
    if len(formula) < 100:
        assert caught.value.what == f"cost formula {formula!r} cannot be evaluated"
    assert caught.value.what.startswith("cost formula ")
    assert len(caught.value.what) < 200


COPY = {"N": 512, "all_16bit": True, "all_sbuf": True, "contiguous": True, "psum_operands": 0}


@pytest.mark.parametrize(
    ("instance", "opcode", "engine", "variables", "cycles"),
    [
        ("trn1.32xlarge", "nc_matmul", "tensor", {"N_stationary": 128, "N_moving": 512, "fp32": False}, 512),
        ("trn1.32xlarge", "nc_matmul", "tensor", {"N_stationary": 128, "N_moving": 512, "fp32": True}, 2048),
        ("trn1.32xlarge", "nc_matmul", "tensor", {"N_stationary": 128, "N_moving": 1, "fp32": False}, 64),
        ("trn1.32xlarge", "tensor_copy", "vector", COPY, 512),
        ("trn2-16.48xlarge", "tensor_copy", "vector", COPY, 128),
        ("trn2-16.48xlarge", "tensor_copy", "vector", {**COPY, "contiguous": False}, 256),
        ("trn2-16.48xlarge", "tensor_copy", "scalar", COPY, 512),
        ("trn3-gen2-ultraserver", "tensor_copy", "scalar", COPY, 256),
        ("trn3-gen2-ultraserver", "activation", "scalar", {"N": 10}, 64),
    ],
)
def test_documented_costs(
    registry: Any, instance: str, opcode: str, engine: str, variables: dict[str, Any], cycles: float
) -> None:
    assert CostTable(registry.system(instance)).cycles(opcode, engine, variables) == cycles


@pytest.mark.parametrize(
    ("metric", "name", "subject"),
    [
        ("clock", "tensor", "neuroncore-v3"),
        ("partition_count", "", "neuroncore-v3"),
        ("hbm_bandwidth", "", "trainium2"),
    ],
)
def test_figure_that_no_fact_gives_says_where_to_add_it(
    registry: Any, metric: str, name: str, subject: str
) -> None:
    system = registry.system("trn2-16.48xlarge")
    facts = tuple(fact for fact in system.book.facts if fact.metric != metric)
    bare = msgspec.structs.replace(system, book=msgspec.structs.replace(system.book, facts=facts))
    table = CostTable(bare)
    with pytest.raises(FactError) as caught:
        _ = table.clock(name) if name else (table.lanes, table.hbm_rate)
    assert caught.value.try_ == f'add {{ metric = "{metric}", … }} for subject "{subject}" to a file of facts'


def test_what_no_document_prices_says_where_to_add_it(registry: Any) -> None:
    system = registry.system("trn2-16.48xlarge")
    with pytest.raises(FactError) as caught:
        CostTable(system).cycles("sendrecv", "gpsimd", {})
    assert caught.value.what == "no document gives the cost of sendrecv on engine gpsimd of neuroncore-v3"
    assert caught.value.try_ == f"add [[instructions.sendrecv]] to {system.generation.costs}"
    bare = CostTable(msgspec.structs.replace(system, costs={}))
    with pytest.raises(FactError, match="no document gives the dma engines_per_core of neuroncore-v3"):
        _ = bare.transfers


def test_one_time_for_equal_instructions(registry: Any) -> None:
    table = CostTable(registry.system("trn2-16.48xlarge"))
    ops = [Op("scalar", "activation", "fp32", {"N": 1200, "op": "exp"}, {}) for _ in range(2)]
    assert table.seconds(ops[0]) == table.seconds(ops[1]) == pytest.approx(1e-6)


def test_transfers_cost_bytes_and_descriptors(registry: Any) -> None:
    table = CostTable(registry.system("trn2-16.48xlarge"))
    transfers = table.transfers
    assert transfers.stream(1e6, 4096) < transfers.stream(1e6, 512) < transfers.stream(1e6, 64)
    assert transfers.stream(1e6, 1e6) == pytest.approx(1e6 / transfers.path_rate, rel=1e-3)


def recorded(model: CaseModel, case: Any, system: Any) -> Recording:
    source = model.source(case)
    return model.time(case, source, system).recording


def test_a_recording_stands_for_the_whole_problem(make_case: Any) -> None:
    case, system = make_case("gemm", "trn2-16.48xlarge", dtype="bf16", size=4096)
    model = CaseModel()
    found = recorded(model, case, system)
    assert found.how == "recorded call by call in 1 pieces that stand for 8"
    seen, table = model.estimate(case, system), CostTable(system)
    assert seen.counters["tensor_flops"] == 2 * 4096**3
    tensor = sum(table.seconds(op) * count for op, count in found.tally.items() if op.engine == "tensor")
    assert tensor == pytest.approx(4096**3 * 2 / (128 * 128 * 2 * 2.4e9))


def test_kept_by_core_not_by_instance(make_case: Any) -> None:
    model = CaseModel()
    one = recorded(model, *make_case("gemm", "trn2-16.48xlarge", dtype="bf16", size=512))
    other = recorded(model, *make_case("gemm", "u-trn2x64", dtype="bf16", size=512))
    assert one is other
    assert recorded(model, *make_case("gemm", "trn1.32xlarge", dtype="bf16", size=512)) is not one


def test_too_many_calls_are_no_reason_for_a_formula(make_case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    case, system = make_case("gemm", "trn2-16.48xlarge", dtype="bf16", size=1024)
    monkeypatch.setattr(cases, "CALL_LIMIT", 50)
    model = CaseModel()
    with pytest.raises(KernelError) as caught:
        model.estimate(case, system)
    assert re.fullmatch(
        r"trnbench_kernels\.nki\.gemm_best:gemm_best \(gemm_best\.py:\d+\) cannot be recorded: "
        r"kernel 'gemm_best' issued more than 50 instructions \(gemm_best\.py:\d+\)",
        caught.value.what,
    )
    assert caught.value.try_ == "check the loop's bounds, or cut the problem: def gemm_best_pieces(inputs)"
    monkeypatch.setattr(recordings, "record_launch", None)  # the next case does not record it anew
    with pytest.raises(KernelError) as again:
        model.estimate(case, system)
    assert again.value.what == caught.value.what


@pytest.mark.parametrize(
    ("dtype", "source"),
    [
        ("bf16", "trnbench_kernels.nki.gemm_best:gemm_best"),
        ("mxfp8", "trnbench_trn3.nki.gemm_mx_best:gemm_mx_best"),
    ],
)
def test_a_point_has_the_first_source_that_takes_it(make_case: Any, dtype: str, source: str) -> None:
    case, system = make_case("gemm", "trn3-gen2-ultraserver", dtype=dtype, size=1024)
    seen = CaseModel().estimate(case, system)
    assert seen.implementation.startswith(f"nki: {source} (trnbench")


def test_points_no_source_takes_use_the_work_formula(make_case: Any) -> None:
    case, system = make_case("gemm", "trn3-gen2-ultraserver", dtype="mxfp8", size=1000)
    model = CaseModel()
    assert model.source(case) is None
    seen = model.estimate(case, system)
    assert seen.implementation == "model: roofline from the work formula"
    assert seen.formula.startswith("flops = 2·M·N·K; ")
    assert seen.formula.endswith("; gemm declares: its NKI sources take no such point")


def test_a_kernel_without_inputs_cannot_be_recorded(make_case: Any, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "own_kernels.py").write_text("import nki\n@nki.jit\ndef mine(x):\n    return x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    case, system = make_case("gemm", "trn2-16.48xlarge", dtype="bf16", size=128)
    kernel = msgspec.structs.replace(case.kernel, implementations={"nki": "own_kernels:mine"})
    with pytest.raises(KernelError) as caught:
        CaseModel().estimate(msgspec.structs.replace(case, kernel=kernel), system)
    assert caught.value.what == (
        "the NKI source of gemm cannot be used: "
        "own_kernels:mine cannot be given arguments: its module has no mine_inputs (own_kernels.py:2)"
    )
    assert "nki" not in sys.modules
