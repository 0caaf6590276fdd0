"""A child process: its answer, its end, and what a signal makes of both."""

from __future__ import annotations

import builtins
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy
import pytest
from killed import alive

from trnbench.isolation import child, interrupt, keeper
from trnbench.isolation.child import Lost, Overdue, carried_out
from trnbench.isolation.interrupt import CaseTimeout, limited
from trnbench.isolation.surroundings import Misbehaved, held

Send = Callable[[str, Any], None]


def test_the_result_and_the_words_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    said = []

    def work(send: Send) -> tuple[int, bool]:
        print("data")
        print("words", file=sys.stderr)
        send("kept", "something")
        return os.getpid(), os.getsid(0) == os.getpid()

    pid, alone = carried_out(work, {"kept": said.append})
    assert pid != os.getpid()
    assert alone
    assert said == ["something"]
    assert capsys.readouterr() == ("data\n", "words\n")


@pytest.mark.parametrize(
    ("end", "code", "how"),
    [
        (lambda: os._exit(0), 0, "ended itself with exit code 0"),
        (lambda: os._exit(5), 5, "ended itself with exit code 5"),
        (lambda: os.kill(os.getpid(), signal.SIGUSR1), -10, "was killed by SIGUSR1"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), -9, "was killed by SIGKILL"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), -15, "was killed by SIGTERM"),
        (lambda: os.closerange(3, 1000), 1, "ended itself with exit code 1"),
    ],
)
def test_an_end_without_a_result_is_told(end: Callable[[], None], code: int, how: str) -> None:
    with pytest.raises(Lost) as caught:
        carried_out(lambda _: end())
    assert (caught.value.code, caught.value.how) == (code, how)


@pytest.mark.parametrize("deaf", [False, True])
def test_a_limit_inside_is_enforced_from_outside_as_well(deaf: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "GRACE_S", 0.2)

    def work(_: Send) -> str:
        if deaf:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        try:
            with limited(0.1):
                time.sleep(3600)
        except CaseTimeout:
            return "rang"
        return "slept"

    if not deaf:
        assert carried_out(work) == "rang"
        return
    with pytest.raises(Overdue) as caught:
        carried_out(work)
    assert caught.value.seconds == 0.1


@pytest.mark.parametrize("how", ["returns", "dies", "hangs"])
def test_nothing_that_it_started_is_left(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "GRACE_S", 0.2)

    def work(_: Send) -> None:
        for session in (False, True):
            process = subprocess.Popen(["sleep", "3600"], start_new_session=session)
            (tmp_path / str(process.pid)).touch()
        if how == "dies":
            os._exit(0)
        if how == "hangs":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            with limited(0.1):
                time.sleep(3600)

    ends = {"dies": pytest.raises(Lost), "hangs": pytest.raises(Overdue), "returns": nullcontext()}
    with ends[how]:
        carried_out(work)
    started = [int(each.name) for each in tmp_path.iterdir()]
    assert len(started) == 2
    assert not any(map(alive, started))


def test_processes_of_the_program_itself_are_left_alone() -> None:
    with subprocess.Popen(["sleep", "3600"]) as own:
        assert carried_out(lambda _: 1) == 1
        assert own.poll() is None
        own.kill()


def test_a_signal_without_a_name_is_told() -> None:
    assert Lost(-40).how == "was killed by signal 40"


def test_it_reads_nothing_and_has_the_terminals_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert carried_out(lambda _: (os.read(0, 10), os.environ["COLUMNS"])) == (b"", "77")


def test_the_limit_that_ends_first_counts() -> None:
    with pytest.raises(CaseTimeout), limited(0.1), limited(3600.0):
        time.sleep(3600)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    rang = []
    with suppress(CaseTimeout), limited(0.2):
        with suppress(CaseTimeout), limited(0.05):
            time.sleep(3600)
        rang.append("inner")
        time.sleep(3600)
        rang.append("never")
    assert rang == ["inner"]
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_outside_the_main_thread_there_is_no_alarm() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(interrupt.can_limit()))
    thread.start()
    thread.join()
    assert found == [False]
    assert interrupt.can_limit()


@pytest.mark.parametrize(
    ("words", "told"),
    [("sys.setrecursionlimit(300)", "the recursion limit"), ("sys.setrecursionlimit(9000)", ""),
     ("resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))", "the limits of resources"),
     ("resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); sys.path.append('there')", ""),
     ("sys.path.pop()", "the path of modules"), ("builtins.mine = 1", "the builtins"),
     ("numpy.random.random()", "the state of the random generators"),
     ("sys.stdin = None", "the standard streams"), ("os.close(0)", "the standard streams"),
     ("random.random(); os.umask(0)", "the umask and the state of the random generators")],
)  # fmt: skip
def test_what_code_of_others_changes_is_named_and_put_back(words: str, told: str) -> None:
    names = {"hard": resource.getrlimit(resource.RLIMIT_NOFILE)[1], "numpy": numpy, "random": random}
    names |= {"builtins": builtins, "os": os, "resource": resource, "sys": sys}

    def said(words: str) -> str:
        try:
            with held():
                exec(words, names)
        except Misbehaved as error:
            return error.what
        return ""

    expected = f"changes {told} of the whole process" if told else ""
    assert carried_out(lambda _: (said(words), said("pass"))) == (expected, "")


def test_a_first_signal_waits_for_work_that_may_be_cut_short_and_a_second_does_not() -> None:
    with interrupt.Interruption() as interruption:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(interrupt.Interrupted), interruption.allowed():
            pytest.fail("work began")
        with pytest.raises(interrupt.Interrupted):
            signal.raise_signal(signal.SIGTERM)


# A command that ends at once loses nothing, and where others' code was loaded Python ends it as usual.


BEGIN = (
    "import atexit, sys\n"
    "from trnbench.isolation.guard import others_loaded\n"
    "from trnbench.isolation.guard import guarded\n"
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
        "from trnbench.distribution import EntryPoint\n"
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


def test_a_keeper_that_its_own_signal_does_not_end_has_the_code_of_a_shell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of the first process of a container, which the system sends no such signal."""
    pid = os.fork()
    if not pid:
        monkeypatch.setattr(os, "kill", lambda process, number: None)
        keeper._end_as(-signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + signal.SIGKILL
