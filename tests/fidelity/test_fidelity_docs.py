"""docs/fidelity.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trnbench.results.fidelity import COUNTED, Use
from trnbench_fidelity.family import FAMILIES
from trnbench_fidelity.point import Kind, PublishedPoint, Usable


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "fidelity.md").read_text(encoding="utf-8")


def test_what_holds_is_short(page: str) -> None:
    assert page.count("\n") <= 200


def test_every_page_of_research_is_listed_and_its_links_lead_somewhere(root: Path) -> None:
    folder = root / "docs" / "research"
    pages = sorted(folder.glob("*.md"))
    index = (folder / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[\d+[^]]*\]\((version-[\w-]+\.md)\)", index, re.MULTILINE)
    assert sorted(listed) == sorted(each.name for each in pages if each.name != "README.md")
    texts = {each: each.read_text(encoding="utf-8") for each in (*pages, root / "docs" / "fidelity.md")}
    for file, text in texts.items():
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert (file.parent / target).is_file(), f"{file.name}: {target}"


def test_every_key_is_explained(page: str) -> None:
    named = set(re.findall(r"`(\w+)`", page))
    assert set(PublishedPoint.__struct_fields__) - named == {"generation"}
    assert {str(each) for each in (*Kind, *Usable)} <= named


def test_every_use_and_family_is_there(page: str) -> None:
    for use in Use:
        (line,) = re.findall(rf"^\| `{use}` \|.*$", page, re.MULTILINE)
        assert line.endswith(f"| {'yes' if use in COUNTED else 'no'} |")
    for family in FAMILIES:
        assert f"`{family}`" in page


def test_the_command_on_the_page_is_there(page: str, root: Path) -> None:
    (command,) = re.findall(r"^python (\.ci/\w+) public PATH", page, re.MULTILINE)
    assert (root / command).is_file()  # tests/fidelity/test_sources.py runs it
