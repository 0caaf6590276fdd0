"""Spellings of the version before: they work for one version more, and say what is typed now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trnbench.errors import UsageError
from trnbench.terminal.option import VALUE, OldSpelling
from trnbench.terminal.output import mention


def renewed(args: Sequence[str], old: Mapping[str, OldSpelling]) -> list[str]:
    """`args` with new spellings for old ones, each said once on stderr. What follows `--` stays.

    Raises `UsageError` where an old flag lacks its value.
    """
    words: list[str] = []
    waiting = iter(args)
    for word in waiting:
        if word == "--":
            return [*words, word, *waiting]
        flag, attached, value = _parts(word)
        spelling = old.get(flag)
        if spelling is None:
            words.append(word)
            continue
        if VALUE in spelling.new and not attached:
            following = next(waiting, None)
            if following is None:
                raise UsageError(f"{flag} needs a value", try_=spelling.new.replace(VALUE, "VALUE"))
            value = following
        words += spelling.words(value)
        mention(f"note: {flag} is now {spelling.new.replace(VALUE, value or 'VALUE')}")
    return words


def _parts(word: str) -> tuple[str, bool, str]:
    """The flag of a word, whether a value is attached to it, and that: `--size=1K`, `-s1K`."""
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
        return flag, bool(equals), value
    if word.startswith("-") and len(word) > 2:
        return word[:2], True, word[2:].removeprefix("=")
    return word, False, ""
