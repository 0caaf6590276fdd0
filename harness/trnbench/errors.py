"""Every error a person can meet: what happened, the likely cause, what to type next.

TrnbenchError (3)
├── UsageError (2)            wrong arguments, wrong configuration
│   ├── UnknownName           a name nobody provides; suggests the nearest ones
│   └── BadInput              a file or value that cannot be read as what it claims to be
│       └── MissingFile
├── FactError (2)             a fact file that breaks the rules; UnitError for units
│   └── UnitError             a unit nobody prints, or of another dimension or scope than its figure
├── TopologyError (2)         a graph that cannot be built or is not what was asked for
├── StoreError (2)            the result store is missing, locked, corrupt or too new
├── PluginError (3)           a plugin failed; names distribution, version, hook, object
├── NothingSelected (5)
└── KernelError (3)           a kernel broke a rule of the machine it was written for
"""

from __future__ import annotations

import copyreg
import os
from collections.abc import Iterable
from enum import IntEnum

MOST = 60


def cut(text: str, most: int = MOST) -> str:
    """`text`, its middle left out where it has more than `most` characters; how many it has is said."""
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]}…{text[-most // 6 :]} ({len(text):,} characters)"


def visible(text: str) -> str:
    """`text` with what cannot be printed, or would turn its neighbours round, written as escapes."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def quoted(text: str, most: int = MOST) -> str:
    """`cut`, in quotes, with what cannot be printed escaped."""
    if len(text) <= most:
        return repr(text)
    return f"{text[: most * 2 // 3] + '…' + text[-most // 6 :]!r} ({len(text):,} characters)"


QUOTED_LENGTH = 200
"""Characters, whatever a record is called."""


def brief(record: object, text: str) -> str:
    """`<Run 20260101-120000-abcd: 88 cases>`."""
    shown = visible(text)
    short = shown if len(shown) <= QUOTED_LENGTH else f"{shown[: QUOTED_LENGTH - 1]}…"
    return f"<{type(record).__name__} {short}>"


def counted(number: int, noun: str) -> str:
    """`1 case`, `1,904 cases`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(names: Iterable[str], noun: str, most: int = 3) -> str:
    """The names, or how many there are where they are more than `most`."""
    names = list(names)
    return ", ".join(names) if len(names) <= most else counted(len(names), noun)


DEBUG = "TRNBENCH_DEBUG"
LONGEST = 1000
"""Characters of one part of a message: what was typed, or what a tool said, may have any number."""


def debugging() -> bool:
    """Whether TRNBENCH_DEBUG asks for tracebacks and for what libraries say; 0 is no."""
    return os.environ.get(DEBUG, "0") not in ("", "0")


class ExitCode(IntEnum):
    """Process exit codes. Where several apply, the first of `PRECEDENCE` wins."""

    OK = 0
    GATE = 1  # a gate failed, a result is wrong or suspect
    USAGE = 2  # usage, configuration, missing or unreadable file
    CRASH = 3  # a case or a plugin crashed, internal error
    EMPTY = 5  # nothing selected, or all that was selected skipped
    TIMEOUT = 124
    INTERRUPTED = 130


PRECEDENCE = (
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.EMPTY,
    ExitCode.CRASH,
    ExitCode.TIMEOUT,
    ExitCode.GATE,
    ExitCode.OK,
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The code that a command returns when all of `codes` apply."""
    present = set(codes)
    return next((code for code in PRECEDENCE if code in present), ExitCode.OK)


class TrnbenchError(Exception):
    """Base of all errors shown without a traceback.

    `what` happened, the likely `cause`, and what to `try_` next; each one sentence.
    """

    exit_code = ExitCode.CRASH

    def __init__(self, what: str, *, cause: str = "", try_: str = "") -> None:
        self.what, self.cause, self.try_ = (cut(each, LONGEST) for each in (what, cause, try_))
        super().__init__(self.what)

    def __str__(self) -> str:
        lines = [self.what]
        if self.cause:
            lines.append(f"  cause: {self.cause}")
        if self.try_:
            lines.append(f"  try:   {self.try_}")
        return "\n".join(lines)

    @property
    def sentence(self) -> str:
        """What happened and its cause, where there is room for one line."""
        return f"{self.what}: {self.cause}" if self.cause else self.what

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders (--jobs); keyword arguments do not survive the default.
        return (copyreg.__newobj__, (type(self), self.what), self.__dict__.copy())  # type: ignore[attr-defined]


class UsageError(TrnbenchError):
    exit_code = ExitCode.USAGE


class UnknownName(UsageError):
    """`name` is no known `kind` ("instance", "kernel", …); `cause` says why where nearness is no reason.

    `known` is shown sorted, or with `ordered` as it comes.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        try_: str = "",
        cause: str = "",
        ordered: bool = False,
    ) -> None:
        from difflib import get_close_matches

        known = list(known) if ordered else sorted({*known})
        near = get_close_matches(name, known, n=3, cutoff=0.5)
        listed = near or known[:12]
        nearest = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(listed)}"
        if not near and len(known) > len(listed):
            nearest += f", … ({len(known)} in all)"
        if not known:
            nearest = f"no {kind} is installed"
        if (several := [word.strip() for word in name.split(",")])[1:] and {*several} <= {*known}:
            nearest = "a comma makes one name of several"
            try_ = f"each by itself, an option once for each: {' and '.join(several)}"
        self.kind, self.name, self.known = kind, name, known
        super().__init__(f"unknown {kind} {name!r}", cause=cause or nearest, try_=try_)


class BadInput(UsageError):
    """A file or value that is not what it should be."""


class MissingFile(BadInput):
    pass


class FactError(UsageError):
    pass


class UnitError(FactError):
    pass


class TopologyError(UsageError):
    pass


class StoreError(UsageError):
    pass


class PluginError(TrnbenchError):
    """A plugin failed. The fields say whose fault it is; "" where a field does not apply."""

    def __init__(
        self,
        what: str,
        *,
        cause: str = "",
        try_: str = "",
        plugin: str = "",  # name of the entry point
        distribution: str = "",
        version: str = "",
        hook: str = "",
        object_: str = "",  # what was yielded: "Kernel 'gemm'"
    ) -> None:
        super().__init__(what, cause=cause, try_=try_)
        self.plugin, self.distribution, self.version = plugin, distribution, version
        self.hook, self.object = hook, object_


class KernelError(TrnbenchError):
    pass


class NothingSelected(TrnbenchError):
    exit_code = ExitCode.EMPTY
