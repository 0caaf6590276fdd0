"""Strange texts: what is taken, changed in the ways that break readers."""

from __future__ import annotations

from random import Random

_PRINTED = """
    0 -0 -1 1 00 +1 1e308 1e309 -1e999 1e-400 inf -inf nan NaN Infinity 0x10 1_000 1,5 0.1 .5 5. 1.0000001
    2**99 99999999 4294967296 9223372036854775808 ½ ٣ １２ ² ∞ −1 é 日本 🜁 ' " ` \\ \\x $(id) ; | & <b> {} {0}
    %s %n % [ ] [[ ( ) (( { } * ** ? ~ ~root / // . .. ../.. /dev/null /dev/full /proc/self/mem = == : :: ,
    ,, - -- -h --help @ # null true None not and or x= =x x=1 size= size=1:2:0 a.b.c K M T 1K 1T 999999T us
    1us %1
"""

_HIDDEN = ("", " ", "\x00", "\x07", "\x1b[31m", "\x1b]0;x\x07", "\r", "\n", "\t", "\x7f", "\x85", "\u2028")
_TURNED = ("\u202e", "\u200b", "\ufeff", "e\u0301", "\udc80", "\udcff")

_LONG = (
    *("9" * 20, "9" * 400, "9" * 4301, "1e" + "9" * 30, "a" * 300, "a" * 5000, "1x" * 500 + "1", "1," * 5000),
    *("[" * 200, "(" * 200, "{" * 200, "[" * 5000, "not " * 500, "a and " * 500 + "a"),
)

ATOMS = (*_PRINTED.split(), *_HIDDEN, *_TURNED, *_LONG)
"""What is put in."""

LONGEST = 100_000
"""Characters: what a command line takes at once."""


def mutated(drawn: Random, examples: tuple[str, ...]) -> str:
    """One of `examples` after one to four changes; of an atom alone in one of ten."""
    if drawn.random() < 0.1:
        return drawn.choice(ATOMS)
    text = drawn.choice(examples)
    for _ in range(drawn.randint(1, 4)):
        text = drawn.choice(_CHANGES)(drawn, text)[:LONGEST]
    return text


def _put_in(drawn: Random, text: str) -> str:
    at = drawn.randint(0, len(text))
    return text[:at] + drawn.choice(ATOMS) + text[at:]


def _replaced(drawn: Random, text: str) -> str:
    """A word of it by an atom."""
    first, last = _part(drawn, text)
    return text[:first] + drawn.choice(ATOMS) + text[last:]


def _removed(drawn: Random, text: str) -> str:
    first, last = _part(drawn, text)
    return text[:first] + text[last:]


def _repeated(drawn: Random, text: str) -> str:
    first, last = _part(drawn, text)
    return text[:first] + text[first:last] * drawn.choice((2, 3, 10, 200)) + text[last:]


def _exchanged(drawn: Random, text: str) -> str:
    first, last = _part(drawn, text)
    return text[last:] + text[first:last] + text[:first]


def _flipped(drawn: Random, text: str) -> str:
    """A bit of one character."""
    if not text:
        return drawn.choice(ATOMS)
    at = drawn.randrange(len(text))
    return text[:at] + chr(ord(text[at]) ^ (1 << drawn.randrange(7))) + text[at + 1 :]


def _part(drawn: Random, text: str) -> tuple[int, int]:
    """A word, a number, or any part."""
    first = drawn.randint(0, len(text))
    last = first
    if drawn.random() < 0.5:
        while last < len(text) and text[last].isalnum():
            last += 1
    return first, max(last, min(len(text), first + drawn.randint(0, 8)))


_CHANGES = (_put_in, _put_in, _replaced, _replaced, _removed, _repeated, _exchanged, _flipped)
