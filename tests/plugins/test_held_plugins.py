"""What all code of a process shares is, after a plugin was imported and asked, what it was before."""

from __future__ import annotations

import builtins
import locale
import os
import random
import signal
import subprocess
import sys
from typing import Any

import pytest
from plugin_parts import KERNEL, Install, Trnbench

import trnbench
from trnbench.distribution import NO_EXTERNAL
from trnbench.isolation import surroundings
from trnbench.registry import Registry, load_registry

HOOK = """
    import trnbench

    AT_IMPORT

    @trnbench.hookimpl
    def trnbench_reports():
        yield trnbench.Section(name="one", title="One", order=99, render="nowhere:render")
        IN_HOOK
        yield trnbench.Section(name="two", title="Two", order=99, render="nowhere:render")
"""

# Part → what changes it.
CHANGES = {
    "the working folder": "import os; os.chdir('/')",
    "the umask": "import os; os.umask(0o017)",
    "the locale": "import locale; locale.setlocale(locale.LC_ALL, 'C.UTF-8' if not locale.setlocale("
    "locale.LC_ALL).startswith('C.UTF') else 'C')",
    "the handlers of signals": "import signal; signal.signal(signal.SIGUSR1, lambda *_: None)",
    "the blocked signals": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])",
    "the state of the random generators": "import random; random.random()",
    "the standard streams": "import os; os.close(1)",
    "the builtins": "import builtins; builtins.sorted = None",
}

PLACES = pytest.mark.parametrize(
    ("place", "when"), [("at_import", "when it is imported"), ("in_hook", "in trnbench_reports")]
)
ENDS = {"os._exit(0)": "import os; os._exit(0)", "os._exit(7)": "import os; os._exit(7)"}


def shared_state() -> tuple[object, ...]:
    mask = os.umask(0o077)
    os.umask(mask)
    descriptors = tuple((os.fstat(number).st_dev, os.fstat(number).st_ino) for number in (1, 2))
    return (
        os.getcwd(),
        mask,
        locale.setlocale(locale.LC_ALL),
        signal.getsignal(signal.SIGUSR1),
        signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        random.getstate(),
        descriptors,
        sys.stdout,
        sys.stderr.closed,
        dict(vars(builtins)),
    )


def asked(install: Install, at_import: str = "", in_hook: str = "") -> tuple[list[str], list[str]]:
    """Names of the sections that are kept, and what is said of the plugin."""
    install("bad", HOOK.replace("AT_IMPORT", at_import).replace("IN_HOOK", in_hook))
    registry = load_registry()
    kept = [each.name for each in registry.sections if each.name in ("one", "two")]
    return kept, [str(each) for each in registry.problems if each.plugin == "bad"]


@pytest.mark.parametrize("part", CHANGES)
@PLACES
def test_a_change_is_put_back_and_the_plugin_left_out(part: str, place: str, when: str, install: Any) -> None:
    random.seed(1)
    before = shared_state()
    kept, told = asked(install, **{place: CHANGES[part]})
    assert shared_state() == before
    assert kept == []
    assert told == [
        f"plugin 'bad' of bad 1.0 changes {part} of the whole process {when}; it is left out\n"
        "  cause: what all code shares is not a plugin's to change; it was put back\n"
        "  try:   report it to whoever wrote bad; without it: --no-plugin bad"
    ]


@pytest.mark.parametrize("stream", ["sys.stdout", "sys.stderr"])
@pytest.mark.parametrize("change", ["{} = open('/dev/null', 'w')", "{}.close()"])
def test_streams_are_those_of_before(stream: str, change: str, install: Install, trnbench: Trnbench) -> None:
    install("bad", HOOK.replace("AT_IMPORT", f"import sys; {change.format(stream)}").replace("IN_HOOK", ""))
    done = trnbench("list", "formats", "--format", "csv")
    assert done.returncode == 0
    assert done.stdout.startswith("format,suffix,title\n")
    if (stream, change) == ("sys.stdout", "{}.close()"):
        assert done.stderr == ""  # it closed what stood in place of standard output while it was imported
    else:
        assert "plugin 'bad' of bad 1.0 changes the standard streams of the whole process" in done.stderr


def test_several_changes_are_told_together(install: Install) -> None:
    _, told = asked(install, "import os; os.chdir('/'); os.umask(0o017)")
    assert told[0].startswith(
        "plugin 'bad' of bad 1.0 changes the working folder and the umask of the whole process when it is"
    )


@pytest.mark.parametrize("call", ENDS)
@PLACES
def test_an_end_of_the_process_is_an_error(call: str, place: str, when: str, install: Install) -> None:
    kept, told = asked(install, **{place: ENDS[call]})
    assert kept == []
    assert told == [
        f"plugin 'bad' of bad 1.0 ends the process: {call} {when}; it is left out\n"
        "  cause: it does not say what is wrong by an exception\n"
        "  try:   report it to whoever wrote bad; without it: --no-plugin bad"
    ]


