"""Collectives by nccom-test: their proof, and every way in which one is no number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trnbench.facts.fact import Scope
from trnbench.results.measurement import Reason, Status
from trnbench_neuron import collective_case

COLLECTIVE = {"dtype": "bf16", "size": 2**26}


@pytest.mark.parametrize("kernel", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute"])
def test_a_collective_is_measured_with_its_proof(kernel: str, see: Callable[..., Any]) -> None:
    seen, judged = see(kernel, Scope.INSTANCE, **COLLECTIVE)
    assert seen.reason is Reason.NONE, seen.reason_text
    assert judged.time_s == pytest.approx(2e-5 + 2**26 / 50e9, rel=1e-3)
    assert judged.clock == "device"
    assert seen.detail["printed_unit"] == "GB"
    assert seen.implementation == f"collective: nccom-test {kernel}, mesh"
    assert seen.proof.output.startswith("nccom-test --check random")
    assert seen.proof.growth.work_ratio == 4.0
    assert not (*seen.proof.doubts({}), *seen.proof.doubts_of_time())
    assert len(seen.samples) == 1  # three processes make a call each
    sizes = [int(each) for each in seen.detail["sweep_s"]]
    assert sizes == [2**exponent for exponent in range(10, 27, 2)]
    assert seen.proof.growth.floor_s == seen.detail["sweep_s"]["1024"]
    assert seen.detail["rank_kind"] == judged.case.point.get("rank", "device")


@pytest.mark.parametrize(
    ("mode", "reason", "text"),
    [
        ("driver", Reason.ERROR, "nccom-test ended with exit code 1; Neuron DKMS Driver is not running!"),
        ("fails", Reason.ERROR, "nccom-test: 67108864    Failure running neuron-bench - log file"),
        ("wrong", Reason.WRONG_RESULT, "nccom-test found a wrong result: "),
        (
            "ignores-groups",
            Reason.NO_EVIDENCE,
            "nccom-test counted busbw as 1.969 times algbw, which 16 ranks",
        ),
        ("broken-report", Reason.ERROR, "nccom-test: its report is no JSON"),
        ("other-size", Reason.ERROR, "nccom-test was asked for 67108864 B and measured 1088, 4160, "),
        ("hang", Reason.TIMEOUT, "nccom-test was not done after 2 s and was ended"),
    ],
)
def test_a_collective_that_fails_is_no_number(
    mode: str, reason: Reason, text: str, see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NCCOM", mode)
    if mode == "hang":
        monkeypatch.setattr(collective_case, "CALL_S", 2.0)
    _, judged = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert (judged.status, judged.reason) == (Status.FAILED, reason), judged.reason_text
    assert judged.reason_text.startswith(text)


def test_an_old_nccom_test_is_read_by_its_table_in_gibibytes(
    see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NCCOM", "old")
    seen, judged = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert seen.reason is Reason.NONE, seen.reason_text
    assert seen.detail["printed_unit"] == "GiB"
    assert "it prints GiB under the heading GB (C28); our rates follow from size and time" in seen.notes
    assert "nccom-test is an old one that writes no JSON: its table was read" in seen.notes
    # The rate is decimal all the same: size by time, not what was printed.
    algbw = judged.metrics["algbw_bytes_per_s"].value
    assert algbw == pytest.approx(2**26 / (2e-5 + 2**26 / 50e9), rel=1e-3)


def test_a_collective_that_does_not_grow_is_as_long_as_starting_one(
    see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NCCOM", "flat")
    seen, _ = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert seen.proof.growth.hidden
    monkeypatch.setattr(collective_case, "IDLE_BYTES", 2**24)  # no floor to hide behind
    seen, _ = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert seen.proof.growth.flat


def test_a_size_too_small_to_be_swept_says_so(see: Callable[..., Any]) -> None:
    seen, _ = see("all_reduce", Scope.INSTANCE, dtype="bf16", size=2048)
    assert seen.proof.growth is None
    assert "whether the time grows with the size was not seen: it is too small to be swept" in seen.notes
    assert list(seen.detail["sweep_s"]) == ["2048"]


@pytest.mark.parametrize(
    ("size", "least"), [(2**26, 1024), (2**27, 2048), (3 * 2**20, 3072), (4095, 4095), (1024, 1024)]
)
def test_a_sweep_begins_at_next_to_nothing(size: int, least: int) -> None:
    assert collective_case.least_size(size) == least


def test_one_rank_per_device(recorded: Callable[[str], str]) -> None:
    from trnbench_neuron.devices import read_listing

    seen = read_listing(recorded("neuron_ls_trn2.json"))
    assert collective_case.leaders(seen) == list(range(0, 64, 4))
    assert collective_case.workers(seen) == 64
