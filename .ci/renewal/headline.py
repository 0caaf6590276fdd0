"""The excerpt of the headline in docs/report.md."""

from __future__ import annotations

import re
import textwrap

import trnbench
from renewal import REPORT, inserted, write

BEGIN = "<!-- headline: begin (.ci/renew headline) -->"
END = "<!-- headline: end -->"


def renew() -> None:
    """The lines of `trnbench run` without arguments: of all its cases they rest on these alone."""
    run = trnbench.bench(("gemm", "hbm_copy", "all_reduce"), axes=("dtype=bf16",))
    write(REPORT, inserted(REPORT.read_text(encoding="utf-8"), excerpt(run), BEGIN, END))


def excerpt(run: trnbench.Run) -> str:
    """The first line of each question and the first grey one as Markdown quotes, word for word."""
    first: dict[object, str] = {}
    for line, words in trnbench.headline(run).said:
        first.setdefault("grey" if line.muted else line.question, words.text)
    return "\n>\n".join(textwrap.indent(_filled(text), "> ") for text in first.values()) + "\n"


def _filled(text: str) -> str:
    """A number and its unit stay together."""
    bound = re.sub(r"(?<=\d) (?=[%A-Za-zµ])", "\u00a0", text)
    return textwrap.fill(bound, 110, break_on_hyphens=False).replace("\u00a0", " ")
