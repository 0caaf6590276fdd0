"""What commands print: each file is a folder and a store in which its lines are typed in order.

Of what is longer than `LINES` the beginning stands there, and a digest of all of it.

`TRNBENCH_TEST_RENEW=1 pytest tests/transcripts` writes the files again: read the difference before a commit.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from command import typed
from own_folder import _own_folder

import trnbench
from trnbench.digest import short_digest

__all__ = ["_own_folder"]

HERE = Path(__file__).parent
LINES = 45
_RUN = re.compile(r"\b\d{8}-\d{6}-[a-z0-9]{4}\b")
_CLOCK = re.compile(r"\b20\d\d-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\+00:00)?")


def _printed(words: str, runs: dict[str, str]) -> str:
    """What a command prints, and how it ends, without clock, ids, version and folder."""
    done = typed(*shlex.split(words), catch_exceptions=False)
    text = done.output.replace(f"{Path.cwd()}/", "").replace(trnbench.__version__, "VERSION")
    text = _RUN.sub(lambda run: runs.setdefault(run[0], f"20000101-000000-run{len(runs) + 1}"), text)
    text = _CLOCK.sub(r"2000-01-01\g<1>00:00:00\g<2>", text)
    lines = [line.rstrip() for line in text.splitlines()]
    if len(lines) > LINES:
        lines[6:] = [f"… {len(lines) - 6:,} more lines, digest {short_digest(text)}"]
    return "".join(f"{line}\n" for line in lines) + (f"[{done.exit_code}]\n" if done.exit_code else "")


@pytest.mark.parts
@pytest.mark.parametrize("file", sorted(HERE.glob("*.txt")), ids=lambda file: file.stem)
def test_commands_print_what_they_printed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("trnbench.run.progress.EVERY_S", float("inf"))  # a busy machine would say more
    shutil.copytree(HERE / "given", ".", dirs_exist_ok=True)
    text = file.read_text(encoding="utf-8")
    lines = re.findall(r"^\$ trnbench (.*)$", text, re.MULTILINE)
    runs: dict[str, str] = {}
    now = "\n".join(f"$ trnbench {words}\n{_printed(words, runs)}" for words in lines)
    if os.environ.get("TRNBENCH_TEST_RENEW"):
        file.write_text(now, encoding="utf-8")
    assert now == text
