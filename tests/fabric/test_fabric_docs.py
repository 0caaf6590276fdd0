"""docs/fabric.md: its constants are those of the cost tables, its algorithms those that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trnbench.registry import load_registry
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.publication import published_question

TEXT = (Path(__file__).parents[2] / "docs" / "fabric.md").read_text()


def rows(title: str) -> list[list[str]]:
    section = TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize(("column", "system"), [(1, "trn1.32xlarge"), (2, "trn2-16.48xlarge")])
def test_constants_are_those_of_the_file(column: int, system: str) -> None:
    table = load_registry().system(system).costs["fabric"]
    listed = {row[0].strip("`"): row[column] for row in rows("Constants")}
    for name, shown in listed.items():
        assert shown == ("–" if name not in table else f"{table[name]['value']:g}"), name
    assert {name for name, row in table.items() if isinstance(row, dict) and "value" in row} <= set(listed)


def test_every_algorithm_is_listed() -> None:
    named = {name for row in rows("Algorithms") for name in re.findall(r"`([\w-]+)`", row[0])}
    named = {f"hierarchical{name}" if name.startswith("-") else name for name in named}
    assert named == set(ALGORITHMS)


def test_the_worst_cases_are_what_the_model_gives() -> None:
    system = load_registry().system("trn1-ultracluster:2")
    published = (Path(__file__).parents[2] / "plugins/trnbench_trn1/published/points.toml").read_text()
    lines = [line for line in TEXT.splitlines() if re.match(r"\| `t1-(nccom-ar64|efa-ar2)-\d+` \|", line)]
    assert len(lines) == 8
    for line in lines:
        name, theirs, ours, *parts = (cell.strip() for cell in line.strip("|").split("|"))
        size = int(name.strip("`").rpartition("-")[2])
        ranks = 64 if "ar64" in name else 2
        found = ask(published_question(system, "all_reduce", size, ranks, nodes=2))
        (entry,) = [each for each in published.splitlines() if f'id = "{name.strip("`")}"' in each]
        measured = float(re.findall(r'printed = "([\d.]+)"', entry)[0])
        assert float(theirs.replace(",", "")) == measured
        error = f"{(found.time_s * 1e6 / measured - 1) * 100:+.0f}".replace("-", "−")
        assert ours == f"{found.time_s * 1e6:,.0f} ({error} %)"
        seconds = (found.overhead_s, found.latency_s, found.link_s)
        assert parts == [f"{each * 1e6:,.0f}" for each in seconds]
