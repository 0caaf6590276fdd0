"""`trnbench nki run --assume`: what the compiler is taken to do is told, and what each of it is worth."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from command import listed, typed

import trnbench
from trnbench.errors import UnknownName, UsageError
from trnbench.results.measurement import Band, Nearest, Nearness
from trnbench_emulator.compiler import AS_SHIPPED, SWITCHES
from trnbench_emulator.kernel_run import result
from trnbench_emulator.kernel_run.result import Alternative
from trnbench_emulator.nki import TensorSpec
from trnbench_fidelity.nearness import Nearby

TRN1 = "trn1.32xlarge"
OLD = (Path(__file__).parent / "nki_kernels" / "product.txt").read_text()
ARGUMENTS = ("--arg", "x=256x512:fp32", "--arg", "w=256x2048:fp32")


@pytest.fixture
def old(tmp_path: Path) -> str:
    (tmp_path / "old.py").write_text(OLD)
    return f"{tmp_path / 'old.py'}::product"


def call(*words: str) -> Result:
    return typed("nki", "run", *words)


def told(old: str, *words: str) -> Any:
    return listed("nki", "run", old, "-i", TRN1, *ARGUMENTS, *words)


def test_each_way_names_the_other_with_the_same_times(old: str) -> None:
    shipped, without = told(old), told(old, "--assume", "no-residence")
    others = {each["name"]: each for each in shipped["alternatives"]}
    assert others["no-residence"]["latency_s"] == without["latency_s"] > 1.1 * shipped["latency_s"]
    back = {each["name"]: each for each in without["alternatives"]}
    assert back["residence"]["latency_s"] == shipped["latency_s"]
    assert back["residence"]["slower"] == pytest.approx(shipped["latency_s"] / without["latency_s"] - 1)
    assert {each["name"]: each["on"] for each in without["assumed"]} == {
        "residence": False,
        "engine-choice": True,
        "zero-elision": True,
    }
    assert shipped["assumed"][0] == {
        "name": "residence",
        "on": True,
        "times": 48,
        "about": SWITCHES["residence"].assumed,
    }
    slower = [abs(each["slower"]) for each in shipped["alternatives"]]
    assert slower == sorted(slower, reverse=True)
    assert shipped["not_compared"] == ""


def test_people_are_told_what_matters_and_by_how_much(old: str) -> None:
    shipped = told(old)
    others = {each["name"]: each["slower"] for each in shipped["alternatives"]}
    result = call(old, "-i", TRN1, *ARGUMENTS)
    lines = result.stdout.splitlines()
    done = "residence (48 times), engine-choice (16 times), zero-elision (16 times)"
    assert f"the compiler is taken to do: {done}" in lines
    (residence,) = (line for line in lines if line.startswith("without residence: "))
    assert residence.endswith(f" µs (+{others['no-residence'] * 100:.0f} %)")
    assert "within 10 % of this: without engine-choice" in lines
    assert abs(others["no-engine-choice"]) < 0.1 < others["no-residence"]
    other = call(old, "-i", TRN1, *ARGUMENTS, "--assume", "no-engine-choice", "--assume", "no-residence")
    assert "the compiler is not taken to do: residence, engine-choice" in other.stdout
    assert "with residence: " in other.stdout


def test_the_band_is_said_to_be_of_the_shipped_model(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    banded = Nearest(kind=Nearness.FAMILY, band=Band(low=-0.1, high=0.2, votes=9, points=9))
    monkeypatch.setattr(Nearby, "of", lambda *_, **__: banded)
    shipped, other = told(old), told(old, "--assume", "no-zero-elision")
    assert shipped["evidence"]["nearest"]["note"] == ""
    assert other["evidence"]["nearest"]["note"] == "band of the shipped model"
    assert other["evidence"]["nearest"]["band"] == shipped["evidence"]["nearest"]["band"]


def test_a_timeline_says_what_is_switched_off(old: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    words = ("-i", TRN1, *ARGUMENTS, "--assume", "no-residence", "--trace", str(file))
    assert call(old, *words).exit_code == 0
    assert '"assumptions":"no-residence"' in file.read_text().replace('": "', '":"')


def test_csv_has_a_row_for_each(old: str) -> None:
    result = call(old, "-i", TRN1, *ARGUMENTS, "--assume", "no-zero-elision", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    found = {(row["part"], row["name"]): row for row in rows}
    assert found["assumption", "residence"]["note"].startswith("assumed: ")
    assert found["assumption", "zero-elision"]["note"] == "not assumed: Vector writes them"
    assert float(found["alternative", "no-residence"]["value"]) > 0
    assert found["alternative", "zero-elision"]["unit"] == "s"


def test_side_by_side_each_system_says_its_own(old: str) -> None:
    result = call(old, "-i", TRN1, "-i", "trn2-16.48xlarge", *ARGUMENTS)
    assert result.exit_code == 0
    for name in (TRN1, "trn2-16.48xlarge"):
        assert f"{name}: the compiler is taken to do: residence (48 times)" in result.stdout


def test_names_that_mean_nothing_are_told(old: str) -> None:
    unknown = call(old, "-i", TRN1, *ARGUMENTS, "--assume", "no-hosting")
    assert unknown.exit_code == 2
    assert "unknown assumption 'no-hosting'" in unknown.stderr
    assert all(each.negation in unknown.stderr for each in SWITCHES.values())
    today = call("gemm", "-i", TRN1, "--arg", "size=256", "--assume", "no-hoisting")
    assert today.exit_code == 2
    assert "no-hoisting has no meaning for gemm_best" in today.stderr
    assert call("gemm", "-i", TRN1, "--arg", "size=256", "--assume", "no-broadcast-product").exit_code == 0


def test_help_lists_every_switch() -> None:
    said = " ".join(call("--help-all").stdout.split())
    for name, each in SWITCHES.items():
        assert f"{name} {each.interface}: " in said
    assert "--assume no-NAME" in said


def test_a_long_kernel_is_not_timed_the_other_ways(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result, "LIMIT", 100)
    found = told(old)
    assert found["alternatives"] == []
    assert found["not_compared"] == (
        "80 instructions, 3 switches: together more than the 100 up to which each is also timed the other way"
    )
    shown = call(old, "-i", TRN1, *ARGUMENTS).stdout
    assert "what each is worth was left out: 80 instructions, 3 switches" in shown


def test_python_says_the_same(old: str) -> None:
    given = {"x": TensorSpec((256, 512), "fp32"), "w": TensorSpec((256, 2048), "fp32")}

    def emulated(**options: Any) -> trnbench.KernelRun:
        return trnbench.emulate_kernel(old, given, instance=TRN1, nki="trnbench", **options)

    run = emulated(assume=["no-residence", "no-zero-elision"], compare=False)
    assert run.latency_s == told(old, "--assume", "no-residence,no-zero-elision")["latency_s"]
    assert [each.name for each in run.assumed if not each.on] == ["residence", "zero-elision"]
    assert run.alternatives == ()
    with pytest.raises(UnknownName):
        emulated(assume="no-hosting")
    with pytest.raises(UsageError, match="no-hoisting has no meaning for softmax"):
        trnbench.emulate_kernel(
            "trnbench_kernels.nki.rows:softmax",
            {"x": TensorSpec((128, 256), "fp32")},
            instance=TRN1,
            assume="no-hoisting",
        )


def test_what_cannot_be_timed_the_other_way_says_why() -> None:
    found, left_out = result.alternatives(1.0, 10, AS_SHIPPED, ["hoisting"], _refused)
    assert (found, left_out) == ((Alternative(name="no-hoisting", problem="it does not fit"),), "")
    assert not found[0].matters


def _refused(_: object) -> float:
    raise trnbench.errors.KernelError("it does not fit")
