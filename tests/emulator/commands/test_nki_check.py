"""`trnbench nki check` and `list`: values against a reference, arguments, and the names provided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import Result
from command import listed, typed

from trnbench_emulator.commands.nki import arguments
from trnbench_emulator.nki import agreement

SMALL = str(Path(__file__).parent / "nki_kernels" / "small.py")
BAD = str(Path(__file__).parent / "nki_kernels" / "bad.py")
ON = ("-i", "trn2-16.48xlarge")


def call(*words: str) -> Result:
    return typed("nki", *words)


def checked(*words: str) -> Any:
    result = call("check", *words, *ON, "--format", "json")
    assert result.exit_code in (0, 1), result.stderr
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16", "fp8"])
def test_as_the_reference(dtype: str) -> None:
    code, (row,) = checked(f"{SMALL}::scaled", "--arg", f"x=200x64:{dtype}", "--check", "reference")
    assert (code, row["verdict"], row["shape"], row["nan"]) == (0, "as the reference", [200, 64], 0)
    assert row["error"] <= row["allowed"]


def test_a_wrong_element_is_found() -> None:
    code, (row,) = checked(f"{SMALL}::scaled", "--arg", "x=200x64:bf16", "--check", "mistaken")
    assert code == 1
    assert row["verdict"] == "wrong: 1 of 12,800 elements, the worst at [3, 5]"
    assert row["error"] == 100.0


def test_a_tolerance_of_ones_own() -> None:
    words = (f"{SMALL}::scaled", "--arg", "x=200x64:bf16", "--check", "mistaken")
    code, (row,) = checked(*words, "--tolerance", "1")
    assert (code, row["verdict"]) == (0, "as the reference")


def test_values_of_a_file_reach_the_kernel(tmp_path: Path) -> None:
    values = np.arange(64 * 8, dtype=np.float32).reshape(64, 8)
    path = tmp_path / "x.npy"
    np.save(path, values)
    code, (row,) = checked(f"{SMALL}::scaled", "--arg", f"x=@{path}", "--arg", "factor=0.5")
    assert (code, row["smallest"], row["largest"]) == (0, 0.0, 255.5)
    raw = tmp_path / "raw.npy"
    np.save(raw, values.astype(ml_dtypes.bfloat16))  # NumPy writes raw bytes of this type
    _, (row,) = checked(f"{SMALL}::scaled", "--arg", f"x=@{raw}:bf16")
    assert (row["dtype"], row["largest"]) == ("bfloat16", 1024.0)  # 511 becomes 512


def test_memory_nobody_wrote_is_counted_as_nan(tmp_path: Path) -> None:
    file = tmp_path / "partly.py"
    file.write_text(
        "import nki\nimport nki.language as nl\n\n@nki.jit\ndef partly(x):\n"
        "    out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)\n"
        "    nl.store(out[nl.ds(0, 64), :], nl.load(x))\n    return out\n"
    )
    code, (row, finding) = checked(f"{file}::partly", "--arg", "x=64x64:fp32")
    assert (code, row["nan"]) == (1, 64 * 64)
    assert (finding["finding"], finding["level"], finding["place"]) == (
        "unwritten-output",
        "error",
        "partly.py:6",
    )
    assert finding["bytes"] == 64 * 64 * 4
    result = call("check", f"{file}::partly", *ON, "--arg", "x=64x64:fp32")
    assert (
        "error: unwritten-output: output 0, float32[128, 64]@shared_hbm of partly.py:6: nobody wrote 16,384 "
        "of its 32,768 bytes, the first at [64, 0] (partly.py:6)\n  try: copy to all of it"
    ) in result.stderr


def test_what_a_kernel_prints_is_no_data() -> None:
    result = call("check", f"{BAD}::chatty", *ON, "--arg", "x=64x64:bf16", "--format", "json")
    json.loads(result.stdout)
    assert "hello from the kernel\n" in result.stderr


def test_the_same_seed_gives_the_same_values() -> None:
    def drawn(*words: str) -> Any:
        return checked(f"{SMALL}::scaled", "--arg", "x=random:64x64:fp32", *words)[1][0]["largest"]

    assert drawn() == drawn("--seed", "0")
    assert drawn() != drawn("--seed", "1")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n=3", 3),
        ("n=-2.5", -2.5),
        ("n=True", True),
        ("n=None", None),
        ("n='a b'", "a b"),
        ("n=fast", "fast"),
        ("n=(1, 2)", (1, 2)),
    ],
)
def test_plain_arguments(text: str, value: object) -> None:
    assert arguments.parse(text).value == value
    assert arguments.parse(text).shape is None


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("x=128x512:bf16", (128, 512), "bfloat16"),
        ("x=128,512:float32", (128, 512), "float32"),
        ("x=7:int32", (7,), "int32"),
        ("x=random:2x3x4:fp8", (2, 3, 4), "float8_e4m3"),
    ],
)
def test_tensor_arguments(text: str, shape: tuple[int, ...], dtype: str) -> None:
    found = arguments.parse(text)
    assert (found.shape, found.dtype) == (shape, dtype)


def test_comparing() -> None:
    one = np.array([[1.0, np.nan], [np.inf, 4.0]], np.float32)
    (same,) = agreement.compare([one], ["float32"], [one.copy()], ["float32"])
    assert same.ok
    other = one.copy()
    other[0, 1] = 2.0
    (nan,) = agreement.compare([one], ["float32"], [other], ["float32"])
    assert (nan.wrong, nan.where, nan.error) == (1, (0, 1), np.inf)
    whole = np.array([1, 2, 3], np.int32)
    (integer,) = agreement.compare([whole], ["int32"], [whole + np.array([0, 0, 1])], ["bfloat16"])
    assert integer.wrong == 1  # integers have no tolerance


def test_the_coarsest_type_sets_the_tolerance() -> None:
    got = np.full(4, 100.0, np.float32)
    (fine,) = agreement.compare([got], ["float32"], [got * 1.01], ["float32"])
    (coarse,) = agreement.compare([got], ["float32"], [got * 1.01], ["float32", "bfloat16"])
    assert (fine.ok, coarse.ok) == (False, True)


class TestList:
    def test_every_name_has_a_state_and_the_refused_a_reason(self) -> None:
        rows = listed("nki", "list")
        by_name = {(row["module"], row["name"]): row for row in rows}
        assert by_name["nki.isa", "nc_matmul"]["state"] == "run"
        assert by_name["nki.language", "affine_range"]["state"] == "run"
        assert by_name["nki.language", "par_dim"]["state"] == "removed"
        refused = [row for row in rows if row["state"] == "refused"]
        assert refused
        assert all(row["why"] for row in rows if row["state"] != "run")

    def test_what_it_says_runs_is_there(self) -> None:
        import importlib

        from trnbench_emulator.nki import provide

        rows = listed("nki", "list", "--state", "run")
        assert len(rows) > 100
        with provide("trnbench"):
            for row in rows:
                assert hasattr(importlib.import_module(row["module"]), row["name"]), row

    def test_of_one_module(self) -> None:
        rows = listed("nki", "list", "--module", "nki.isa")
        assert {row["module"] for row in rows} == {"nki.isa"}
        wrong = call("list", "--module", "nki.lang")
        assert wrong.exit_code == 2
        assert wrong.stderr.startswith("error: unknown module 'nki.lang'\n  cause: did you mean nki.language")
