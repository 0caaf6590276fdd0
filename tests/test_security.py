"""SECURITY.md: each promise names tests that there are; and those that stand nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import tiny_machine as tiny

import trnbench

_FILE = re.compile(r"\[`(\w+\.py)`\]\(\.\./(tests/[\w/]+\.py)\)")
_PROMISED = re.compile(r"^Data are another|^- \*\*|^`trnbench\.bench|^Plugins of others are loaded")
NOBODY = 65534


def promises(root: Path) -> dict[str, list[tuple[str, str]]]:
    """Of each promise, by its beginning, the tests that it names: file and function."""
    text = (root / ".github" / "SECURITY.md").read_text()
    found = {}
    for part in re.split(r"\n\n|\n(?=- )", text):
        if _PROMISED.match(part):
            pieces = _FILE.split(part)
            found[part[:40]] = [
                (path, test)
                for path, rest in zip(pieces[2::3], pieces[3::3], strict=True)
                for test in re.findall(r"`(test_\w+)`", rest)
            ]
    return found


def test_each_promise_names_tests_that_there_are(root: Path) -> None:
    found = promises(root)
    assert len(found) >= 11
    for promise, tests in found.items():
        assert tests, f"no test stands for: {promise}…"
        for path, test in tests:
            assert f"\ndef {test}(" in (root / path).read_text(), (promise, path, test)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_reads_neither_store_nor_journals_nor_cache() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        registry = tiny.registry("half")
        trnbench.bench(store=folder / "r.db", registry=registry)
        files = [each for each in folder.rglob("*") if each.is_file()]
        assert {each.suffix for each in files} >= {".db", ".journal"}
        try_each = (
            "import os, sys\n"
            f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
            "os.listdir(sys.argv[1])\n"
            "for path in sys.argv[2:]:\n"
            "    try: open(path, 'rb')\n"
            "    except PermissionError: print('refused')\n"
        )
        command = [sys.executable, "-c", try_each, name, *map(str, files)]
        tried = subprocess.run(command, capture_output=True, text=True, cwd="/")
        assert tried.stdout.split() == ["refused"] * len(files), tried.stderr


def test_bench_with_isolate_outlives_a_case_that_ends_its_process() -> None:
    run = trnbench.bench(isolate=True, registry=tiny.registry("die", "half"))
    assert tiny.endings(run) == ["failed crash", "ok"]
