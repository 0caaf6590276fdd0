"""A section is a box with its name whatever it does, and the others are drawn from the runs as they were."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from stored_run import make_run

import trnbench
from trnbench import Run, Section
from trnbench.isolation import surroundings
from trnbench_reports.page import render


def kill_detail(runs: Any) -> str:
    runs[0].settings["jobs"] = "changed"
    return "drawn"


def to_root(runs: Any) -> str:
    os.chdir("/")
    return "drawn"


def raises(error: BaseException) -> Callable[[Any], str]:
    def section(runs: Any) -> str:
        raise error

    return section


FAILURES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "exception": (raises(ValueError("no column")), "ValueError: no column"),
    "exit": (raises(SystemExit(0)), "SystemExit: 0"),
    "interrupt": (raises(GeneratorExit()), "GeneratorExit"),
    "os-exit": (lambda runs: os._exit(0), "it ends the process: os._exit(0)"),
    "hang": (lambda runs: time.sleep(3600), "it does not end within 0.3 s"),
    "changed-run": (kill_detail, "it changes the runs that it was given"),
    "changed-folder": (to_root, "it changes the working folder of the whole process"),
    "type": (lambda runs: 5, "it returns int, not markup"),
    "nothing": (lambda runs: None, "it returns NoneType, not markup"),
}


def page(*sections: Section, run: Run) -> str:
    return render((run,), sections).decode()


@pytest.mark.parametrize("kind", FAILURES)
def test_whatever_a_section_does_it_is_a_box_with_its_name(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surroundings, "LIMIT_S", 0.3 if kind == "hang" else 60.0)
    section, told = FAILURES[kind]
    run, folder = make_run(), os.getcwd()
    before = trnbench.dumps(run)
    later: list[bytes] = []

    def looks(runs: Any) -> str:
        later.append(trnbench.dumps(runs[0]))
        return "looked"

    text = page(
        Section(name="bad", title="Bad", order=1, render=section),  # type: ignore[arg-type]
        Section(name="good", title="Good", order=2, render=looks),  # type: ignore[arg-type]
        run=run,
    )
    assert f"<strong>The section “Bad” could not be written: {told}</strong>" in text
    assert "the plugin that brings the section <code>bad</code>" in text
    assert "looked" in text
    assert later[-1] == before
    assert os.getcwd() == folder


def test_built_in_sections_are_held_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from trnbench.registry import load_registry
    from trnbench_reports.sections import scoreboard

    monkeypatch.setattr(scoreboard, "render", raises(SystemExit(3)))
    text = render((make_run(),), load_registry().sections).decode()
    assert "The section “Scoreboard” could not be written: SystemExit: 3" in text
    assert 'id="method"' in text


def test_ctrl_c_while_a_section_is_drawn_is_the_users() -> None:
    def interrupted(runs: Any) -> str:
        signal.raise_signal(signal.SIGINT)
        return ""

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            page(Section(name="slow", title="Slow", order=1, render=interrupted), run=make_run())  # type: ignore[arg-type]
    finally:
        signal.signal(signal.SIGINT, before)
