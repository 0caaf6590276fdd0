"""Pages of decisions: short, in one form, in plain sentences, and all of them listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HEADINGS = ["Context", "Decision", "Consequences", "What would change it"]
PAGES = sorted(path.name for path in (Path(__file__).parents[1] / "docs" / "decisions").glob("*.md"))


def sentences(text: str) -> list[str]:
    """Of prose and lists; tables, headings, pictures and marks are left out."""
    prose = re.sub(r"^(\||#|!|<!--).*$", "\n", text, flags=re.MULTILINE)
    blocks = re.split(r"\n\s*\n|\n- ", prose)
    return [part for block in blocks for part in re.split(r"(?<=[.:?])\s+", " ".join(block.split())) if part]


def test_every_page_is_listed_and_the_list_is_linked(root: Path) -> None:
    folder = root / "docs" / "decisions"
    linked = re.findall(r"^\| \[.+?\]\((.+?)\)", (folder / "README.md").read_text(), re.MULTILINE)
    assert sorted([*linked, "README.md"]) == PAGES
    assert "](decisions/README.md)" in (root / "docs" / "README.md").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_short_and_plain(root: Path, name: str) -> None:
    text = (root / "docs" / "decisions" / name).read_text()
    assert text.count("\n") <= 80
    assert [sentence for sentence in sentences(text) if len(sentence.split()) > 25] == []
    if name != "README.md":
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files_and_headings(root: Path, name: str) -> None:
    folder = root / "docs" / "decisions"
    for target in re.findall(r"\]\(([^)]+)\)", (folder / name).read_text()):
        file, _, heading = target.partition("#")
        assert (folder / file).is_file(), target
        lines = (folder / file).read_text().splitlines()
        titles = [re.sub(r"[^\w -]", "", line.lstrip("# ")).lower().replace(" ", "-") for line in lines]
        assert not heading or heading in titles, target
