"""A signal at any time: exit code 130, one sentence, what is done is kept, and no litter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import tiny_machine as tiny
from campaigns import sweep

from trnbench.store.store import Store

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def usual() -> None:
    """Whatever this process inherited (nohup, a background job): the program starts as from a terminal."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def program(*words: str, begin: Any = usual, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **variables},
        preexec_fn=begin,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("number", sweep(SIGNALS, signal.SIGTERM.__eq__))
def test_while_a_report_is_written(tmp_path: Path, number: signal.Signals) -> None:
    done = program(tiny.__file__, "run", TINY_MODES="half,low", TINY_PAGE_SIGNAL=str(int(number)))
    assert done.returncode == 130, done.stderr
    assert done.stderr.endswith(
        f"\ninterrupted: what was done is in {tmp_path / 'results.db'}; see it with: trnbench runs show\n"
    )
    assert "Traceback" not in done.stderr
    with Store(tmp_path / "results.db") as store:
        assert [(one.cases, one.state) for one in store.list()] == [(2, "done")]
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "results.db",
        "results.db.cache",
        "results.db.journals",
    ]


@pytest.mark.parametrize("number", SIGNALS)
def test_inside_a_case(tmp_path: Path, number: signal.Signals) -> None:
    done = program(tiny.__file__, "run", TINY_MODES="half,signal,low", TINY_SIGNAL=str(int(number)))
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    with Store(tmp_path / "results.db") as store:
        (one,) = store.list()
        assert (one.cases, one.planned, one.state) == (1, 3, "interrupted")
    assert f"\ninterrupted: 1 of 3 cases are kept as run {one.id}\n" in done.stderr
    assert f"  try:   trnbench resume {one.id}, or: trnbench runs show {one.id}" in done.stderr
    assert not (tmp_path / "trnbench-report.html").exists()


def stranger(folder: Path, entry: str = "[trnbench]\nacme = acme\n") -> str:
    """PYTHONPATH with a plugin of others on it, in which nothing is wrong, or another `entry`."""
    info = folder / "site" / "acme-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry)
    return os.pathsep.join([str(info.parent), os.environ.get("PYTHONPATH", "")])


@pytest.mark.parametrize("number", SIGNALS)
def test_a_command_that_is_watched_hears_of_it_once(tmp_path: Path, number: signal.Signals) -> None:
    modes = {"TINY_MODES": f"half,low,signal,{'nap,' * 20}half", "TINY_SIGNAL": str(int(number))}
    done = program(tiny.__file__, "run", "--no-report", **modes, PYTHONPATH=stranger(tmp_path))
    assert done.returncode == 130, done.stderr
    with Store(tmp_path / "results.db") as store:
        (one,) = store.list()
        assert (one.cases, one.state) == (2, "interrupted")
    assert f"\ninterrupted: 2 of 24 cases are kept as run {one.id}\n" in done.stderr


