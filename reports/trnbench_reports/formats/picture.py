"""Parts of the page as PNG: their drawings, as the Chromium that is found shows them in a light scheme."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from trnbench import Run, UsageError
from trnbench_reports.formats import parts

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LIMIT_S = 120
"""Seconds: a browser that takes longer hangs."""
_SIZE = re.compile(rb'width="(\d+)" height="(\d+)"')


def png(part: str, runs: Sequence[Run]) -> bytes:
    """The drawing of a part at twice its size. Raises `UsageError` where no browser is found or it fails."""
    svg: bytes = getattr(parts, f"{part}_svg")(runs)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise UsageError(
            "there is no browser here that draws a PNG",
            cause=f"none of {', '.join(BROWSERS)} is on PATH",
            try_=f"trnbench report --part {part} -o {part}.svg, or install chromium",
        )
    size = _SIZE.search(svg)
    assert size is not None
    with TemporaryDirectory() as folder:
        source, picture = Path(folder) / "part.svg", Path(folder) / "part.png"
        source.write_bytes(svg)
        command = [
            browser,
            "--headless",
            *(("--no-sandbox",) if os.geteuid() == 0 else ()),  # Chromium has none for root
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-device-scale-factor=2",
            f"--user-data-dir={folder}/profile",
            f"--window-size={int(size[1])},{int(size[2])}",
            f"--screenshot={picture}",
            source.as_uri(),
        ]
        try:
            ended = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False)
            said = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
        except subprocess.TimeoutExpired:
            said = [f"it took more than {LIMIT_S} s"]
        if not picture.is_file():
            raise UsageError(
                f"{browser} drew no PNG",
                cause=said[0] if said else "it said nothing",
                try_=f"trnbench report --part {part} -o {part}.svg",
            )
        return picture.read_bytes()


headline = partial(png, "headline")
scoreboard = partial(png, "scoreboard")
losses = partial(png, "losses")
links = partial(png, "links")
generations = partial(png, "generations")
