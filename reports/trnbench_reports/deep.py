"""The third depth: each section compressed in the page, unpacked when a reader opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench import Section
from trnbench_reports import words
from trnbench_reports.payload import packed
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

_COMMANDS = {
    "cases": "trnbench runs show",
    "fabric": "trnbench fabric run all_reduce",
    "fidelity": "trnbench validate",
    "documents": "trnbench spec list",
    "method": "trnbench runs show --format json",
}
"""What prints the same as a section does, of those that have such a command."""
_ELSE = "trnbench export --as csv"


def folded(section: Section, body: Markup) -> tuple[Markup, tuple[str, Markup]]:
    """What stands in the page in place of `body`, and the payload that holds it: element id and text."""
    name = f"deep-{section.name}"
    hint = fill("deep", title=section.title, command=_COMMANDS.get(section.name, _ELSE))
    return hint, (name, packed(words.valid(body).encode()))