def begun(folder: Path, first: str) -> subprocess.Popen[str]:
    """A command of others in a group of its own, which does `first` and then waits."""
    path = stranger(folder, "[trnbench.commands]\nacme = acme:waits\n")
    (folder / "site" / "acme.py").write_text(
        f"import signal, time, click\n\n@click.command()\ndef waits():\n    {first}\n"
        "    print('begun', flush=True)\n    time.sleep(3600)\n"
    )
    command = subprocess.Popen(
        [sys.executable, "-m", "trnbench", "acme"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert command.stdout.readline() == "begun\n"  # type: ignore[union-attr]
    return command


IN_ITS_SESSION = "import os; assert os.getsid(0) == os.getsid(os.getppid())"


@pytest.mark.parametrize("first", ["pass", "signal.signal(signal.SIGTERM, signal.SIG_DFL)", IN_ITS_SESSION])
def test_a_signal_to_the_whole_group_is_an_interruption(tmp_path: Path, first: str) -> None:
    """As timeout(1) sends it: the process that watches the command is in that group too."""
    with begun(tmp_path, first) as command:
        os.killpg(command.pid, signal.SIGTERM)
        _, told = command.communicate(timeout=60)
    assert command.returncode == 130, told
    assert told.startswith("\ninterrupted")


def test_a_signal_to_the_whole_group_is_heard_once(tmp_path: Path) -> None:
    handler = "lambda *_: print('heard', flush=True)"
    with begun(tmp_path, f"signal.signal(signal.SIGTERM, {handler})") as command:
        for _ in range(2):
            os.killpg(command.pid, signal.SIGTERM)
            time.sleep(0.6)
        heard, told = command.communicate(timeout=60)
    assert (command.returncode, heard, told) == (130, "heard\n" * 2, "\ninterrupted\n")


def test_a_command_of_others_that_is_deaf_ends_at_the_second_signal(tmp_path: Path) -> None:
    with begun(tmp_path, "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})") as command:
        command.terminate()
        time.sleep(0.5)  # two at once are one
        command.terminate()
        _, told = command.communicate(timeout=60)
    assert (command.returncode, told) == (130, "\ninterrupted\n")


def test_keys_of_a_terminal_reach_a_command_that_is_watched_once(tmp_path: Path) -> None:
    import pty

    path = stranger(tmp_path)
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(PYTHONPATH=path, TINY_MODES=f"half,{'nap,' * 600}half")
        os.execv(sys.executable, [sys.executable, tiny.__file__, "run", "--no-report", "--jobs", "1"])
    seen, asked = b"", False
    while True:
        try:
            seen += os.read(terminal, 1 << 16)
        except OSError:  # nobody has the other end any more
            break
        if not asked and b"3/602" in seen:
            asked = bool(os.write(terminal, b"\x03"))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130, seen
    assert b"cases are kept as run" in seen


def test_a_hangup_that_is_ignored_ends_nothing(tmp_path: Path) -> None:
    def nohup() -> None:
        usual()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    modes = {"TINY_MODES": "half,signal,low", "TINY_SIGNAL": str(int(signal.SIGHUP))}
    done = program(tiny.__file__, "run", "--no-report", begin=nohup, **modes)
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
    done = program("-c", START.format(module=module, number=int(number)))
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr in ("\ninterrupted\n", "\ninterrupted: this command had saved nothing yet\n")


@pytest.mark.parametrize(
    ("script", "out", "err"),
    [
        (
            """
            def command():
                try: os.kill(os.getpid(), signal.SIGINT)
                except KeyboardInterrupt: os.kill(os.getpid(), signal.SIGTERM)
            """,
            "",
            "\ninterrupted\n",
        ),
        (
            """
            atexit.register(lambda: os.kill(os.getpid(), signal.SIGTERM))
            def command():
                print('data')
                sys.exit(0)
            """,
            "data\n",
            "",
        ),
    ],
    ids=["a second signal while the first is told", "a signal after the outcome"],
)
def test_a_late_signal_leaves_no_traceback_and_loses_no_output(script: str, out: str, err: str) -> None:
    head = "import atexit, os, signal, sys\nfrom trnbench.isolation.guard import guarded\n"
    done = program("-c", f"{head}{dedent(script)}\nguarded(command)\n")
    assert (done.returncode, done.stdout, done.stderr) == (130, out, err)


SWALLOWED = """
import os, signal, time, weakref
from trnbench.isolation.guard import guarded

class Tile:
    pass

class Finalised:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

def finaliser():
    Finalised()

def callback():
    tile = Tile()
    seen = weakref.ref(tile, lambda _: os.kill(os.getpid(), signal.SIGINT))
    del tile

def conversion():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        pass  # as C code does
    raise ImportError("a library could not be imported")

def command():
    {how}()
    time.sleep(30)
    print("data")

guarded(command)
"""


@pytest.mark.parametrize("how", ["finaliser", "callback", "conversion"])
def test_a_signal_that_a_library_swallows_ends_the_command(how: str) -> None:
    done = program("-c", SWALLOWED.format(how=how))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\ninterrupted\n")


IMPORTING = """
import os, signal, sys

class Arriving:
    '''A signal while NumPy is imported, which makes an error of its own of it.'''

    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                pass
            raise ImportError("numpy.core failed to import")
        return None

sys.meta_path.insert(0, Arriving())
sys.argv = ["trnbench", *{words}]
from trnbench.program import main
main()
"""


@pytest.mark.parts
@pytest.mark.parametrize(
    "words", ["fabric run all_reduce -i trn1.32xlarge -b 1M", "nki run gemm -i trn1.32xlarge"]
)
def test_an_import_that_a_signal_breaks_is_an_interruption(words: str) -> None:
    done = program("-c", IMPORTING.format(words=words.split()))
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "\ninterrupted: this command had saved nothing yet\n"


def test_the_installed_command_is_guarded(root: Path) -> None:
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"trnbench": "trnbench.program:main"}
