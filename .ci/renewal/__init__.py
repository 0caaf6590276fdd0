"""What only `.ci/renew` needs: it makes what the repository keeps of the model, and is part of no wheel."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
README, ERRORS, REPORT = ROOT / "README.md", ROOT / "docs" / "errors.md", ROOT / "docs" / "report.md"


def write(path: Path, text: str) -> None:
    """Whoever reads the file meanwhile finds it whole as long as nothing has changed."""
    if not (path.is_file() and path.read_text(encoding="utf-8") == text):
        path.write_text(text, encoding="utf-8")
