"""`trnbench nki tune`: every combination of some arguments, ranked."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import msgspec

from trnbench import Session as Command
from trnbench.digest import short_digest
from trnbench.errors import BadInput, ExitCode, UsageError, counted, quoted
from trnbench.record import Record
from trnbench.terminal.cell import Column
from trnbench.terminal.output import emit, say
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_emulator.commands.nki.arguments import system_of
from trnbench_emulator.commands.nki.blocks import time_text
from trnbench_emulator.commands.session.answer import Answer, digits, sentence
from trnbench_emulator.commands.session.candidate import Candidate
from trnbench_emulator.commands.session.compare import candidate_of
from trnbench_emulator.commands.session.session import Session

MOST = 100_000
"""Combinations of one call."""

_COLUMNS: tuple[Column | str, ...] = (
    Column("rank", align="right"),
    Column("variant", keep=2),
    Column("time_s", "time", align="right", show=time_text, keep=2),
    Column("slower", "× best", align="right", show=lambda ratio: f"{ratio:.3f}"),
    "bound",
    Column("verdict", keep=1),
    "why",
)


def tune(
    state: Command,
    /,
    *,
    kernel: str,
    instance: str | None,
    texts: tuple[str, ...],
    over: tuple[str, ...],
    grid: str | None,
    reference: str | None,
    tolerance: float | None,
    seed: int | None,
    within: float,
    memory: int,
    trusted: bool,
    log: Path | None,
    top: int,
    format: str,
) -> ExitCode:
    """Every combination of the values of --over, the fastest first."""
    facts = state.facts_of(())
    system = system_of(state.registry, instance, facts)
    options = {
        "grid": grid or "",
        "reference": reference or "",
        "tolerance": tolerance,
        "seed": state.seed_of(seed),
    }
    variants = list(_variants(kernel, str(instance), texts, _axes(over), options))
    journal = Journal(log, facts)
    state.kept = journal.said
    if journal.answers:
        say(f"{counted(len(journal.answers), 'answer')} read from {log}", level=0)
    with Session(
        str(instance), seconds=within, memory=memory, trusted=trusted, registry=state.registry, facts=facts
    ) as session:
        pairs = []
        for asked in variants:
            pairs.append((asked, journal.answer(session, asked)))
            state.kept = journal.said
    ranked = sorted(
        (pair for pair in pairs if pair[1].verdict == "ok"), key=lambda pair: pair[1].time_s or 0.0
    )
    rows = _rows(ranked)
    refused = [_row(asked, answer) for asked, answer in pairs if answer.verdict != "ok"]
    emit([*rows[:top], *refused[:top]], _COLUMNS, format)
    for left, noun in ((rows, "slower variant"), (refused, "refused variant")):
        if len(left) > top:
            say(f"not shown: {counted(len(left) - top, noun)}; --top {len(left)} shows all", level=0)
    if not ranked:
        say(f"error: none of {counted(len(variants), 'variant')} runs; the table says why")
        return ExitCode.CRASH
    if len(ranked) > 1:
        first, second = (answer.time_s or 0.0 for _, answer in ranked[:2])
        says = sentence(state.registry, system.generation.name, first, second)
        say(f"the first two: {says}", level=0)
    say(f"best: {_command(kernel, str(instance), ranked[0][0])}", level=0)
    return ExitCode.OK


class Journal:
    """Answers in a file, a line of JSON each: what is there is not asked again with the same fact files.

    Raises `OSError` where it cannot be written, and `BadInput` for a file of something else.
    """

    def __init__(self, path: Path | None, facts: tuple[Path, ...]) -> None:
        self.path, self.lines = path, 0
        self._model = " ".join([MODEL_VERSION, *(short_digest(file.read_bytes()) for file in facts)])
        self.answers: dict[str, Answer] = {}
        self._before = b""
        if path is None:
            return
        new = not path.exists()
        path.touch()  # what cannot be written is known before anything is asked
        data = path.read_bytes()
        if new:
            path.unlink()  # until there is an answer
        self._before = b"\n" if data and not data.endswith(b"\n") else b""  # the last line may be cut short
        for number, line in enumerate(data.splitlines(), start=1):
            try:
                entry = msgspec.json.decode(line, type=Entry)
            except (msgspec.MsgspecError, ValueError):
                if not line.startswith(b'{"key":') and line.strip():
                    raise BadInput(
                        f"--log {path} is no file of answers (line {number})",
                        cause="it holds something else",
                        try_="another name",
                    ) from None
                continue  # cut short while it was written
            self.answers[entry.key] = entry.answer
        self.lines = len(self.answers)

    @property
    def said(self) -> str:
        """What is left where the command ends early."""
        if not self.lines:
            return "nothing was written"
        return f"{self.path} has {counted(self.lines, 'answer')}; the same again goes on"

    def answer(self, session: Session, asked: Candidate) -> Answer:
        """From the file, or from the session and then in the file."""
        key = f"{self._model} {asked.digest(asked.text())}"
        if key not in self.answers:
            self.answers[key] = answer = session.answer(asked)
            if self.path is not None and (answer.error is None or answer.error.lasting):
                entry = Entry(key=key, arguments=asked.arguments, answer=answer)
                with self.path.open("ab") as file:
                    file.write(self._before + msgspec.json.encode(entry) + b"\n")
                self._before = b""
                self.lines += 1
        return self.answers[key]


class Entry(Record, kw_only=True):
    """A line of the journal."""

    key: str
    arguments: dict[str, Any]
    answer: Answer


def _axes(over: Sequence[str]) -> dict[str, list[str]]:
    """NAME=V,V,… by name. Raises `UsageError`."""
    axes: dict[str, list[str]] = {}
    for text in over:
        name, equals, values = text.partition("=")
        words = [value for value in values.split(",") if value]
        if not (name.isidentifier() and equals and words) or name in axes:
            raise UsageError(
                f"--over {quoted(text)} cannot be read",
                cause="it is an argument of the kernel and its values, each name once",
                try_="--over tile=128,256,512",
            )
        axes[name] = list(dict.fromkeys(words))
    if not axes:
        raise UsageError("no --over is given", cause="nothing varies", try_="--over tile=128,256,512")
    if (count := prod(map(len, axes.values()))) > MOST:
        raise UsageError(f"{count:,} variants are more than {MOST:,}", try_="fewer values of --over")
    return axes


def _variants(
    kernel: str, instance: str, texts: Sequence[str], axes: dict[str, list[str]], options: dict[str, Any]
) -> Iterator[Candidate]:
    for values in product(*axes.values()):
        over = [f"{name}={value}" for name, value in zip(axes, values, strict=True)]
        yield candidate_of(kernel, [*texts, *over], id=" ".join(over), instance=instance, **options)


def _rows(ranked: Sequence[tuple[Candidate, Answer]]) -> list[dict[str, Any]]:
    """Times that are one to four digits share a rank."""
    rows: list[dict[str, Any]] = []
    for number, (asked, answer) in enumerate(ranked, start=1):
        row = _row(asked, answer)
        best = rows[0]["time_s"] if rows else row["time_s"]
        tied = rows and digits(rows[-1]["time_s"]) == digits(row["time_s"])
        rows.append({**row, "rank": rows[-1]["rank"] if tied else number, "slower": row["time_s"] / best})
    return rows


def _row(asked: Candidate, answer: Answer) -> dict[str, Any]:
    error = answer.error
    wrong = next((str(row["verdict"]) for row in answer.outputs if "wrong" in str(row["verdict"])), "")
    return {
        "rank": None,
        "variant": str(asked.id),
        "time_s": answer.time_s,
        "slower": None,
        "bound": answer.bound,
        "verdict": answer.verdict,
        "why": error.what if error is not None else wrong,
    }


def _command(kernel: str, instance: str, best: Candidate) -> str:
    words = ["trnbench", "nki", "run", kernel, "-i", instance]
    for name, value in best.arguments.items():
        words += ["--arg", f"{name}={value}"]
    return shlex.join([*words, *(["--grid", best.grid] if best.grid else [])])
