"""`python -m tests.campaign --kills 1000 --inputs 1000000 --damages 100000`: kills, writers, inputs, damages
to stores, and their figures.

Ctrl-C ends it with the figures so far. With `--state FILE` they are kept there, and the same command goes on
with what is left. Every kill, input and damage follows from the seed and its number.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import forked
from tests.campaign.damages import Damages
from tests.campaign.figures import Figures, load, save
from tests.campaign.inputs import furnished, in_process, through_the_command
from tests.campaign.kills import Killing
from tests.campaign.scenarios import MODES
from tests.campaign.writers import written_at_once

PER_COMMAND = 1000
"""One input through the command for as many in process."""

AT_ONCE = 8


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of commands, at a step or a moment")
    parser.add_argument("--writers", type=int, default=AT_ONCE, help="into one store at once")
    parser.add_argument("--inputs", type=int, default=10_000, help="to parsers and options, in process")
    parser.add_argument("--damages", type=int, default=1_000, help="to stores, WALs and journals")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, help="a file to go on from")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    asked = parser.parse_args(arguments)
    figures = load(asked.state) if asked.state else Figures()
    if figures.asked and figures.seed != asked.seed:
        parser.error(f"{asked.state} is of seed {figures.seed}")
    figures.seed = asked.seed
    figures.asked = {name: getattr(asked, name) for name in ("kills", "writers", "inputs", "damages")}
    before = figures.cpu_s
    interrupted = False
    try:
        with tempfile.TemporaryDirectory(prefix="trnbench-campaign-") as home:
            for _ in _carried_out(figures, Path(home)):
                figures.cpu_s = before + _cpu_s()
                if asked.state:
                    save(asked.state, figures)
    except KeyboardInterrupt:
        interrupted = True
    figures.cpu_s = before + _cpu_s()
    if asked.state:
        save(asked.state, figures)
    told = figures.as_json() | {"interrupted": interrupted}
    print(json.dumps(told) if asked.format == "json" else figures.as_text())
    return 130 if interrupted else int(not figures.well)


def _carried_out(figures: Figures, home: Path) -> Any:
    """Each step of the campaign, which the caller may stop at."""
    forked.ready()
    killing = Killing(_trnbench, home)
    while figures.killed < figures.asked["kills"]:
        figures.add_kill(killing.drawn(figures.seed, figures.tried))
        yield
    if figures.writers < figures.asked["writers"]:
        together = home / "together"
        together.mkdir()
        figures.add_writers(figures.asked["writers"], written_at_once(figures.asked["writers"], together))
        yield
    folder = furnished(home / "inputs")
    for number, broken in in_process(figures.seed, range(figures.inputs, figures.asked["inputs"]), folder):
        before = figures.inputs
        figures.add_input(number + 1, broken)
        for each in range(before // PER_COMMAND, (number + 1) // PER_COMMAND):
            figures.add_input(1, through_the_command(figures.seed, each, folder), command=True)
        yield
    small = home / "small"
    small.mkdir()
    store = {"TRNBENCH_STORE": str(small / "results.db")}
    _trnbench(small, "run", "--label", "first", "--no-report", env=store, modes=list(MODES))
    damages = Damages(home / "damages", small)
    for number, ruin in damages.ruins(figures.seed, range(figures.damages, figures.asked["damages"])):
        figures.add_damage(number + 1, ruin)
        yield


def _trnbench(folder: Path, *words: str, **more: Any) -> Any:
    env = {"TRNBENCH_STORE": str(folder / "r.db"), **more.pop("env", {})}
    answer = forked.carried_out({"words": words, "folder": str(folder), "env": env, **more})
    return argparse.Namespace(**answer)


def _cpu_s() -> float:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    sys.exit(main())
