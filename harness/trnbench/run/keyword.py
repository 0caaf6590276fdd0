"""Expressions of `-k`: words with and, or, not and parentheses, and what each fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TypeAlias

import msgspec

from trnbench.errors import UsageError

Words: TypeAlias = frozenset[str]
"""What a case is called, in lower case: see `names_of`."""

Test: TypeAlias = Callable[[Words], bool]

_TOKEN = r"\s*(?:(?P<paren>[()])|(?P<word>[^\s()]+))"
_DEEPEST = 50


class _Token(msgspec.Struct, frozen=True):
    text: str
    at: int


def names_of(name: str) -> Iterator[str]:
    """A name and its parts: all_reduce, all, reduce."""
    name = name.lower()
    yield name
    yield from name.replace("-", "_").replace(".", "_").split("_")


def parse_keyword(text: str) -> Test:
    """The test that an expression means.

    A word fits what equals it or a part between `_`, `-` and `.`, so that `gemm` fits gemm_skinny
    but fp8 does not fit mxfp8; `*` and `?` are wild. `not` binds closer than `and`, `and` closer
    than `or`. Raises `UsageError` with the place of the mistake.
    """
    tokens = [
        _Token(
            match["paren"] or match["word"], match.start("paren") if match["paren"] else match.start("word")
        )
        for match in re.finditer(_TOKEN, text)
    ]
    reader = _Reader(text, tokens)
    test = reader.either(0)
    if reader.left:
        raise reader.wrong(f"{reader.left[0].text!r} where 'and' or 'or' was expected")
    return test


def strangers(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """The words of an expression that fit nothing known, each with the nearest known ones."""
    known = frozenset(known)
    words = [match["word"].lower() for match in re.finditer(_TOKEN, text) if match["word"]]
    unknown = []
    for word in dict.fromkeys(words):
        if word not in ("and", "or", "not") and not _fits(word)(known):
            from difflib import get_close_matches

            near = get_close_matches(word, sorted(known), n=3, cutoff=0.5)
            unknown.append(f"{word} (nearest: {', '.join(near)})" if near else word)
    return tuple(unknown)


class _Reader:
    """Recursive descent; `left` are the tokens not read yet."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self.text, self.left = text, tokens

    def wrong(self, what: str) -> UsageError:
        where = f"at character {self.left[0].at + 1}" if self.left else "at the end"
        return UsageError(
            f"-k {self.text!r}: {what}, {where}",
            cause="an expression is words with and, or, not and parentheses",
            try_="-k 'gemm and not fp32'",
        )

    def _next_is(self, word: str) -> bool:
        if self.left and self.left[0].text.lower() == word:
            self.left.pop(0)
            return True
        return False

    def either(self, depth: int) -> Test:
        tests = [self.both(depth)]
        while self._next_is("or"):
            tests.append(self.both(depth))
        return tests[0] if len(tests) == 1 else lambda words: any(test(words) for test in tests)

    def both(self, depth: int) -> Test:
        tests = [self.one(depth)]
        while self._next_is("and"):
            tests.append(self.one(depth))
        return tests[0] if len(tests) == 1 else lambda words: all(test(words) for test in tests)

    def one(self, depth: int) -> Test:
        if depth > _DEEPEST:
            raise self.wrong(f"more than {_DEEPEST} levels of not and parentheses")
        if self._next_is("not"):
            inner = self.one(depth + 1)
            return lambda words: not inner(words)
        if self._next_is("("):
            inner = self.either(depth + 1)
            if not self._next_is(")"):
                raise self.wrong("a parenthesis is not closed")
            return inner
        if not self.left or self.left[0].text in ")" or self.left[0].text.lower() in ("and", "or"):
            found = repr(self.left[0].text) if self.left else "nothing"
            raise self.wrong(f"{found} where a word was expected")
        return _fits(self.left.pop(0).text.lower())


def _fits(word: str) -> Test:
    if "*" in word or "?" in word:
        return lambda words: any(fnmatchcase(each, word) for each in words)
    return lambda words: word in words
