"""Whatever names no kernel: what it is instead, with file and line, and what there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from at_terminal import shown
from campaigns import sweep
from click.testing import CliRunner

from trnbench.cli.main import cli

KERNELS = """import nki
import nki.language as nl


@nki.jit
def first(x):
    return x


@nki.jit
def second(x):
    return x


@nki.jit
def alone():
    return None


def numpy_first(x):
    return x


class Neither:
    pass
"""
FILES = {
    "kernels.py": KERNELS,
    "empty.py": "",
    "binary.py": "\x00\x01",
    "syntax.py": "import nki\n\ndef broken(:\n    pass\n",
    "importing.py": "import nki\nimport not_there_at_all\n",
    "failing.py": "import nki\n\nHALF = 1 / 0\n",
}
X = ("--arg", "x=128x64:bf16")

WRONG: dict[str, tuple[tuple[str, ...], int, str]] = {
    "a folder": (
        (".::first", *X),
        2,
        "error: . is a folder\n  cause: a kernel is a function of a file\n  try:   FILE.py::KERNEL\n",
    ),
    "a file misspelt": (
        ("kernel.py::first", *X),
        2,
        "error: kernel.py does not exist\n  cause: did you mean kernels.py?\n  try:   FILE.py::KERNEL\n",
    ),
    "no such file": (
        ("zzz.py::first", *X),
        2,
        "error: zzz.py does not exist\n  cause: looked for it in {folder}\n  try:   FILE.py::KERNEL\n",
    ),
    "an unlike name": (
        ("kernels.py::zzz", *X),
        2,
        "error: unknown kernel 'zzz'\n"
        "  cause: known: alone, first, second\n"
        "  try:   kernels.py::NAME with one of the above\n",
    ),
    "a class": (
        ("kernels.py::Neither", *X),
        3,
        "error: kernels.py::Neither is no kernel: it is a class\n"
        "  cause: a kernel is a function, usually decorated with @nki.jit\n",
    ),
    "a file without functions": (
        ("empty.py::first", *X),
        2,
        "error: empty.py defines no kernel\n"
        "  cause: a kernel is a function, usually decorated with @nki.jit\n"
        "  try:   another file: FILE.py::KERNEL\n",
    ),
    "no text": (
        ("binary.py::first", *X),
        3,
        "error: binary.py is no Python: source code string cannot contain null bytes (binary.py)\n",
    ),
    "a wrong line": (
        ("syntax.py::broken", *X),
        3,
        "error: syntax.py is no Python: invalid syntax (syntax.py:3)\n",
    ),
    "an import of the file's": (
        ("importing.py::first", *X),
        3,
        "error: importing.py imports 'not_there_at_all', which is not installed (importing.py:2)\n"
        "  try:   install 'not_there_at_all' into this environment\n",
    ),
    "an error of the file's": (
        ("failing.py::first", *X),
        3,
        "error: failing.py cannot be imported: ZeroDivisionError: division by zero (failing.py:3)\n",
    ),
    "a module that is not there": (
        ("trnbench_kernels.nki.zzz:first", *X),
        2,
        "error: module trnbench_kernels.nki.zzz is not there\n"
        "  cause: nothing installed has it\n"
        "  try:   package.module:KERNEL, or FILE.py::KERNEL\n",
    ),
    "a package that is not there": (
        ("zzz_package.zzz:first", *X),
        2,
        "error: module zzz_package.zzz is not there\n"
        "  cause: zzz_package is not installed\n"
        "  try:   package.module:KERNEL, or FILE.py::KERNEL\n",
    ),
    "an argument too many": (
        ("kernels.py::alone", *X),
        2,
        "error: kernels.py::alone takes no arguments\n"
        "  cause: --arg x=… was given\n"
        "  try:   leave --arg out\n",
    ),
    "a reference misspelt": (
        ("kernels.py::first", *X, "--check", "zzz"),
        2,
        "error: unknown function 'zzz'\n"
        "  cause: known: numpy_first\n"
        "  try:   kernels.py::NAME with one of the above\n",
    ),
    "no array": (
        ("kernels.py::first", "--arg", "x=@kernels.py"),
        2,
        "error: --arg x: kernels.py is no array that can be read\n"
        "  cause: it is no .npy file, or holds Python objects\n"
        "  try:   numpy.save('x.npy', array)\n",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_said(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    words, code, message = WRONG[name]
    message = message.replace("{folder}", str(tmp_path))
    result = CliRunner().invoke(cli, ["nki", "run", *words, "-i", "trn2-16.48xlarge"])
    assert (result.exit_code, result.stdout, result.stderr) == (
        code,
        "",
        message,
    )
    assert {each.name for each in tmp_path.iterdir()} <= {*FILES, "__pycache__"}


@pytest.mark.parametrize("verb", sweep(["run", "check"], "run".__eq__))
def test_a_file_whose_import_does_not_end(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless.py").write_text("import nki\n\nwhile True:\n    pass\n")
    monkeypatch.chdir(tmp_path)
    words = (verb, "endless.py::first", *X, "-i", "trn2-16.48xlarge", "--timeout", "2")
    result = CliRunner().invoke(cli, ["nki", *words])
    assert (result.exit_code, result.stdout, result.stderr) == (
        124,
        "",
        "error: endless.py::first did not end within 2 s\n"
        "  cause: a loop without end, or a problem far larger than meant\n"
        "  try:   check the loop's bounds, or raise --timeout\n",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_stdout(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)
    words = ("-m", "trnbench", "nki", "run", "softmax", "-i", "trn2-16.48xlarge", "--arg", "rows=128")
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (ended.returncode, ended.stderr) == (
        2,
        "error: the result could not be written: No space left on device\n"
        "  cause: where stdout goes takes no more\n"
        "  try:   free space there, or send the output elsewhere\n",
    )


@pytest.mark.parametrize(
    ("columns", "left_out"), [(200, ""), (140, ""), (80, "how"), (60, "of the clocks' bound, source, how")]
)
def test_a_narrow_terminal_breaks_no_words(
    columns: int, left_out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("nki", "run", "softmax", "-i", "trn2-16.48xlarge", "--arg", "rows=128", "--arg", "columns=512")
    at_terminal = shown(*words, columns=columns)
    assert any("14.8 GB/s" in line for line in at_terminal.lines)
    assert at_terminal.wider_than(columns) == []
    said = f"columns not shown: {left_out}; --format wide shows them" if left_out else ""
    assert " ".join(capsys.readouterr().err.split()) == said
    wide = shown("--no-color", *words, "--format", "wide", columns=columns)
    assert wide.text == CliRunner().invoke(cli, words).stdout
