"""A section is a box with its name whatever it does; parts of the page are files of their own."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from command import typed
from stored_run import make_run

import trnbench
from trnbench import Format, Run, Section, UsageError
from trnbench.isolation import surroundings
from trnbench.registry import load_registry
from trnbench.run.render import find_part
from trnbench_reports import numbers, trnbench_reports
from trnbench_reports.formats import parts
from trnbench_reports.page import render
from trnbench_reports.sections import scoreboard


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
    "exception": (raises(ValueError("no <power> column")), "ValueError: no &lt;power&gt; column"),
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
        Section(name="bad", title="Bad & worse", order=1, render=section),  # type: ignore[arg-type]
        Section(name="good", title="Good", order=2, render=looks),  # type: ignore[arg-type]
        run=run,
    )
    assert f"<strong>The section “Bad &amp; worse” could not be written: {told}</strong>" in text
    assert "Likely cause: the plugin that brings the section <code>bad</code>" in text
    assert "Try <code>trnbench plugin list</code>" in text
    assert "looked" in text
    assert later[-1] == before
    assert os.getcwd() == folder


def test_built_in_sections_are_held_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
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


# Parts of the page as files of their own: drawings that stand alone, words for issues.


PARTS = [each for each in trnbench_reports() if isinstance(each, Format) and each.part]
NAME = "{http://www.w3.org/2000/svg}"


def written(part: Format, run: Run) -> str:
    write = trnbench.resolve(part.write)
    return str(write([run]), "utf-8")


def shown(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace(numbers.NBSP, " ").split())


@pytest.fixture(scope="module")
def drawings(hostile: Run, run: Run) -> dict[str, tuple[str, str]]:
    """By name: of a run, and of one with hostile words."""
    return {each.name: (written(each, run), written(each, hostile)) for each in _of(run, ".svg")}


def _of(run: Run, ending: str) -> list[Format]:
    """Those that have something to show: this run stores no waterfall."""
    return [each for each in PARTS if each.suffix.endswith(ending) and each.name != "losses.md"]


def test_a_drawing_stands_alone_and_asks_for_nothing(drawings: dict[str, tuple[str, str]]) -> None:
    assert set(drawings) == {f"{n}.svg" for n in ("headline", "scoreboard", "losses", "links", "generations")}
    for name, texts in drawings.items():
        for text in texts:
            tree = ElementTree.fromstring(text)
            assert tree.tag == f"{NAME}svg", name
            assert tree.get("aria-label", "").startswith(f"trnbench {name.removesuffix('.svg')} of ")
            ids = {each.get("id") for each in tree.iter() if each.get("id")}
            for each in tree.iter():
                assert each.tag != f"{NAME}script"
                assert not any(key.startswith("on") for key in each.attrib)
                assert each.get("href", "#k0")[1:] in ids
            assert set(re.findall(r"url\(#([^)]+)\)", text)) <= ids
            assert "://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_every_class_of_a_drawing_that_paints_has_its_rule(drawings: dict[str, tuple[str, str]]) -> None:
    text = drawings["headline.svg"][0]
    style = text.partition("<style>")[2].partition("</style>")[0]
    for name in ("promise", "clock", "result", "reach", "ground", "paper"):
        assert f".{name}" in style
    assert "prefers-color-scheme" in style
    assert ".drawer" not in style


def test_the_headline_says_what_the_first_screen_says(run: Run, drawings: dict[str, tuple[str, str]]) -> None:
    text = shown(drawings["headline.svg"][0])
    for card in trnbench.headline(run).cards:
        assert card.sentence in text
        first = {row.name: row.line for row in reversed(card.rows)}
        for line in first.values():
            assert numbers.show(line.sweep.best, line.sweep.unit).replace(numbers.NBSP, " ") in text


def test_words_of_data_stay_words(drawings: dict[str, tuple[str, str]], hostile: Run) -> None:
    for text in (*(bad for _, bad in drawings.values()), *(written(e, hostile) for e in _of(hostile, ".md"))):
        assert "<script>" not in text
        assert "](" not in text
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u200e\u200f]", text)


def test_markdown_of_a_part_is_that_of_the_whole(run: Run) -> None:
    whole = written(next(e for e in trnbench_reports() if getattr(e, "name", "") == "markdown"), run)
    for name in ("headline_md", "scoreboard_md"):
        part = getattr(parts, name)([run]).decode()
        assert part.strip() in whole


def test_a_part_without_anything_says_so() -> None:
    empty = Run(id="empty", created="2026-11-20T00:00:00Z", tool_version="0.1.0")
    for part in PARTS:
        if part.name in ("headline.md", "scoreboard.md"):  # these have words for it
            continue
        with pytest.raises(UsageError, match="nothing to show"):
            trnbench.resolve(part.write)([empty])


def test_the_ending_chooses_the_form() -> None:
    registry = trnbench.load_registry()
    assert find_part(registry, "headline", "").name == "headline.md"
    assert find_part(registry, "headline", ".SVG").name == "headline.svg"
    assert find_part(registry, "links", "").name == "links.svg"
    with pytest.raises(trnbench.UnknownName, match="unknown part of the page 'drawer'") as unknown:
        find_part(registry, "drawer", "")
    assert unknown.value.cause == "known: generations, headline, links, losses, scoreboard"
    with pytest.raises(UsageError, match=r"^links is not written as \.md") as wrong:
        find_part(registry, "links", ".md")
    assert wrong.value.cause == "of this part there is .svg or .png"
    assert wrong.value.try_ == "trnbench report --part links -o links.svg"


def test_the_command_writes_a_part(tmp_path: Path, small: Run) -> None:
    store = tmp_path / "r.db"
    with trnbench.open_store(store) as opened:
        opened.save(small)
    base = ["--store", str(store), "report", "--part", "headline"]
    done = typed(*base)
    assert (done.exit_code, done.output.startswith("- ")) == (0, True)
    target = tmp_path / "first.svg"
    done = typed(*base, "-o", str(target))
    assert done.exit_code == 0, done.output
    assert ElementTree.parse(target).getroot().tag == f"{NAME}svg"
