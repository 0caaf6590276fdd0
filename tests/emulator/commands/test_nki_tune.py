"""`trnbench nki tune` and `nki compare`: variants ranked, and two kernels side by side."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from command import listed, refusal, typed
from fact_rows import SLOW_CLOCK

from trnbench_emulator.commands.session.session import Session

TRN2 = "trn2-16.48xlarge"
KERNEL = (Path(__file__).parent / "nki_kernels" / "scale.txt").read_text()


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "scale.py"
    path.write_text(KERNEL)
    return f"{path}::scale"


def tuned(kernel: str, *words: str, **more: Any) -> Any:
    return listed("nki", "tune", kernel, "-i", TRN2, "--arg", "x=128x2048:fp32", *words, **more)


@pytest.mark.parametrize("trusted", [(), ("--trusted",)])
def test_variants_are_ranked_and_illegal_ones_refused_with_the_reason(
    kernel: str, trusted: tuple[str, ...]
) -> None:
    rows = tuned(kernel, "--over", "tile=128,2048,1000,512", "--over", "times=1", *trusted)
    assert [row["variant"] for row in rows[2:]] == ["tile=128 times=1", "tile=1000 times=1"]
    assert [row["rank"] for row in rows] == [1, 2, 3, None]
    assert rows[0]["time_s"] < rows[1]["time_s"] < rows[2]["time_s"]
    assert rows[3]["verdict"] == "refused"
    assert "whole tiles alone (scale.py:8)" in rows[3]["why"]


def test_the_best_is_a_command_that_runs(kernel: str) -> None:
    done = typed(
        *("nki", "tune", kernel, "-i", TRN2, "--arg", "x=128x2048:fp32", "--over", "tile=128,512"),
        *("--format", "csv"),
    )
    best = done.stderr.partition("best: ")[2].splitlines()[0]
    run = json.loads(typed(*shlex.split(best)[1:], "--format", "json").stdout)
    assert f"{run['latency_s']:.6g}" in done.stdout or str(run["latency_s"]) in done.stdout
    assert "--arg tile=512" in best


def test_ties_share_a_rank_and_wrong_values_are_none(kernel: str) -> None:
    rows = tuned(kernel, "--over", "tile=512,512.0", "--over", "times=1,2", "--check", "doubled")
    verdicts = {row["variant"]: (row["rank"], row["verdict"]) for row in rows}
    assert verdicts["tile=512 times=1"] == (1, "ok")
    assert verdicts["tile=512 times=2"] == (None, "wrong")
    assert "elements" in next(row["why"] for row in rows if row["variant"] == "tile=512 times=2")
    same = KERNEL.replace("range(times)", "range(1)")
    Path(kernel.partition("::")[0]).write_text(same)
    assert [row["rank"] for row in tuned(kernel, "--over", "times=1,2")] == [1, 1]


def test_what_was_answered_is_not_asked_again(kernel: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    words = ("--over", "tile=128,512,1000", "--log", str(log))
    first = tuned(kernel, *words)
    lines = log.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    log.write_bytes(b"".join(lines[:2]) + lines[2][:40])  # killed while it wrote
    done = typed("nki", "tune", kernel, "-i", TRN2, "--arg", "x=128x2048:fp32", *words, "--format", "json")
    assert "2 answers read" in done.stderr
    assert json.loads(done.stdout) == first
    assert len(log.read_bytes().splitlines()) == 4
    path = Path(kernel.partition("::")[0])
    path.write_text(KERNEL.replace("2.0", "3.0"))
    tuned(kernel, *words)
    assert len(log.read_bytes().splitlines()) == 7  # another program


def test_a_log_that_cannot_be_written_is_refused_before_anything_is_asked(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Session, "answer")
    log = str(tmp_path / "none" / "log.jsonl")
    words = ("--arg", "x=128x2048:fp32", "--over", "tile=128", "--log", log)
    assert log in refusal(typed("nki", "tune", kernel, "-i", TRN2, *words))


def test_sessions_follow_the_configured_facts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A product takes longer by a slower clock, and an answer of the other clock is none."""
    (tmp_path / "mine.toml").write_text(SLOW_CLOCK, encoding="utf-8")
    small = f"{Path(__file__).parent / 'nki_kernels' / 'small.py'}::matmul"
    arguments = {"lhs_t": "128x128:bf16", "rhs": "128x512:bf16"}
    words = [word for name, text in arguments.items() for word in ("--arg", f"{name}={text}")]
    line = json.dumps({"path": small.partition("::")[0], "function": "matmul", "arguments": arguments})
    log = tmp_path / "log.jsonl"

    def times() -> list[float]:
        over = ("--over", "rhs=128x512:bf16", "--log", str(log))
        tune = listed("nki", "tune", small, "-i", TRN2, *words[:2], *over)[0]["time_s"]
        rows = listed("nki", "compare", small, small, "-i", TRN2, *words)["rows"]
        compared = next(row["first"] for row in rows if row["what"] == "time")
        served = json.loads(typed("nki", "serve", "-i", TRN2, "--trusted", input=f"{line}\n").stdout)
        return [tune, compared, served["time_s"]]

    usual = times()
    monkeypatch.setenv("TRNBENCH_FACTS", str(tmp_path / "mine.toml"))
    slow = times()
    assert len({*usual}) == len({*slow}) == 1
    assert slow > usual
    assert len(log.read_bytes().splitlines()) == 2


