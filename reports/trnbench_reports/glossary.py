"""What each term of the page means, from one list that the page and the docs share."""

from __future__ import annotations

import re
import tomllib
from functools import cache, cached_property, lru_cache
from pathlib import Path

from markupsafe import Markup, escape

from trnbench import Record

LIST = Path(__file__).parent / "glossary.toml"
_TAGS = re.compile(r"<(svg|style|script)\b.*?</\1>|<[^>]*>", re.DOTALL)


class Term(Record, kw_only=True, dict=True):
    """`also` are other words for it; `text` says what it means; `cause` is a colour, where it takes time.

    `parts` take time under a word that means more elsewhere.
    """

    name: str
    text: str
    also: tuple[str, ...] = ()
    cause: str = ""
    parts: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """The id of its text on the page."""
        return "term-" + re.sub(r"\W+", "-", self.name)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """In small letters: a text that has none of them needs no pattern."""
        return tuple(word.lower() for word in (self.name, *self.also) if len(word) > 1 or word == self.name)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Its words as they stand in a text; a single letter only says itself in a legend."""
        words = sorted((self.name, *(word for word in self.also if len(word) > 1)), key=len, reverse=True)
        return re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, words)) + r")(?![\w-])", re.IGNORECASE)


@lru_cache(maxsize=1)
def terms() -> tuple[Term, ...]:
    """All terms, in the order of the list."""
    rows = tomllib.loads(LIST.read_text(encoding="utf-8"))["term"]
    lists = ("also", "parts")
    return tuple(Term(**{**row, **{name: tuple(row.get(name, ())) for name in lists}}) for row in rows)


CAUSES = {
    "work": "work at the peak",
    "limit": "limit of engine or links",
    "engine": "engines",
    "memory": "memory and DMA",
    "wait": "waiting",
    "start": "starts and latency",
    "algorithm": "algorithm",
    "contention": "contention",
    "endpoint": "endpoint",
    "attention": "attention",
    "collectives": "collectives",
    "residue": "residue",
    "rest": "the rest",
}
"""Colours of what takes time: class of the style sheet, and its words in a legend."""


@cache
def cause(name: str) -> str:
    """The colour of what takes time: that of its term; of a name that no term has, `rest`."""
    for term in terms():
        if term.cause and (name in term.parts or term.pattern.match(name)):
            return term.cause
    return "rest"


def used(markup: str) -> tuple[Term, ...]:
    """The terms whose words stand in the text of `markup`."""
    text = _TAGS.sub(" ", markup)
    small = text.lower()
    return tuple(
        term for term in terms() if any(word in small for word in term.words) and term.pattern.search(text)
    )


def button(name: str, shown: str = "") -> Markup:
    """The term `name`, to be tapped; `shown` in its place. Raises `StopIteration` for an unknown term."""
    term = next(term for term in terms() if term.name == name)
    return Markup('<button type="button" class="term" popovertarget="{}">{}</button>').format(
        term.address, shown or term.name
    )


def line(markup: str) -> Markup:
    """Every term that `markup` uses, to be tapped; nothing where it uses none."""
    found = used(markup)
    if not found:
        return Markup("")
    return Markup('<p class="terms">Terms: {}</p>').format(
        Markup(" ").join(button(term.name) for term in found)
    )


def texts() -> Markup:
    """The texts that the buttons open."""
    return Markup("\n").join(
        Markup('<div popover id="{}" class="said"><b>{}</b> {}</div>').format(
            term.address, term.name, escape(term.text)
        )
        for term in terms()
    )


def page() -> str:
    """docs/glossary.md."""
    rows = "\n".join(
        f"| {term.name}{''.join(f', {word}' for word in term.also if len(word) > 1)} | {term.text} |"
        for term in terms()
    )
    return (
        "# Glossary\n\nReference: every term of the report's first two depths. The page shows the same\n"
        "texts where a term is tapped. `.ci/renew glossary` writes this list.\n\n"
        f"| term | meaning |\n|---|---|\n{rows}\n"
    )
