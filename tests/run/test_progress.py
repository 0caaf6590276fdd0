"""Progress: quiet when asked, sparse in logs, with an honest guess of the time left."""

from __future__ import annotations

import io

import msgspec
import pytest
import tiny_machine as tiny
from hypothesis import given
from hypothesis import strategies as st

from trnbench import Measurement
from trnbench.run.progress import Step, eta_s, lines, progress, show_s
from trnbench.store.entry import Entry


def measured(*modes: str) -> list[Measurement]:
    return list(tiny.carried_out(*modes).measurements)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (42.4, "42 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s"),
     (3599.4, "59 min 59 s"), (3599.6, "1 h 00 min"), (7800, "2 h 10 min")],
)  # fmt: skip
def test_seconds_for_people(seconds: float, text: str) -> None:
    assert show_s(seconds) == text


@given(st.integers(1, 10_000), st.integers(0, 10_000), st.floats(0.001, 1e6))
def test_the_guess_is_never_negative_and_ends_at_zero(done: int, more: int, elapsed: float) -> None:
    left = eta_s(done, done + more, elapsed)
    assert left >= 0.0
    assert eta_s(done, done, elapsed) == 0.0
    assert eta_s(0, 10, elapsed) is None


def test_lines_are_sparse_and_name_failures_at_once() -> None:
    fine, broken = measured("half", "crash")
    now = [0.0]
    stream = io.StringIO()
    with lines(100, stream, clock=lambda: now[0]) as on_progress:
        for done in range(1, 101):
            now[0] += 0.25
            on_progress(Step(done=done, total=100, entry=Entry(broken if done == 3 else fine)))
    said = stream.getvalue().splitlines()
    assert said[0].startswith(
        "failed: tiny.2::act[dtype=bf16,mode=crash]@core: ZeroDivisionError: division by zero (at "
    )
    assert said[1:] == [
        "20 of 100 cases (20 %), 20 s left",
        "40 of 100 cases (40 %), 15 s left",
        "60 of 100 cases (60 %), 10 s left",
        "80 of 100 cases (80 %), 5 s left",
    ]


def test_the_first_cases_give_no_guess() -> None:
    (fine,) = measured("half")
    now = [0.0]
    stream = io.StringIO()
    with lines(2000, stream, clock=lambda: now[0]) as on_progress:
        now[0] = 9.0
        on_progress(Step(done=1, total=2000, entry=Entry(fine)))
        now[0] = 18.0
        on_progress(Step(done=199, total=2000, entry=Entry(fine)))
        now[0] = 27.0
        on_progress(Step(done=200, total=2000, entry=Entry(fine)))
    assert stream.getvalue().splitlines() == [
        "1 of 2,000 cases (0 %)",
        "199 of 2,000 cases (9 %)",
        "200 of 2,000 cases (10 %), 4 min 03 s left",
    ]


def test_control_characters_do_not_reach_the_terminal() -> None:
    (broken,) = measured("crash")
    hostile = msgspec.structs.replace(broken, reason_text="\x1b]0;owned\x07 and \u202e more")
    stream = io.StringIO()
    with lines(1, stream) as on_progress:
        on_progress(Step(done=1, total=1, entry=Entry(hostile)))
    assert "\x1b" not in stream.getvalue()
    assert "\x07" not in stream.getvalue()
    assert "\u202e" not in stream.getvalue()


def test_quiet_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    (fine,) = measured("crash")
    with progress(1, quiet=True, terminal=True) as on_progress:
        on_progress(Step(done=1, total=1, entry=Entry(fine)))
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_and_failures_as_text(capfd: pytest.CaptureFixture[str]) -> None:
    fine, broken = measured("half", "crash")
    marked = msgspec.structs.replace(broken, reason_text="[red]not markup[/red]")
    with progress(2, quiet=False, terminal=True) as on_progress:
        on_progress(Step(done=1, total=2, entry=Entry(fine)))
        on_progress(Step(done=2, total=2, entry=Entry(marked)))
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "[red]not markup[/red]" in captured.err.replace("\n", "")
