"""`trnbench nki doctor`: what runs here and what newer releases removed, from a file's text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import listed, typed
from parts import part

OLD = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki import simulate_kernel
from neuronxcc.nki.kernels.attention import flash
"""
# The first name or parameter that each kernel of nki-samples' `contributed` meets in NKI 0.6 (issue 134).
CONTRIBUTED = {
    "decode_attention": ("simulate_kernel(k, x)", "nki.simulate_kernel", "nki.simulate(kernel)(arrays)"),
    "pipelined_attention": (
        "list(nl.affine_range(4, precise_schedule=[1]))",
        "nki.language.affine_range(precise_schedule=)",
        "nl.affine_range(n), or range(n)",
    ),
    **dict.fromkeys(
        ("matmul", "maxpooling", "interpolate_bilinear_fwd", "interpolate_trilinear_fwd"),
        ("nki.baremetal(k)(x)", "nki.baremetal", "kernel(arrays) on a device"),
    ),
}


def rows(*words: str, code: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = listed("nki", "doctor", *words, "-q", code=code)
    return found


@pytest.mark.parametrize("name", CONTRIBUTED)
def test_what_newer_releases_want_of_the_contributed_samples(name: str, tmp_path: Path) -> None:
    text, gone, write = CONTRIBUTED[name]
    (tmp_path / f"{name}.py").write_text(f"{OLD}\ndef k(x):\n    {text}\n")
    (row,) = [row for row in rows(str(tmp_path)) if row["state"] == "removed"]
    assert (row["place"], row["name"]) == (f"{name}.py:9", gone)
    assert write in row["why"]


def test_each_kernel_with_what_it_uses(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(
        OLD + "import torch\nMODEL = [][0]\n"
        "@nki.jit\ndef runs(x):\n    return nl.load(x[0:4], mask=True)\n"
        "def plain(x):\n    return nisa.tensor_copy(x, dtype=nl.float32)\n"
        "@nki.jit\ndef wrong(x):\n    nl.all_reduce(x)\n    return flash(x)\n"
        "def host(x):\n    return torch.zeros(x)\n"
    )
    found = {(row["name"], row["state"]): row for row in rows(str(path), code=1)}
    assert {key: row["kind"] for key, row in found.items() if row["kind"] in ("kernel", "function")} == {
        ("runs", "run"): "kernel",
        ("plain", "run"): "function",
        ("wrong", "refused"): "kernel",
    }
    flash = "neuronxcc.nki.kernels.attention.flash"
    assert found["wrong", "refused"]["why"] == f"neuronxcc.nki.language.all_reduce, {flash}"
    assert found["MODEL", "refused"]["why"] == "IndexError: list index out of range"
    assert found[flash, "refused"]["why"] == "it came inside the compiler and is not public"
    assert found["nki.isa.tensor_copy(dtype=)", "removed"]["why"] == "since 0.3: the type of dst"
    assert ("nki.language.load(mask=)", "removed") in found


def test_a_file_of_today_has_nothing_to_change() -> None:
    path = Path(__file__).parents[2] / "nki" / "user_kernels" / "tiled_matmul.py"
    assert {row["state"] for row in rows(str(path))} == {"run"}


def test_a_file_that_is_no_python_and_a_folder_without_kernels(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print(1)\n")
    assert "has no kernel's file" in typed("nki", "doctor", str(tmp_path)).stderr
    (tmp_path / "broken.py").write_text("import nki\ndef (\n")
    (row,) = rows(str(tmp_path), code=1)
    assert (row["kind"], row["state"]) == ("file", "refused")
    assert "is no Python" in row["why"]
    assert typed("nki", "doctor", str(tmp_path)).stderr == (
        "0 of 0 functions use only what runs here; removed since: 0 names; not imported: 1 file\n"
    )


def test_files_of_a_folder_have_their_own_places_and_import_one_module_between_them(tmp_path: Path) -> None:
    """Two files of one name; what fails in a module that both import is one row, at its own line."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "shared.py").write_text("\n\n\nTABLE = [][0]\n")
    (tmp_path / "words.py").write_text("raise SystemExit('no nki here')\n")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kernel.py").write_text(
            OLD + "import shared\ndef k(x):\n    return nl.load(x)\n"
        )
    listed = [(row["place"], row["kind"], row["name"]) for row in rows(str(tmp_path))]
    assert [each for each in listed if each[1] != "name"] == [
        ("a/kernel.py:8", "function", "k"),
        ("shared.py:4", "statement", "TABLE"),
        ("b/kernel.py:8", "function", "k"),
    ]


def test_a_file_that_is_imported_again_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "shared.py").write_text("TABLE = []\n")
    (tmp_path / "a.py").write_text("import shared\nshared.TABLE.append(1)\n")
    (tmp_path / "b.py").write_text("from shared import TABLE\nassert TABLE == []\n")
    parsed: list[Any] = []
    statements = part("trnbench_emulator.nki.statements")
    guarded = statements._guarded
    monkeypatch.setattr(statements, "_guarded", lambda *body: [parsed.append(body), guarded(*body)][1])
    load = part("trnbench_emulator.nki.load")
    faults = [load.load_file(tmp_path / f"{name}.py")[1].faults for name in "ab"]
    assert (faults, len(parsed)) == ([[], []], 3)


def test_a_file_that_reads_its_arguments_was_given_none(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "profile.py"
    asking = OLD + "import argparse\nasking = argparse.ArgumentParser()\n"
    path.write_text(asking + "asking.add_argument('--rows', default=4)\nROWS = asking.parse_args().rows\n")
    assert not [row for row in rows(str(path)) if row["state"] == "refused"]
    path.write_text(asking + "asking.add_argument('rows')\nasking.parse_args()\n")
    capfd.readouterr()
    (row,) = [row for row in rows(str(path), code=1) if row["kind"] == "file"]
    assert row["why"] == f"{path} calls sys.exit(2)"
    assert "usage: trnbench" not in capfd.readouterr().err
