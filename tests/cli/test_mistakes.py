"""What a person may mistype: for each command in `mistakes/` its one message, its exit code, and no file.

`KERNELS` stands for the folder `tests/emulator/commands/nki_kernels`.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from command import refusal, typed
from messages import messages

HERE = Path(__file__).parent


@pytest.mark.parts
@pytest.mark.parametrize(("words", "message", "code"), messages(*sorted((HERE / "mistakes").iterdir())))
def test_one_message_and_a_code(
    words: str, message: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.py").write_text("def k(a):\n    return a\n")
    (tmp_path / "notes.html").write_text("precious")
    monkeypatch.delenv("TRNBENCH_STORE")
    kernels = str(HERE.parent / "emulator" / "commands" / "nki_kernels")
    line = shlex.split(words.removeprefix("trnbench ").replace("KERNELS", kernels))
    assert refusal(typed(*line, catch_exceptions=False), code) == message.replace("KERNELS", kernels) + "\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["k.py", "notes.html"]
    assert (tmp_path / "notes.html").read_text() == "precious"
