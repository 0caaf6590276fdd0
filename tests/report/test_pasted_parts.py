"""Parts of the page as drawings: no text is cut or collides in any of four fonts; and as PNG."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

import trnbench
from trnbench import Run, UsageError
from trnbench_reports.formats import parts, picture

pytestmark = pytest.mark.parts

FONTS = ("DejaVu Sans", "Roboto", "Liberation Sans", "Open Sans")
PARTS = ("headline", "scoreboard", "losses", "links", "generations")
CUT = (Path(__file__).parent / "cut_texts.js").read_text()
"""How many texts a drawing has, and those that leave it or touch another one."""


@pytest.mark.browser
@pytest.mark.parametrize("font", FONTS)
def test_no_text_is_cut_or_collides(browser: Any, headline_run: Run, tmp_path: Path, font: str) -> None:
    if not subprocess.run(["fc-list", font], capture_output=True, check=False).stdout:
        pytest.skip(f"the font {font} is not installed")
    page = browser.new_page()
    for name in PARTS:
        drawing = getattr(parts, f"{name}_svg")([headline_run]).decode()
        path = tmp_path / f"{name}.html"
        path.write_text(
            f"<!DOCTYPE html><meta charset='utf-8'><style>body {{ margin: 0 }}</style>{drawing}"
            f"<style>svg text {{ font-family: '{font}' !important }}</style>",
            encoding="utf-8",
        )
        page.goto(path.as_uri())
        count, bad = page.evaluate(CUT)
        assert count > 5, name
        assert bad == [], name
    page.close()


@pytest.mark.skipif(not any(map(shutil.which, picture.BROWSERS)), reason="no Chromium on PATH")
def test_a_part_becomes_a_png_of_twice_its_size(headline_run: Run) -> None:
    size = re.search(rb'width="(\d+)" height="(\d+)"', parts.headline_svg([headline_run]))
    drawn = picture.headline([headline_run])
    assert drawn.startswith(b"\x89PNG")
    assert struct.unpack(">II", drawn[16:24]) == (2 * int(size[1]), 2 * int(size[2]))


def test_without_a_browser_a_message_says_what_to_do(
    headline_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="no browser here that draws a PNG") as refused:
        picture.links([headline_run])
    assert refused.value.try_ == "trnbench report --part links -o links.svg, or install chromium"


def test_a_browser_that_draws_nothing_is_named(
    headline_run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho 'no display' >&2\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(UsageError, match="drew no PNG") as refused:
        picture.losses([headline_run])
    assert refused.value.cause == "no display"


def test_each_part_has_the_formats_that_the_command_offers() -> None:
    from trnbench_reports import trnbench_reports

    offered = {f.name for f in trnbench_reports() if isinstance(f, trnbench.Format) and f.part}
    assert {f"{name}.{suffix}" for name in PARTS for suffix in ("svg", "png")} <= offered
