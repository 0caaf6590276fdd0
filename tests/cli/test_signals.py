"""A signal at any time: exit code 130, one sentence, what is done is kept, and no litter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_machine as tiny
from campaigns import sweep

from trnbench.store.store import Store

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def usual() -> None:
    """Whatever this process inherited (nohup, a background job): the program starts as from a terminal."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def started(
    tmp_path: Path, *words: str, begin: object = usual, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, tiny.__file__, *words],
        cwd=tmp_path,
        env={**os.environ, "TRNBENCH_STORE": str(tmp_path / "r.db"), **variables},
        preexec_fn=begin,  # type: ignore[arg-type]
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("number", sweep(SIGNALS, signal.SIGTERM.__eq__))
def test_while_a_report_is_written(tmp_path: Path, number: signal.Signals) -> None:
    done = started(tmp_path, "run", TINY_MODES="half,low", TINY_PAGE_SIGNAL=str(int(number)))
    assert done.returncode == 130, done.stderr
    assert done.stderr.endswith(
        f"\ninterrupted: what was done is in {tmp_path / 'r.db'}; see it with: trnbench runs show\n"
    )
    assert "Traceback" not in done.stderr
    with Store(tmp_path / "r.db") as store:
        assert [(one.cases, one.state) for one in store.list()] == [(2, "done")]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["r.db", "r.db.cache", "r.db.journals"]


@pytest.mark.parametrize("number", SIGNALS)
def test_inside_a_case(tmp_path: Path, number: signal.Signals) -> None:
    done = started(tmp_path, "run", TINY_MODES="half,signal,low", TINY_SIGNAL=str(int(number)))
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    with Store(tmp_path / "r.db") as store:
        (one,) = store.list()
        assert (one.cases, one.planned, one.state) == (1, 3, "interrupted")
    assert f"\ninterrupted: 1 of 3 cases are kept as run {one.id}\n" in done.stderr
    assert not (tmp_path / "trnbench-report.html").exists()


def test_a_hangup_that_is_ignored_ends_nothing(tmp_path: Path) -> None:
    def nohup() -> None:
        usual()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    modes = {"TINY_MODES": "half,signal,low", "TINY_SIGNAL": str(int(signal.SIGHUP))}
    done = started(tmp_path, "run", "--no-report", begin=nohup, **modes)
    assert done.returncode == 0, done.stderr


START = """
import os, signal, sys

class Arriving:
    '''A signal while modules are loaded: at the first one that the command needs.'''

    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number})
        return None

sys.meta_path.insert(0, Arriving())
sys.argv = ["trnbench", "list", "kernels"]
from trnbench.program import main
main()
"""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "module", sweep(["click", "trnbench.cli.list", "trnbench.registry.hookspecs"], "click".__eq__)
)
def test_while_the_program_starts(number: signal.Signals, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START.format(module=module, number=int(number))],
        preexec_fn=usual,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr in ("\ninterrupted\n", "\ninterrupted: this command had saved nothing yet\n")


def test_a_second_signal_while_it_is_told_leaves_no_traceback() -> None:
    script = (
        "import os, signal, sys\n"
        "from trnbench.program import guarded\n"
        "def command():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    except KeyboardInterrupt:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "guarded(command)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], preexec_fn=usual, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\ninterrupted\n")


def test_a_signal_after_the_outcome_does_not_lose_output() -> None:
    script = (
        "import atexit, os, signal, sys\n"
        "from trnbench.program import guarded\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
        "def command():\n"
        "    print('data')\n"
        "    sys.exit(0)\n"
        "guarded(command)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], preexec_fn=usual, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "data\n", "")


def test_the_installed_command_is_guarded(root: Path) -> None:
    import tomllib

    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"trnbench": "trnbench.program:main"}
