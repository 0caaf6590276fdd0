"""Whatever names no kernel: what it is instead, with file and line, and what there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from at_terminal import shown
from campaigns import sweep
from command import refusal, typed
from messages import messages

KERNELS = (Path(__file__).parent / "nki_kernels" / "several.txt").read_text()
FILES = {
    "kernels.py": KERNELS,
    "empty.py": "",
    "binary.py": "\x00\x01",
    "syntax.py": "import nki\n\ndef broken(:\n    pass\n",
    "importing.py": "import nki\nimport not_there_at_all as host\ndef first(x):\n    return host.go(x)\n",
    "failing.py": "import nki\n\nHALF = 1 / 0\n",
    "halved.py": "import nki\ndef kernel(x):\n    return x +\n",
    "old.py": "import neuronxcc.nki.kernels as old\ndef kernel(x):\n    return old.softmax(x)\n",
}


@pytest.mark.parametrize(("words", "message", "code"), messages(Path(__file__).with_name("no_kernel.txt")))
def test_what_is_said(words: str, message: str, code: int, tmp_path: Path, monkeypatch: Any) -> None:
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    said = refusal(typed(*words.split()[1:]), code)
    assert said == message.replace("FOLDER", str(tmp_path)) + "\n"
    assert {each.name for each in tmp_path.iterdir()} <= {*FILES, "__pycache__"}


@pytest.mark.parametrize("verb", sweep(["run", "check"], "run".__eq__))
def test_a_file_whose_import_does_not_end(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless.py").write_text("import nki\n\nwhile True:\n    pass\n")
    monkeypatch.chdir(tmp_path)
    words = ("endless.py::first", "--arg", "x=128x64:bf16", "-i", "trn2-16.48xlarge", "--seconds", "2")
    assert refusal(typed("nki", verb, *words), 124) == (
        "error: endless.py::first did not end within 2 s\n"
        "  cause: a loop without end, or a problem far larger than meant\n"
        "  try:   check the loop's bounds, or raise --seconds\n"
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
def test_a_narrow_terminal_breaks_no_words(columns: int, left_out: str, capsys: Any) -> None:
    words = ("nki", "run", "softmax", "-i", "trn2-16.48xlarge", "--arg", "rows=128", "--arg", "columns=512")
    at_terminal = shown(*words, columns=columns)
    assert any("14.8 GB/s" in line for line in at_terminal.lines)
    assert at_terminal.wider_than(columns) == []
    said = f"columns not shown: {left_out}; --format wide shows them" if left_out else ""
    assert " ".join(capsys.readouterr().err.split()) == said
    wide = shown("--no-color", *words, "--format", "wide", columns=columns)
    assert wide.text == typed(*words).stdout
