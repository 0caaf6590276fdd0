"""Candidates that end badly, or never: each with the kind of error that answers it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from random import Random

HEAD = "import ctypes, os, signal, sys, threading, time\n"
END = "\ndef f():\n    pass\n"

_ROWS = tomllib.loads(Path(__file__).with_name("hostile_candidates.toml").read_text(encoding="utf-8"))
HOSTILE: dict[str, tuple[str, tuple[str, ...]]] = {
    name: (row["text"].replace("DEEP", "(" * 5000 + ")" * 5000), tuple(row["kinds"]))
    for name, row in _ROWS.items()
}
"""Name → the program's text, and the kinds that an answer may have."""


def text_of(name: str, number: int) -> str:
    """A candidate's text, different for each number."""
    text = HOSTILE[name][0].replace("{n}", str(number))
    end = "" if "def f" in text else END
    return f"{HEAD}# {number}\n{text}\n{end}"


def drawn(count: int, seed: int) -> Iterator[str]:
    """Names, those that take their whole limit less often."""
    random = Random(seed)
    names = sorted(HOSTILE)
    weights = [1 if "time" in HOSTILE[name][1] else 4 for name in names]
    return iter(random.choices(names, weights, k=count))
