"""Numbers, files and arguments that nobody should type: each is one clear message and exit code 2."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest
from campaigns import sweep
from click.testing import Result
from command import refusal, typed
from messages import messages

FABRIC = ("fabric", "run", "all_reduce", "-i", "trn1.32xlarge", "-e", "64K")
PLAN = ("plan", "gpt2", "--task", "decode")
RUN = ("run", "gemm", "-i", "trn1.2xlarge", "-a", "size=256", "--dry-run")
LONG = "9" * 5000
CUT = f"'{'9' * 40}…{'9' * 10}' (5,000 characters)"
NUMBERS = ["nan", "inf", "-inf", "1e30", "-1", "", " ", "1_0", "٣", "0x10", "1e400", LONG]


def short(done: Result, most: int = 2500) -> str:
    message = refusal(done)
    assert message.startswith("error: ")
    assert len(message) < most
    return message


def call(*words: str) -> str:
    """The message of a command that is refused, which is short."""
    return short(typed(*words, catch_exceptions=False))


@pytest.fixture(autouse=True)
def _kernel(tmp_path: Path, _own_folder: None) -> None:
    (tmp_path / "k.py").write_text("def k(a):\n    return a\n")


@pytest.mark.parts
@pytest.mark.parametrize(("words", "message", "code"), messages(Path(__file__).parent / "long_mistakes.txt"))
def test_one_message_at_once(words: str, message: str, code: int) -> None:
    typed = [word.replace("LONG", LONG) for word in words.split()]
    assert (call(*typed), code) == (message.replace("CUT", CUT) + "\n", 2)


@pytest.mark.parametrize("name", ["a\nb\x07", "a\udcff"])
def test_a_store_of_no_name_is_said(name: str) -> None:
    assert call("--store", name, "runs", "list") == (
        f"error: {name!r} is no name of a store\n"
        "  cause: --store or TRNBENCH_STORE has a character in it that cannot be printed\n"
        "  try:   --store ./results.db\n"
    )


def test_a_name_of_5000_characters_is_cut_short() -> None:
    call("info", "x" * 5000)


OPTIONS = {
    "--jobs": RUN, "--timeout": RUN, "--maxfail": RUN, "--seed": RUN, "--retries": RUN, "--sample-time": RUN,
    "--processes": RUN, "--wait-quiet": RUN,
    "--tpot": PLAN, "--ttft": PLAN, "--prompt": PLAN, "--tokens": PLAN, "--days": PLAN,
    "--keep": ("runs", "prune"), "--older-than": ("runs", "prune"), "--max-broken": ("validate",),
    "--stepfactor": FABRIC, "--minbytes": FABRIC, "--maxbytes": FABRIC[:-2], "--step": FABRIC,
    "--oversubscription": FABRIC,
    "--receiver": ("fabric", "probe", "incast", "-i", "trn1.32xlarge"),
    "--sender": ("fabric", "probe", "pingpong", "-i", "trn1.32xlarge"),
    "--top": ("fabric", "links", "all_reduce", "-i", "trn1.32xlarge"),
    "--limit": ("nki", "run", "k.py::k"), "--tolerance": ("nki", "run", "k.py::k"),
    "--memory": ("nki", "run", "k.py::k"), "--trace-limit": ("nki", "run", "k.py::k"),
}  # fmt: skip


@pytest.mark.parts
@pytest.mark.parametrize(
    ("option", "number"),
    sweep(product(OPTIONS, NUMBERS), lambda option, number: number == "nan" or option == "--timeout"),
    ids=lambda each: repr(each[:8]),
)
def test_no_option_takes_what_is_no_number(option: str, number: str) -> None:
    message = call(*OPTIONS[option], f"{option}={number}")
    assert message.startswith(f"error: {option} ")
    assert " is no " in message.splitlines()[0]
    assert message.count("\n") == 3
    assert f"  try:   {option} " in message


@pytest.mark.parametrize("rest", ["=%s", "=%s:4", "[range]=1:%s", "[range]=1:5:%s", "[pow2]=1:%s"])
@pytest.mark.parametrize("number", ["nan", "inf", "1_0", "٣", LONG], ids=lambda each: repr(each[:8]))
def test_no_axis_takes_what_is_no_number(rest: str, number: str) -> None:
    call(*RUN, "-a", "size" + rest % number)


@pytest.mark.parts
@pytest.mark.parametrize(
    "words",
    [
        ("--degrade", "d0-d1=%s"),
        ("--degrade", "3=%s"),
        ("--degrade", "%s=0.5"),
        ("--group", "tensor=%s"),
        ("--group", "[[0,%s]]"),
        ("--with", "all_gather=%s"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    "number", sweep(NUMBERS, ("nan", "-1", LONG).__contains__), ids=lambda each: repr(each[:8])
)
def test_no_option_of_several_parts_takes_what_is_no_number(words: tuple[str, str], number: str) -> None:
    message = call(*FABRIC, words[0], words[1] % number)
    assert message.startswith(f"error: {words[0]} ") or number == "-1" or " has no link " in message


CONTENT = {
    "empty": b"",
    "binary": bytes(range(256)) * 20,
    "nulls": bytes(1000),
    "arrays": b"x = " + b"[" * 5000 + b"]" * 5000,
    "tables": b"x = " + b"{a = " * 5000 + b"1" + b"}" * 5000,
    "dots": b".".join([b"a"] * 5000) + b" = 1",
    "digits": b"x = " + b"9" * 5000,
    "nan": b"schema = nan",
    "64 bits": b"schema = " + b"9" * 100,
    "a long key": b"k" * 100_000 + b" = 1",
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a surrogate": b'"\\ud800"',
    "a deep run": b'{"schema_version": 1, "environment": {"a": ' + b"[" * 600 + b"]" * 600 + b"}}",
}
READ = {
    "facts": ("fabric", "run", "all_reduce", "-i", "trn1.32xlarge", "--facts", "%s"),
    "import": ("import", "%s"),
    "configuration": ("config", "show"),
    "store": ("--store", "%s", "runs", "list"),
    "kernel": ("nki", "run", "%s::k", "-i", "trn1.2xlarge"),
    "array": ("nki", "run", "k.py::k", "-i", "trn1.2xlarge", "--arg", "a=@%s"),
}


def read(kind: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    if kind == "configuration":
        folder = path.parent / "xdg" / "trnbench"
        folder.mkdir(parents=True)
        (folder / "config.toml").symlink_to(path)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder.parent))
    words = (each.replace("%s", str(path)) for each in READ[kind])
    return typed(*words, catch_exceptions=False)


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("content", sweep(CONTENT, ("empty", "binary", "a deep run").__contains__))
def test_a_file_of_anything_is_one_message(
    kind: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT[content])
    result = read(kind, path, monkeypatch)
    if (kind, content) in (("configuration", "empty"), ("store", "empty")):
        assert result.exit_code == 0  # no setting, no run
    else:
        short(result, 4000)


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("what", ["a folder", "a pipe", "a device", "a name of 5,000 characters"])
def test_what_is_no_file_is_one_message(
    kind: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = {"a device": Path("/dev/zero"), "a name of 5,000 characters": Path("x" * 5000)}.get(what)
    if kind == "configuration" and path:
        pytest.skip("a file of this name cannot be put there")
    if kind == "store" and what in ("a pipe", "a device"):
        pytest.skip("SQLite opens it, and says so: tests/store")
    if path is None:
        path = tmp_path / "file"
        path.mkdir() if what == "a folder" else os.mkfifo(path)
    short(read(kind, path, monkeypatch), 4000)


@pytest.mark.parts
@pytest.mark.parametrize(
    "words",
    [("topology", "export", "trn1.2xlarge", "-o", "pipe"), ("export", "--as", "schema", "-o", "pipe")],
    ids=" ".join,
)
def test_a_pipe_that_nobody_reads_is_not_waited_for(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trnbench.run.output_file.READER_S", 0.05)
    os.mkfifo(tmp_path / "pipe")
    assert call(*words) == (
        "error: cannot write pipe: nobody reads it\n"
        "  cause: it is a pipe, and no program opened its other end within 0.05 s\n"
        "  try:   cat pipe in another shell first, or name a file with -o\n"
    )
