"""Sessions: a thousand variants asked of one model, whatever they do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import typed
from hostile_candidates import HOSTILE, drawn, text_of
from killed import alive

from trnbench import emulate_kernel
from trnbench.errors import UsageError
from trnbench.nki import Session, TensorSpec
from trnbench_emulator.commands.session.candidate import decoded

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "kernel.py"
TEXT = EXAMPLE.read_text()
ARGUMENTS = {"a": "256x256:bf16", "b": "256x512:bf16"}
TRN2 = "trn2-16.48xlarge"
QUESTION = {"path": str(EXAMPLE), "function": "matmul", "arguments": ARGUMENTS}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(TRN2) as opened:
        yield opened


@pytest.fixture(scope="module", params=["isolated", "trusted"])
def either(request: pytest.FixtureRequest) -> Iterator[Session]:
    with Session(TRN2, trusted=request.param == "trusted") as opened:
        yield opened


def test_a_time_is_that_of_a_run(either: Session) -> None:
    run = emulate_kernel(
        f"{EXAMPLE}::matmul",
        {"a": TensorSpec((256, 256), "bfloat16"), "b": TensorSpec((256, 512), "bfloat16")},
        instance=TRN2,
        nki="trnbench",
    )
    for where in ({"source": TEXT}, {"path": EXAMPLE}):
        answer = either.ask(**where, function="matmul", arguments=ARGUMENTS, explain=True)
        assert (answer.verdict, answer.time_s, answer.bound) == ("ok", run.latency_s, run.bound)
        assert (answer.engines, answer.bytes) == (run.busy_s, run.bytes)
        assert answer.band_s == run.expected_s
        assert answer.evidence.startswith("emulated by ")
        assert [line["line"] for line in answer.lines] == [line.line for line in run.lines]
        assert dict(answer.path) == {part.name: part.seconds for part in run.path if part.seconds}


def test_each_thread_gets_the_answer_to_its_own_question() -> None:
    def asked(columns: int) -> tuple[Any, float]:
        sizes = ARGUMENTS | {"b": f"256x{columns}:bf16"}
        answer = session.ask(source=TEXT, function="matmul", arguments=sizes, id=columns)
        return answer.id, answer.bytes.get("hbm_write", 0.0) / (256 * 2)

    with Session(TRN2) as session:
        for columns in ([64], [128, 192, 256, 320, 384, 448], [512]):  # each time of threads that then end
            with ThreadPoolExecutor(len(columns)) as pool:
                assert list(pool.map(asked, columns)) == [(each, each) for each in columns]
        assert session._warm.starts == 1


def test_arrays_and_specifications_count_by_shape(either: Session) -> None:
    arrays = {"a": np.zeros((256, 256), np.float16), "b": TensorSpec((256, 512), "float16")}
    texts = {"a": "256x256:float16", "b": "256x512:float16"}
    first = either.ask(source=TEXT, function="matmul", arguments=arrays)
    second = either.ask(source=TEXT, function="matmul", arguments=texts)
    assert first.time_s == second.time_s
    assert second.repeated
    assert not first.repeated


def test_values_are_held_against_a_reference(either: Session, tmp_path: Path) -> None:
    good = either.ask(source=TEXT, function="matmul", arguments=ARGUMENTS, reference="matmul_reference")
    assert good.verdict == "ok"
    assert [row["verdict"] for row in good.outputs] == ["as the reference"]
    bad = TEXT.replace("return a.T @ b", "return a.T @ b + 9")
    wrong = either.ask(source=bad, function="matmul", arguments=ARGUMENTS, reference="matmul_reference")
    assert wrong.verdict == "wrong"
    assert "of 131,072 elements" in wrong.outputs[0]["verdict"]
    file = tmp_path / "reference.py"
    file.write_text("def product(a, b):\n    return a.T @ b\n")
    assert either.ask(
        source=TEXT, function="matmul", arguments=ARGUMENTS, reference=f"{file}::product"
    ).verdict == "ok"  # fmt: skip
    absent = either.ask(source=TEXT, function="matmul", arguments=ARGUMENTS, reference="absent")
    assert absent.verdict == "invalid"
    assert "no function of the candidate's text" in absent.error.what


def test_an_error_has_a_kind_a_line_a_cause_and_a_remedy(either: Session) -> None:
    beyond = TEXT.replace("range(k // 128)", "range(k // 64)")
    answer = either.ask(source=beyond, function="matmul", arguments=ARGUMENTS, file="mine.py", id="x")
    error = answer.error
    assert (answer.verdict, answer.id) == ("refused", "x")
    assert (error.kind, error.file, error.line) == ("kernel", "mine.py", 19)
    assert "outside dimension 0" in error.what
    assert "smaller tile" in error.remedy
    unread = either.ask(source="def f(:\n", function="f")
    assert (unread.error.kind, unread.error.line) == ("source", 1)
    unknown = either.ask(source=TEXT, function="matmull", arguments=ARGUMENTS)
    assert (unknown.verdict, unknown.error.cause) == ("invalid", "did you mean matmul, matmul_reference?")


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ({"function": "f"}, "no source and no path"),
        ({"source": "x", "path": "y", "function": "f"}, "both source and path"),
        ({"source": TEXT, "function": ""}, "names no function"),
        ({"path": "absent.py", "function": "f"}, "absent.py cannot be read"),
        ({"path": "a\0.py", "function": "f"}, "cannot be read: embedded null byte"),
        ({"path": "/dev/zero", "function": "f"}, "/dev/zero cannot be read: it is no file"),
        ({**QUESTION, "arguments": {}, "inputs": "matmul_reference"}, "matmul_reference failed: TypeError"),
        ({"source": TEXT, "function": "matmul", "arguments": {"a": "3x"}}, "cannot be read"),
        ({"source": TEXT, "function": "matmul", "arguments": {"a b": 1}}, "no name of an argument"),
        ({"source": TEXT, "function": "matmul", "arguments": [1]}, "given by name"),
        ({"source": TEXT, "function": "matmul", "tile": 3}, "no candidate"),
        ({"source": TEXT, "function": "matmul", "arguments": ARGUMENTS, "instance": "trn9"}, "unknown"),
        ({"source": TEXT, "function": "matmul", "arguments": ARGUMENTS, "assume": ("x",)}, "x"),
        ({"source": TEXT, "function": "matmul", "arguments": ARGUMENTS, "cores": "all"}, "no candidate"),
        ({**QUESTION, "seed": -5}, "seed -5 is no seed"),
        ({**QUESTION, "seed": 2**64}, "is no seed"),
        ({**QUESTION, "tolerance": -1.0}, "tolerance -1 is no tolerance"),
        ({**QUESTION, "tolerance": 1e300}, "tolerance 1e+300 is no tolerance"),
    ],
)
def test_a_question_that_names_nothing_is_answered(
    session: Session, question: dict[str, Any], what: str
) -> None:
    answer = session.ask(**question)
    assert (answer.verdict, answer.error.kind) == ("invalid", "request")
    assert what in answer.error.what


def test_a_file_that_is_not_there_was_looked_for_somewhere(session: Session) -> None:
    error = session.ask(path="absent.py", function="f").error
    assert (error.cause, error.remedy) == (
        f"looked for it in {Path.cwd()}",
        "the path of a Python file, from that folder",
    )


@pytest.mark.parametrize("reference", ["", "matmul_reference"])
def test_beyond_its_memory_the_remedy_is_more(session: Session, reference: str) -> None:
    huge = TEXT.replace("k, m = a.shape", "k, m = a.shape\n    huge = bytearray(3 << 30)")
    answer = session.ask(source=huge, function="matmul", arguments=ARGUMENTS, reference=reference)
    assert (answer.error.kind, answer.error.line) == ("memory", 12)
    assert answer.error.remedy == "smaller arguments, or --memory SIZE"


def test_ties_name_the_candidates_before(session: Session) -> None:
    problem = {"a": "128x128:bf16", "b": "128x512:bf16"}
    for id, text in (("one", "# one"), ("two", "# two"), (3, "# three")):
        answer = session.ask(source=TEXT + text, function="matmul", arguments=problem, id=id)
    assert answer.ties == ("one", "two")


def test_what_is_missing_is_stood_in_for(either: Session) -> None:
    """As in a file: the kernels that do not use it run."""
    text = "import torch_absent\n\nLAYER = torch_absent.Layer()\n\n" + TEXT
    assert either.ask(source=text, function="matmul", arguments=ARGUMENTS).verdict == "ok"
    guarded = "try:\n    import torch_absent\n    N = 3\nexcept ImportError:\n    N = 1\n" + TEXT
    twice = guarded.replace("range(k // 128)", "range(k // 128 // N)")
    assert either.ask(source=twice, function="matmul", arguments=ARGUMENTS).instructions == 16


def test_a_candidate_sees_nothing_of_another(session: Session) -> None:
    marks = "import builtins, os, sys\nbuiltins.mark = os.environ['MARK'] = sys.mark = 1\n"
    assert session.ask(source=marks + TEXT, function="matmul", arguments=ARGUMENTS).verdict == "ok"
    looks = (
        "import builtins, os, sys\n"
        "assert not (hasattr(builtins, 'mark') or 'MARK' in os.environ or hasattr(sys, 'mark'))\nFRESH = 1\n"
    )
    fresh = TEXT.replace("b.shape[1]", "b.shape[1] * FRESH")
    assert session.ask(source=looks + fresh, function="matmul", arguments=ARGUMENTS).verdict == "ok"


QUICK = sorted(name for name, (_, kinds) in HOSTILE.items() if "time" not in kinds)[::2]
ENDLESS = (
    "forges without end",
    "loops, deaf",
    "closes all",
    "leaves a child, and waits",
    "prints",
    "stops itself",
)


@pytest.mark.parametrize(("names", "seconds"), [(QUICK, 30.0), (ENDLESS, 1.0)])
def test_a_sample_of_hostile_candidates(names: tuple[str, ...], seconds: float) -> None:
    """Each is answered within its limit, and the next one is well."""
    with Session(TRN2, seconds=seconds, memory="512M") as session:
        for number, name in enumerate(names):
            begin = time.monotonic()
            answer = session.ask(source=text_of(name, number), function="f")
            assert answer.error is not None, name
            assert answer.error.kind in HOSTILE[name][1], (name, answer.error)
            assert answer.error.remedy or answer.error.cause or answer.error.line, name
            assert time.monotonic() - begin < seconds + 30.0, name
        good = session.ask(source=TEXT, function="matmul", arguments=ARGUMENTS)
        assert good.verdict == "ok"


def memory_of(process: int) -> int:
    """Bytes that are resident, of it and of its children."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096 + sum(map(memory_of, map(int, children)))


