"""Replicated or sharded: what is planned unless it is asked for, how a case is called, and what joins it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import listed, typed

from trnbench.case_key import CaseKey, Division
from trnbench.compare.gate.rule import Rule
from trnbench.errors import NothingSelected, UnknownName
from trnbench.facts.fact import Scope
from trnbench.registry import Registry
from trnbench.run.plan import plan
from trnbench.run.selection import Selection

TRN2 = "trn2-16.48xlarge"
BOTH = {"replicated", "sharded"}


def names(registry: Registry, **chosen: Any) -> list[str]:
    chosen = {"instances": (TRN2,), "scopes": ("device",), **chosen}
    return [each.key.fullname for each in plan(registry, Selection(**chosen)).cases]


@pytest.mark.parts
@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"kernels": ("gemm",)}, {"sharded"}),
        ({"families": ("gemm",)}, BOTH),
        ({"kernels": ("gemm",), "divisions": ("replicated",)}, {"replicated"}),
        ({"kernels": ("gemm",), "divisions": ("sharded", "replicated")}, BOTH),
        ({"families": ("gemm",), "keyword": "gemm and not sharded"}, {"replicated"}),
        ({"kernels": ("hbm_copy",)}, {"replicated"}),
        ({"kernels": ("gemm",), "kinds": ("nki",)}, {"replicated"}),
        ({"kernels": ("all_reduce",), "scopes": ("system",)}, {"instance"}),
        ({"kernels": ("gemm",), "scopes": ("core",)}, {"core"}),
    ],
)
def test_a_kernel_by_name_is_sharded_and_the_default_run_has_both(
    registry: Registry, chosen: dict[str, Any], expected: set[str]
) -> None:
    found = names(registry, **chosen)
    assert {name.replace("@", ":").rpartition(":")[2] for name in found} >= expected
    gemm = [name for name in found if name.startswith(("gemm[", "hbm_copy", "all_reduce"))]
    assert {name.replace("@", ":").rpartition(":")[2] for name in gemm} == expected


@pytest.mark.parts
def test_what_is_not_there_is_named(registry: Registry) -> None:
    with pytest.raises(NothingSelected, match="not there as sharded: hbm_copy"):
        names(registry, kernels=("hbm_copy",), divisions=("sharded",))
    with pytest.raises(UnknownName):
        names(registry, kernels=("gemm",), divisions=("shared",))


@pytest.mark.parts
def test_what_does_not_divide_is_skipped_with_the_reason(registry: Registry) -> None:
    found = plan(
        registry, Selection(kernels=("rms_norm",), instances=(TRN2,), scopes=("device",), axes=("rows=7",))
    )
    assert {case.skip for case in found.cases} == {"7 rows do not divide over 8 cores"}


def test_a_selection_of_before_has_replicated_cases(registry: Registry) -> None:
    plain = msgspec.to_builtins(Selection(kernels=("gemm",)))
    assert Selection.stored(plain, registry).divisions == ()
    del plain["divisions"]
    assert Selection.stored(plain, registry).divisions == ("replicated",)


def test_a_rule_of_before_speaks_of_replicated_cases() -> None:
    key = CaseKey(
        kernel="gemm",
        family="gemm",
        instance=TRN2,
        generation="trn2",
        scope=Scope.DEVICE,
        point={"size": 4096},
        division=Division.REPLICATED,
    )
    rule = Rule(name="old", case="gemm[size=4096]@device")
    assert rule.fits(key)
    assert rule.fits(msgspec.structs.replace(key, division=None))
    assert not rule.fits(msgspec.structs.replace(key, division=Division.SHARDED))


@pytest.mark.parts
def test_a_device_is_asked_for_one_product() -> None:
    words = ("run", "gemm", "-i", TRN2, "--scope", "device", "--dtype", "bf16", "-a", "size=4096")
    (row,) = listed(*words, "--dry-run")
    assert row["id"] == f"{TRN2}::gemm[dtype=bf16,size=4096]@device:sharded"
    assert row["division"] == "sharded"


@pytest.mark.parts
def test_the_answer_says_how_the_cores_share_it(tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "results.db"))
    words = f"-q run gemm -i {TRN2} --scope device --dtype bf16 -a size=1024 --no-report".split()

    def ends(*more: str) -> str:
        done = typed(*store, *words, *more)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    assert ends().splitlines()[-1] == "gemm, bf16, size 1,024, one device, sharded."
    both = ends("--division", "sharded", "--division", "replicated").splitlines()
    assert both[0].split()[0] == "division"
    assert [line.split()[0] for line in both[1:3]] == ["replicated", "sharded"]
