"""docs/measuring.md names tests and options that exist."""

from __future__ import annotations

import re
from pathlib import Path

from command import typed

from trnbench import load_registry
from trnbench.facts.load import load_book

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "measuring.md"


def test_every_trap_has_a_test_that_exists() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if re.match(r"\| \d+ ", line)]
    assert [int(row.split()[1]) for row in rows] == list(range(1, 16))
    for row in rows:
        named = re.findall(r"`([./\w]+\.py)(?:::(\w+))?`", row)
        assert named, row
        for path, test in named:
            text = (HERE / path).read_text()
            assert not test or f"def {test}(" in text, (path, test)


def test_the_options_it_names_exist() -> None:
    told = typed("run", "--help").output
    for option in ("--backend", "--timeout", "--sample-time", "--retries", "--keep-identity", "--facts"):
        assert option in PAGE.read_text()
        assert option in told


def test_the_facts_it_shows_give_memory_a_peak(tmp_path: Path) -> None:
    from trnbench import Scope
    from trnbench.peaks import choose_peak

    shown = PAGE.read_text().partition("    schema = 1\n")[2].partition("\n\n")[0]
    path = tmp_path / "mine.toml"
    path.write_text("schema = 1\n" + "\n".join(line.strip() for line in shown.splitlines()))
    assert load_book([path]).facts[0].value == 307.2e9
    system = load_registry().system("host", extra_facts=(path,))
    choice = choose_peak(system, metric="host_memory_bandwidth", scope=Scope.INSTANCE)
    assert choice.chosen.value == 307.2e9
