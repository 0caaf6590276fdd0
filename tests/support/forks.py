"""The other end of `forked.py`: commands in forked processes, asked for from a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import forked


class Answer(NamedTuple):
    """What became of a command; as `forked.py` says."""

    code: int
    stdout: str
    stderr: str
    cpu_s: float
    wall_s: float
    peak_bytes: int
    recorded: int
    late: bool
    left: int


class Forks:
    """A process that carries out commands in forked ones. Use as a context manager."""

    def __enter__(self) -> Forks:
        self._process = subprocess.Popen(
            [sys.executable, forked.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=60)

    def __call__(self, folder: Path, *words: str, **more: Any) -> Answer:
        """`trnbench WORDS…` in `folder`, with the store `r.db` there."""
        env = {"TRNBENCH_STORE": str(folder / "r.db"), **more.pop("env", {})}
        request = {"words": words, "folder": str(folder), "env": env, **more}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Answer(**json.loads(self._process.stdout.readline()))
