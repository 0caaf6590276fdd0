"""What a person may mistype: for each command in `mistakes/` its one message, its exit code, and no file.

A file holds commands as they are typed and what they print; `[3]` is an exit code other than 2. `KERNELS`
stands for the folder `tests/emulator/commands/nki_kernels`.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from trnbench.cli.main import cli

HERE = Path(__file__).parent
KERNEL = "def k(a):\n    return a\n"
TYPED = re.compile(r"\$ trnbench (?P<words>.*)\n(?P<message>(?:(?!\[|\n).*\n)+)(?:\[(?P<code>\d+)\]\n)?")
MISTAKES = [
    pytest.param(found["words"], found["message"], int(found["code"] or 2), id=found["words"])
    for file in sorted((HERE / "mistakes").iterdir())
    for found in TYPED.finditer(file.read_text(encoding="utf-8"))
]


@pytest.mark.parts
@pytest.mark.parametrize(("words", "message", "code"), MISTAKES)
def test_one_message_and_a_code(
    words: str, message: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    kernels = str(HERE.parent / "emulator" / "commands" / "nki_kernels")
    typed = shlex.split(words.replace("KERNELS", kernels))
    result = CliRunner().invoke(cli, typed, catch_exceptions=False, prog_name="trnbench")
    assert (result.stderr, result.stdout) == (message.replace("KERNELS", kernels), "")
    assert result.exit_code == code
    assert [each.name for each in tmp_path.iterdir()] == ["k.py"]


def test_every_command_of_the_files_is_read() -> None:
    files = (HERE / "mistakes").iterdir()
    assert len(MISTAKES) == sum(file.read_text(encoding="utf-8").count("$ trnbench ") for file in files)
