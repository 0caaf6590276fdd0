"""README's picture: the first screen of a report."""

from __future__ import annotations

import shutil
from pathlib import Path

from renewal import ROOT

PICTURE = ROOT / "docs" / "images" / "first-screen.png"
WIDTH, HEIGHT = 1440, 830


def renew(report: Path) -> None:
    """As a window of 1440 × 830 shows it in a light scheme. Needs Chromium and what `.[test]` installs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as browsers:
        chromium = browsers.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
        )
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_timeout(300)
        page.screenshot(path=str(PICTURE))
        chromium.close()