@pytest.mark.parts
def test_our_own_leave_a_process_as_it_is() -> None:
    script = (
        "from trnbench.isolation.surroundings import Surroundings\n"
        "from trnbench.registry import load_registry\n"
        "before = Surroundings()\n"
        "assert len(load_registry().collect()) > 100\n"
        "assert before.put_back() == ()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, NO_EXTERNAL: "1"})


def test_a_process_that_a_plugin_forks_may_end() -> None:
    class Forks:
        @trnbench.hookimpl
        def trnbench_reports(self):  # type: ignore[no-untyped-def]
            from os import _exit

            if (pid := os.fork()) == 0:
                _exit(5)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
            yield trnbench.Section(name="forks", title="Forks", order=1, render="nowhere:render")

    registry = Registry.of(forks=Forks())
    assert ([each.name for each in registry.sections], registry.problems) == (["forks"], ())


@PLACES
def test_a_plugin_that_hangs_is_named(place: str, when: str, install: Install, monkeypatch: Any) -> None:
    monkeypatch.setattr(surroundings, "LIMIT_S", 0.2)
    kept, told = asked(install, **{place: "import time; time.sleep(3600)"})
    assert kept == []
    assert told == [
        f"plugin 'bad' of bad 1.0 does not end within 0.2 s {when}; it is left out\n"
        "  cause: it waits for something, or computes before it is asked to\n"
        "  try:   report it to whoever wrote bad; without it: --no-plugin bad"
    ]


def test_a_keyboard_interrupt_of_a_plugin_is_not_the_users(install: Install, trnbench: Trnbench) -> None:
    install("bad", "raise KeyboardInterrupt")
    done = trnbench("list", "formats")
    assert done.returncode == 0
    assert "warning: plugin 'bad' of bad 1.0 cannot be imported: bad (trnbench plugin list)\n" in done.stderr


DEATHS = {
    "import ctypes; ctypes.CDLL(None).exit(0)": "ended itself with exit code 0",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "was killed by SIGKILL",
}


@pytest.mark.parametrize("command", [("plugin", "list"), ("doctor",)], ids=" ".join)
@pytest.mark.parametrize("death", DEATHS)
def test_the_culprit_that_ends_every_command_is_found(
    death: str, command: tuple[str, ...], install: Install, trnbench: Trnbench
) -> None:
    install("bad", death)
    done = trnbench(*command)
    assert done.returncode == (1 if command == ("doctor",) else 0), done.stderr
    assert f"plugin 'bad' of bad 1.0 ends the process that loads it: it {DEATHS[death]}" in done.stdout
    assert "importing bad, or one of its hooks, does so without an exception" in done.stdout
    assert "reinstall or remove bad, or leave it out everywhere: --no-plugin bad" in done.stdout


def test_the_check_of_a_plugin_that_ends_the_process_blames_the_plugin(
    install: Install, trnbench: Trnbench
) -> None:
    install("bad", "import os; os._exit(0)", plugins={"bad": "bad"}, commands={"frob": "bad:frob"})
    done = trnbench("plugin", "check", "bad", "--only", "loading")
    assert (done.returncode, done.stdout.count("os._exit(0)")) == (1, 1), done.stderr
    assert "plugin 'bad' of bad 1.0 ends the process: os._exit(0) when it is imported" in done.stdout


@pytest.mark.parts
def test_a_plugin_that_is_left_out_is_not_suspected(install: Install, trnbench: Trnbench) -> None:
    body = "yield kernel('k', requires=lambda _: __import__('os')._exit(0))"
    install("bad", f"{KERNEL}\n    @trnbench.hookimpl\n    def trnbench_kernels():\n        {body}\n")
    install("good", HOOK.replace("AT_IMPORT", "").replace("IN_HOOK", ""))
    done = trnbench("--no-plugin", "good", "run", "k", "-i", "trn1.2xlarge", "--dry-run")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: plugin 'bad' of bad 1.0 ended the command: its process ")


def test_what_a_plugin_writes_is_not_among_the_data(install: Install, trnbench: Trnbench) -> None:
    writes = "import os, subprocess; os.write(1, b'one\\n'); subprocess.run(['echo', 'two']); print('three')"
    without = trnbench("list", "formats", "--format", "csv").stdout
    assert without.startswith("format,")
    install("noisy", HOOK.replace("AT_IMPORT", writes).replace("IN_HOOK", writes))
    done = trnbench("list", "formats", "--format", "csv")
    assert done.returncode == 0
    assert done.stdout == without
    for word in ("one", "two", "three"):
        assert done.stderr.count(f"{word}\n") == 2


def test_a_command_of_a_plugin_writes_where_it_wants(install: Install, trnbench: Trnbench) -> None:
    install(
        "acme",
        """
        import os, subprocess
        import click

        @click.command()
        def frob():
            print("by Python", flush=True)
            os.write(1, b"by descriptor\\n")
            subprocess.run(["echo", "by a process"])
        """,
        commands={"frob": "acme:frob"},
    )
    done = trnbench("frob")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "by Python\nby descriptor\nby a process\n"
