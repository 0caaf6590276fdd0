"""`trnbench nki compare`: two kernels for one problem, and how far to trust which is faster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trnbench import Session as Command
from trnbench.errors import ExitCode, TrnbenchError, UsageError
from trnbench.facts.units import percent, show
from trnbench.terminal.cell import Column
from trnbench.terminal.output import emit, emit_json, paragraph, say, write
from trnbench_emulator.commands.nki.arguments import system_of
from trnbench_emulator.commands.session.answer import Answer, digits, order_of, sentence
from trnbench_emulator.commands.session.candidate import Candidate
from trnbench_emulator.commands.session.session import Session

LINES = 12
"""Lines of source that are shown, those that differ most first."""

_ROWS: tuple[Column | str, ...] = (
    "what",
    Column("first_text", "first", align="right", keep=2),
    Column("second_text", "second", align="right", keep=2),
    Column("ratio", align="right", show=lambda ratio: f"{ratio:.3g}"),
)


def compare(
    state: Command,
    /,
    *,
    kernels: tuple[str, str],
    instance: str | None,
    texts: tuple[str, ...],
    grid: str | None,
    within: float,
    memory: int,
    gate: bool,
    format: str,
) -> ExitCode:
    """Two kernels with the same arguments: times, traffic, engines, lines."""
    facts = state.facts_of(())
    system = system_of(state.registry, instance, facts)
    candidates = [candidate_of(ref, texts, grid=grid or "", explain=True) for ref in kernels]
    with Session(
        str(instance), seconds=within, memory=memory, registry=state.registry, facts=facts
    ) as session:
        answers = list(session.answers(candidates))
    for ref, answer in zip(kernels, answers, strict=True):
        if (problem := answer.error) is not None:
            told = TrnbenchError(f"{ref}: {problem.what}", cause=problem.cause, try_=problem.remedy)
            say(f"error: {told}")
    times = [answer.time_s for answer in answers if answer.time_s is not None]
    if len(times) < 2:
        return ExitCode.USAGE if any(each.verdict == "invalid" for each in answers) else ExitCode.CRASH
    first, second = times
    says = sentence(state.registry, system.generation.name, first, second)
    rows, lines = _rows(*answers), _lines(kernels, answers)
    if format == "json":
        order = order_of(state.registry, system.generation.name, first / second)
        ratio = {"ratio": second / first, "says": says, "order": order}
        head = {"kernels": kernels, "system": system.name, "evidence": answers[0].evidence}
        emit_json({**head, **ratio, "rows": rows, "lines": lines})
    else:
        people = format in ("table", "wide")
        if people:
            factor, word = max(times) / min(times), "fast" if second < first else "slow"
            apart = f"; the second is {factor:.3g} times as {word}" if factor > 1.0 else ""
            paragraph(
                f"{kernels[0]} takes {show(first, 's')}, {kernels[1]} {show(second, 's')}, emulated on "
                f"{system.name}{apart}; {says}"
            )
            write("\n")
        emit(rows, _ROWS, format)
        if lines and people:
            write("\n")
            emit(lines, ("source", *_ROWS[1:]), format, title="Time by source line")
    if gate and second > first and digits(second) != digits(first):
        say(f"error: {kernels[1]} takes {percent(second / first - 1.0)} more time than {kernels[0]}")
        slower = [line for line in lines if line["second"] > line["first"]]
        for line in slower[:3]:
            say(f"  cause: {line['first_text']} became {line['second_text']}: {line['source']}")
        return ExitCode.GATE
    return ExitCode.OK


def candidate_of(ref: str, texts: Sequence[str], **options: Any) -> Candidate:
    """FILE.py::KERNEL with the texts of --arg. Raises `UsageError`."""
    home, double, function = ref.partition("::")
    if not (home and double and function):
        raise UsageError(
            f"{ref!r} names no kernel of a file",
            cause="a kernel is named by its file and function; benchmarks are for nki run",
            try_=f"{home if home.endswith('.py') else 'FILE.py'}::{function or 'FUNCTION'}",
        )
    arguments: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name in arguments:
            raise UsageError(
                f"--arg {text} cannot be read" if not equals else f"--arg {name} is given twice",
                cause="an argument is NAME=VALUE, each name once",
                try_="--arg a=512x512:bf16",
            )
        arguments[name] = value
    return Candidate(path=home, function=function, arguments=arguments, **options)


def _rows(first: Answer, second: Answer) -> list[dict[str, Any]]:
    rows = [
        _row("time", first.time_s or 0.0, second.time_s or 0.0, "s"),
        {
            "what": "bound by",
            "first": first.bound,
            "first_text": first.bound,
            "second": second.bound,
            "second_text": second.bound,
            "ratio": None,
        },
        _row("instructions", first.instructions, second.instructions, ""),
    ]
    for unit, ours, theirs in (("s", first.engines, second.engines), ("B", first.bytes, second.bytes)):
        for name in dict.fromkeys((*ours, *theirs)):
            what = f"busy {name}" if unit == "s" else name.replace("_", " ")
            rows.append(_row(what, ours.get(name, 0.0), theirs.get(name, 0.0), unit))
    return rows


def _row(what: str, first: float, second: float, unit: str) -> dict[str, Any]:
    def text(value: float) -> str:
        return show(value, unit) if unit else f"{value:,}"

    return {
        "what": what,
        "first": first,
        "first_text": text(first),
        "second": second,
        "second_text": text(second),
        "ratio": second / first if first else None,
        "unit": unit,
    }


def _lines(kernels: Sequence[str], answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """Lines of the same text side by side: those alone differ that somebody changed."""
    spent: dict[str, list[float]] = {}
    for side, (ref, answer) in enumerate(zip(kernels, answers, strict=True)):
        path = Path(ref.partition("::")[0])
        texts = path.read_text(errors="replace").splitlines()
        for line in answer.lines:
            own = line["file"] == path.name and line["line"] <= len(texts)
            source = texts[line["line"] - 1].strip() if own else f"{line['file']}:{line['line']}"
            spent.setdefault(source, [0.0, 0.0])[side] += line["seconds"]
    ranked = sorted(spent.items(), key=lambda each: -abs(each[1][1] - each[1][0]))
    return [{"source": text, **_row("", first, second, "s")} for text, (first, second) in ranked[:LINES]]
