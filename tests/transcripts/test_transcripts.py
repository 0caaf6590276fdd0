"""What commands print: each file is a folder and a store in which its lines are typed in order.

Of what is longer than `LINES` the beginning stands there, and a digest of all of it. A line that begins with
`COLUMNS=60` is typed on a terminal so wide, and what it prints is shown without colours.

`TRNBENCH_TEST_RENEW=1 pytest tests/transcripts` writes the files again: read the difference before a commit.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click import unstyle
from command import typed
from own_folder import _own_folder

import trnbench
from trnbench.digest import short_digest
from trnbench.run.progress import lines as lines_of_progress

__all__ = ["_own_folder"]

HERE = Path(__file__).parent
LINES = 45
_RUN = re.compile(r"\b\d{8}-\d{6}-[a-z0-9]{4}\b")
_CLOCK = re.compile(r"\b20\d\d-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\+00:00)?")


def _printed(columns: str, words: str, runs: dict[str, str]) -> str:
    """What a command prints, and how it ends, without clock, ids, version and folder."""
    coloured = ("--color",) if columns else ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", columns or "120")
        done = typed(*coloured, *shlex.split(words), catch_exceptions=False)
    text = unstyle(done.output).replace(f"{Path.cwd()}/", "").replace(trnbench.__version__, "VERSION")
    text = _RUN.sub(lambda run: runs.setdefault(run[0], f"20000101-000000-run{len(runs) + 1}"), text)
    text = _CLOCK.sub(r"2000-01-01\g<1>00:00:00\g<2>", text)
    lines = [line.rstrip() for line in text.splitlines()]
    if len(lines) > LINES:
        lines[6:] = [f"… {len(lines) - 6:,} more lines, digest {short_digest(text)}"]
    return "".join(f"{line}\n" for line in lines) + (f"[{done.exit_code}]\n" if done.exit_code else "")


@pytest.mark.parts
@pytest.mark.parametrize("file", sorted(HERE.glob("*.txt")), ids=lambda file: file.stem)
def test_commands_print_what_they_printed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renews = os.environ.get("TRNBENCH_TEST_RENEW")
    monkeypatch.delenv("TRNBENCH_TEST_RENEW", raising=False)  # `config show` would warn of it
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})  # of the machine they were made on
    monkeypatch.setattr("trnbench.run.progress.EVERY_S", float("inf"))  # a busy machine would say more
    monkeypatch.setattr("trnbench.run.progress.bar", lines_of_progress)
    shutil.copytree(HERE / "given", ".", dirs_exist_ok=True)
    text = file.read_text(encoding="utf-8")
    lines = re.findall(r"^\$ (?:COLUMNS=(\d+) )?trnbench (.*)$", text, re.MULTILINE)
    runs: dict[str, str] = {}
    now = "\n".join(
        f"$ {f'COLUMNS={columns} ' * bool(columns)}trnbench {words}\n{_printed(columns, words, runs)}"
        for columns, words in lines
    )
    if renews:
        file.write_text(now, encoding="utf-8")
    assert now == text
