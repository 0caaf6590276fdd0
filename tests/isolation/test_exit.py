"""A command that ends at once loses nothing, and where others' code was loaded Python ends it as usual."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = (
    "import atexit, sys\n"
    "from trnbench.isolation.exit import others_loaded\n"
    "from trnbench.program import guarded\n"
)

TAKEN_APART = (
    "class Late:\n"
    "    def __del__(self): sys.stderr.write('taken apart')\n"
    "class Holder: pass\n"
    "held = Holder(); held.itself = held; held.late = Late()\n"
)


def ended(script: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BEGIN + script], text=True, capture_output=not more, check=False, **more
    )  # type: ignore[call-overload]


def test_what_is_written_and_registered_comes_out_with_the_code() -> None:
    done = ended(
        "def command():\n"
        "    atexit.register(print, 'and last', end='')\n"
        "    print('no line', end=' ')\n"
        "    print('a warning', end='', file=sys.stderr)\n"
        "    sys.exit(3)\n"
        "guarded(command)"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "no line and last", "a warning")


@pytest.mark.parametrize(
    ("came", "said"),
    [("", ""), ("others_loaded('acme')\n", "taken apart"), ("import numpy\n", "taken apart")],
)
def test_only_where_nobody_else_was_loaded_nothing_is_taken_apart(came: str, said: str) -> None:
    done = ended(f"{TAKEN_APART}{came}guarded(lambda: None)")
    assert (done.returncode, done.stderr) == (0, said)


def test_a_file_that_a_plugin_never_closed_is_written(tmp_path: Path) -> None:
    (tmp_path / "acme_log.py").write_text(f"log = open({str(tmp_path / 'log')!r}, 'w')\nlog.write('kept')\n")
    done = ended(
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from trnbench.registry.entry_points import EntryPoint\n"
        "entry = EntryPoint('trnbench', 'acme', 'acme_log:log', 'acme', '1.0')\n"
        "guarded(entry.load)"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "log").read_text() == "kept"


def test_a_thread_ends_first() -> None:
    done = ended(
        "import threading, time\n"
        "def late():\n"
        "    time.sleep(0.05)\n"
        "    print('from the thread')\n"
        "guarded(lambda: threading.Thread(target=late).start())"
    )
    assert (done.returncode, done.stdout) == (0, "from the thread\n")


def test_output_that_nobody_takes_is_no_success() -> None:
    with open("/dev/full", "w") as full:
        done = ended("guarded(lambda: print('lost'))", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 120  # Python's own code for it
    assert "No space left on device" in done.stderr