@pytest.mark.campaign("hours")
def test_a_thousand_hostile_candidates() -> None:
    with Session(TRN2, seconds=1.0, memory="512M") as session:
        sizes = []
        for number, name in enumerate(drawn(1000, seed=28)):
            begin = time.monotonic()
            answer = session.ask(source=text_of(name, number), function="f")
            assert answer.error is not None, name
            assert answer.error.kind in (*HOSTILE[name][1], "time"), (name, answer.error)  # a busy machine
            assert time.monotonic() - begin < 10.0, name
            if number % 50 == 49:
                good = session.ask(source=f"{TEXT}# {number}", function="matmul", arguments=ARGUMENTS)
                assert good.verdict == "ok"
                sizes.append(memory_of(os.getpid()))
    print(f"MB {[size >> 20 for size in sizes]}")
    assert max(sizes) < 1.2 * sizes[0]


@pytest.mark.campaign("hours")
def test_a_thousand_trusted_candidates_take_no_more_memory() -> None:
    with Session(TRN2, trusted=True) as session:
        sizes = []
        for number in range(1000):
            text = f"{TEXT}# {number}"
            assert session.ask(source=text, function="matmul", arguments=ARGUMENTS).verdict == "ok"
            if number % 50 == 49:
                sizes.append(memory_of(os.getpid()))
    print([size >> 20 for size in sizes])
    assert max(sizes) < 1.2 * sizes[0]


