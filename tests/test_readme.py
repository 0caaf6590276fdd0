"""What the README tells people to type works as printed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trnbench import Run

MARK = "--next--"


def tour(text: str) -> list[str]:
    """The lines of the tour, as printed."""
    block = re.search(r"## A tour\n.*?```sh\n(.*?)```", text, re.S)
    return block[1].splitlines()


@pytest.mark.campaign("documents")
def test_the_tour_runs_as_printed(root: Path, tmp_path: Path) -> None:
    """In one shell, in a copy of what a clone has, with nothing but an environment in `.venv`."""
    lines = tour((root / "README.md").read_text(encoding="utf-8"))
    assert len(lines) > 10
    assert lines[0] == 'PATH="$PWD/.venv/bin:$PATH"'
    shutil.copytree(root / "docs" / "examples", tmp_path / "docs" / "examples")
    program = tmp_path / ".venv" / "bin" / "trnbench"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m trnbench "$@"\n')
    program.chmod(0o755)
    script = "".join(f"echo {MARK}; echo {MARK} >&2\n{line}\n" for line in lines)
    shell = ["bash", "--norc", "-e", "-c", script]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, check=False)
    shown, said = (each.split(f"{MARK}\n")[1:] for each in (done.stdout, done.stderr))
    assert done.returncode == 0, f"{lines[len(shown) - 1]}\n{shown[-1][-2000:]}\n{said[-1][-2000:]}"
    assert [line for line, text in zip(lines[1:], shown[1:], strict=True) if not text.strip()] == []
    assert (tmp_path / "results.csv").exists()
    pages = sorted(each.name for each in tmp_path.glob("*.html"))
    assert len(pages) == 1
    assert pages[0].startswith("trnbench-report-gemm-trn2-16.48xlarge-")


def test_the_command_is_where_the_tour_says(root: Path) -> None:
    text = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    assert "Nothing needs activating: `.venv/bin/trnbench` is the command" in text
    assert text.count("python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/trnbench run") == 1


def prose(page: Path) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


def test_links_lead_somewhere(root: Path) -> None:
    folders = [(root / "docs").rglob("*.md"), (root / ".github").glob("*.md"), root.glob("*.md")]
    broken = []
    for page in (page for folder in folders for page in folder):
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            file, _, anchor = target.partition("#")
            place = (page.parent / file).resolve() if file else page
            lost = anchor and place.suffix == ".md" and anchor not in anchors(place)
            if "://" not in target and (not place.exists() or lost):
                broken.append(f"{page.relative_to(root)}: {target}")
    assert broken == []
    assert "](docs/plugins.md)" in prose(root / "README.md")


def test_the_front_door_is_short(root: Path) -> None:
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    assert max(map(len, (line for line in lines if "](" not in line))) <= 121


def test_the_index_names_every_page(root: Path) -> None:
    text = (root / "docs" / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"\]\(([^)#]+)\)", text))
    pages = {each.name for each in (root / "docs").glob("*") if each.suffix in (".md", ".ipynb")}
    assert pages - {"README.md"} == {each for each in targets if "/" not in each}


def test_each_of_the_two_commands_is_one_line(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("python3 -m venv")]
    assert len(lines) == 2
    for ending in ("trnbench run", "pytest -n auto --dist loadfile"):
        assert sum(line.endswith(ending) for line in lines) == 1


def test_the_excerpt_is_the_headline_of_a_run_now(root: Path, headline_run: Run) -> None:
    """After a change of the model: `.ci/renew headline`."""
    from renewal import headline

    text = (root / "docs" / "report.md").read_text(encoding="utf-8")
    quoted = text.partition(headline.BEGIN)[2].partition(headline.END)[0]
    assert quoted.strip() == headline.excerpt(headline_run).strip()