@pytest.mark.parametrize("answered", [0, 1])
def test_an_interruption_says_what_is_in_the_log(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: int
) -> None:
    answer, asked = Session.answer, iter(range(9))

    def interrupted(session: Session, candidate: Any) -> Any:
        if next(asked) == answered:
            raise KeyboardInterrupt
        return answer(session, candidate)

    monkeypatch.setattr(Session, "answer", interrupted)
    log = tmp_path / "log.jsonl"
    words = ("--arg", "x=128x2048:fp32", "--over", "tile=128,512", "--log", str(log))
    done = typed("nki", "tune", kernel, "-i", TRN2, *words)
    kept = f"{log} has 1 answer; the same again goes on" if answered else "nothing was written"
    assert (done.exit_code, done.stderr) == (130, f"\ninterrupted: {kept}\n")
    assert log.exists() == bool(answered)
    assert not answered or len(log.read_bytes().splitlines()) == answered


def test_a_file_that_is_no_journal_is_left_alone(kernel: str, tmp_path: Path) -> None:
    log = tmp_path / "notes.txt"
    log.write_text("notes\n")
    done = typed("nki", "tune", kernel, "-i", TRN2, "--over", "tile=1", "--log", str(log))
    assert "is no file of answers (line 1)" in refusal(done)
    assert log.read_text() == "notes\n"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "no --over is given"),
        (("--over", "tile"), "--over 'tile' cannot be read"),
        (("--over", "tile="), "cannot be read"),
        (("--over", "tile=1", "--over", "tile=2"), "cannot be read"),
        (("--over", f"tile={','.join(map(str, range(100_001)))}"), "100,001 variants are more than 100,000"),
        (("--over", "x=1"), "--arg x is given twice"),
    ],
)
def test_what_cannot_be_tried(kernel: str, words: tuple[str, ...], what: str) -> None:
    assert what in refusal(typed("nki", "tune", kernel, "-i", TRN2, "--arg", "x=128x2048:fp32", *words))


def test_none_that_runs_is_an_error(kernel: str) -> None:
    done = typed("nki", "tune", kernel, "-i", TRN2, "--arg", "x=128x2048:fp32", "--over", "tile=1000")
    assert done.exit_code == 3
    assert "none of 1 variant runs" in done.stderr


def compared(kernel: str, change: tuple[str, str], *words: str, **more: Any) -> Any:
    path = Path(kernel.partition("::")[0])
    other = path.with_name("other.py")
    other.write_text(path.read_text().replace(*change))
    return typed(
        *("nki", "compare", kernel, f"{other}::scale", "-i", TRN2, "--arg", "x=128x2048:fp32", *words), **more
    )


def test_two_kernels_side_by_side(kernel: str) -> None:
    found = json.loads(compared(kernel, ("tile=128", "tile=512"), "--format", "json").stdout)
    rows = {row["what"]: row for row in found["rows"]}
    assert rows["time"]["second"] / rows["time"]["first"] == found["ratio"] < 1
    assert rows["hbm read"]["ratio"] == 1
    assert rows["instructions"]["first"] == 48
    order = found["order"]
    assert 0 < order["kept"] <= order["pairs"]
    assert f"of {order['pairs']} published pairs that differ by {order['gain']}" in found["says"]
    assert any("dma_copy" in line["source"] for line in found["lines"])
    text = compared(kernel, ("tile=128", "tile=512")).stdout
    assert "times as fast" in text
    assert "published pairs" in " ".join(text.split())


def test_a_slower_line_fails_a_gate(kernel: str) -> None:
    done = compared(kernel, ("range(times)", "range(9)"), "--gate")
    assert done.exit_code == 1
    assert "other.py::scale takes " in done.stderr
    assert " more time than " in done.stderr
    assert "became" in done.stderr
    assert "nisa.tensor_scalar(" in done.stderr
    assert compared(kernel, ("tile=128", "tile=512"), "--gate").exit_code == 0
    assert compared(kernel, ("part", "piece"), "--gate").exit_code == 0


def test_what_the_model_cannot_tell_apart(kernel: str) -> None:
    found = json.loads(compared(kernel, ("part", "piece"), "--format", "json").stdout)
    assert (found["ratio"], found["order"]["pairs"]) == (1, 0)
    assert found["says"].startswith("the model cannot tell them apart")


def test_a_kernel_that_does_not_run_is_named(kernel: str) -> None:
    done = compared(kernel, ("(128, tile)", "(256, tile)"))
    assert done.exit_code == 3
    assert "other.py::scale: " in done.stderr
    assert "other.py:11" in done.stderr
    absent = typed("nki", "compare", "a.py", kernel, "-i", TRN2)
    assert "'a.py' names no kernel of a file" in refusal(absent)