def served(*lines: str, options: tuple[str, ...] = ()) -> list[Any]:
    done = typed("nki", "serve", "-i", TRN2, *options, input="".join(f"{line}\n" for line in lines))
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_serve_answers_line_by_line() -> None:
    good = json.dumps({**QUESTION, "id": 1})
    answers = served("", "x", good, '{"id": 7, "n": 1}', '{"id": "a"', "[]", good, "\x00\xff", "[" * 100_000)
    assert [answer["verdict"] for answer in answers] == [
        *("invalid", "ok", "invalid", "invalid", "invalid", "ok", "invalid", "invalid"),
    ]
    assert [answer.get("id") for answer in answers] == [None, 1, 7, None, None, 1, None, None]
    assert answers[5]["repeated"]
    assert all(answer["error"]["remedy"] for answer in answers if answer["verdict"] == "invalid")
    assert served('{"id": 8, "function": "f", "source": "f = 1", "seed": -5}')[0]["id"] == 8
    assert served(good, options=("--trusted",))[0]["time_s"] == answers[1]["time_s"]


def test_serve_without_candidates_ends_well() -> None:
    assert served() == []


def started(*words: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "trnbench", "nki", "serve", "-i", TRN2, *words]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def descendants(process: int) -> set[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return {int(child) for child in children}.union(*(descendants(int(child)) for child in children))


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted: 1 candidate answered"), (signal.SIGKILL, -9, "")],
)
def test_an_interrupted_server_leaves_no_process(number: int, code: int, word: str) -> None:
    process = started("--within", "60")
    process.stdin.write(json.dumps(QUESTION) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["verdict"] == "ok"
    process.stdin.write(json.dumps({"source": text_of("loops, deaf", 1), "function": "f"}) + "\n")
    process.stdin.flush()
    until = time.monotonic() + 60
    while len(below := descendants(process.pid)) < 3 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(below) >= 3  # keeper, warm process, candidate
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert word in errors
    assert "Traceback" not in errors
    while any(map(alive, below)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, below))


def test_a_reader_that_goes_ends_the_server_quietly() -> None:
    process = started()
    process.stdout.close()
    process.stdin.write((json.dumps(QUESTION) + "\n") * 3)
    process.stdin.close()
    process.wait(timeout=120)
    with process:
        assert "Traceback" not in process.stderr.read()
    assert process.returncode == 0


def test_a_session_has_limits_that_make_sense() -> None:
    for options in ({"seconds": 0}, {"seconds": -1}, {"memory": "much"}):
        with pytest.raises(UsageError):
            Session(TRN2, **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown"):
        Session("trn9")


def test_what_the_page_shows_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = EXAMPLE.parents[2]
    page = (root / "docs" / "nki.md").read_text()
    monkeypatch.chdir(root)
    blocks = dict(re.findall(r"```(python|json)\n(.*?)```", page.partition("## Any variant")[2], re.S)[::-1])
    exec(blocks["python"], {})
    time_line, error_line = capsys.readouterr().out.splitlines()
    assert time_line.startswith("ok 2.88")
    assert error_line.startswith("kernel 19 ")
    assert [decoded(line.encode()).id for line in blocks["json"].splitlines()] == [1, 2]
