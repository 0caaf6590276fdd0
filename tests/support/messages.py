"""Files of what a person may type and the message it meets.

`$ ` stands before what is typed; the message follows it, and `[3]` where the exit code is other than 2.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

_TYPED = re.compile(r"\$ (?P<words>.*)\n(?P<message>(?:(?!\[\d|\n).*\n)+)(?:\[(?P<code>\d+)\]\n)?")


def messages(*files: Path) -> list[Any]:
    """Parameters: what is typed, the whole message without its last line end, the exit code."""
    rows = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        matches = list(_TYPED.finditer(text))
        assert len(matches) == len(re.findall(r"^\$ ", text, re.MULTILINE)), f"{file}: a message is not read"
        rows += [
            pytest.param(each["words"], each["message"].removesuffix("\n"), int(each["code"] or 2),
                         id=each["words"])
            for each in matches
        ]  # fmt: skip
    return rows


def pairs(file: Path) -> list[tuple[str, str]]:
    """Rows of a file `what is given => what comes of it`; a line that begins with # is a remark."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [(left, right) for left, _, right in (line.partition(" => ") for line in lines if line[:1] != "#")]
