"""External programs: every way to fail is told apart, and nothing is left running."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from killed import alive

from trnbench_neuron.tool import json_of, run
from trnbench_neuron.toolbox import Toolbox, ToolError, Trouble


def tool(folder: Path, body: str, name: str = "neuron-ls") -> Toolbox:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return Toolbox(str(folder))


def trouble(tools: Toolbox, *, limit_s: float = 10.0) -> ToolError:
    with pytest.raises(ToolError) as raised:
        run([tools.need("neuron-ls"), "-j"], limit_s)
    return raised.value


def test_a_missing_tool_says_where_it_was_looked_for(tmp_path: Path) -> None:
    error = trouble(Toolbox(str(tmp_path)))
    assert error.trouble is Trouble.MISSING
    assert str(error) == (
        "neuron-ls is not installed\n"
        f"  cause: looked for in {tmp_path}\n"
        "  try:   install the package aws-neuronx-tools"
    )


def test_the_path_is_searched_when_no_folder_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "echo found")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert run([Toolbox().need("neuron-ls")], 10).stdout == "found\n"


def test_output_and_errors_stay_apart(tmp_path: Path) -> None:
    output = run([tool(tmp_path, "echo data; echo noise >&2").need("neuron-ls")], 10)
    assert (output.stdout, output.stderr) == ("data\n", "noise\n")


def test_an_exit_code_comes_with_the_last_words(tmp_path: Path) -> None:
    error = trouble(tool(tmp_path, "echo out; echo no driver >&2; exit 3"))
    assert (error.trouble, error.what, error.cause) == (
        Trouble.EXIT,
        "neuron-ls ended with exit code 3",
        "no driver",
    )


def test_an_unknown_option_is_a_wrong_version(tmp_path: Path) -> None:
    error = trouble(tool(tmp_path, "echo 'error: unrecognized arguments: -j' >&2; exit 2"))
    assert error.trouble is Trouble.VERSION
    assert error.what == "neuron-ls does not know an option it is documented to have (exit code 2)"


def test_a_signal_is_named(tmp_path: Path) -> None:
    error = trouble(tool(tmp_path, "kill -9 $$"))
    assert error.trouble is Trouble.KILLED
    assert error.what == (
        "neuron-ls was killed by SIGKILL; most often that is the system's out-of-memory killer"
    )


def test_a_hanging_tool_is_ended_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    began = time.monotonic()
    error = trouble(tool(tmp_path, f"sleep 300 & echo $! > {pid}; wait"), limit_s=0.5)
    assert error.trouble is Trouble.TIMEOUT
    assert error.what == "neuron-ls was not done after 0.5 s and was ended"
    assert time.monotonic() - began < 100  # of 300
    assert _gone(int(pid.read_text()))


def _gone(pid: int) -> bool:
    for _ in range(3000):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_a_child_that_keeps_the_pipe_open_does_not_hold_us(tmp_path: Path) -> None:
    began = time.monotonic()
    output = run([tool(tmp_path, "sleep 300 & echo done").need("neuron-ls")], 60)
    assert output.stdout == "done\n"
    assert time.monotonic() - began < 50  # of 300, and of 60


def test_endless_output_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnbench_neuron.tool.MAX_BYTES", 2**20)
    error = trouble(tool(tmp_path, "while :; do echo DEBUG; done"))
    assert error.trouble is Trouble.TOO_LARGE
    assert error.what == "neuron-ls printed more than 1 MiB and was ended"


def test_a_script_without_its_interpreter_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "neuron-ls"
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o755)
    assert trouble(Toolbox(str(tmp_path))).what == "neuron-ls is not there"


def test_a_file_of_another_machine_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "neuron-ls"
    path.write_bytes(b"\x7fELF\x00\x00garbage")
    path.chmod(0o755)
    error = trouble(Toolbox(str(tmp_path)))
    assert (error.trouble, error.what) == (Trouble.REFUSED, "neuron-ls cannot be executed")


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1}, {"b": [1, 2]}]',
        '2026-11-20 10:00:00 INFO start [1]\n[{"a": 1}, {"b": [1, 2]}]\n[WARN] late',
        '[\n  {"a": 1},\n2026-11-20T10:00:00Z [INFO] in between\n  {"b": [1,\nNRT:x {\n 2]}\n]',
        '[1]\nERROR {"not": \n[{"a": 1}, {"b": [1, 2]}]',
    ],
)
def test_json_is_found_among_log_lines(text: str) -> None:
    assert json_of("neuron-ls", text, list) == [{"a": 1}, {"b": [1, 2]}]


@pytest.mark.parametrize("text", ["", "nothing here", "[truncated, ", '{"a": [1, 2'])
def test_no_json_says_what_was_there(text: str) -> None:
    with pytest.raises(ToolError) as raised:
        json_of("neuron-ls", text, dict)
    assert raised.value.trouble is Trouble.UNREADABLE
    assert raised.value.what == "neuron-ls printed no JSON object"
    assert raised.value.cause == (f"it begins with: {text.strip()!r}" if text else "it printed nothing")
