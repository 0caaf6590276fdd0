"""Whose machine it was: taken out of everything that reaches a run, unless it is to be kept."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

_KEPT: ContextVar[bool] = ContextVar("identity_kept", default=False)
"""Set by --keep-identity for the length of a run; everything else is scrubbed."""

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bi-[0-9a-f]{8,17}\b"), "<instance-id>"),
    (re.compile(r"\bip-\d{1,3}(-\d{1,3}){3}[\w.-]*"), "<host>"),
    (re.compile(r"\b[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}\b"), "<address>"),
    (re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+@"), "<secret>@"),
    (re.compile(r"\b[\w.+-]+@[\w-]+(\.[\w-]+)+\b"), "<address>"),
    (re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"), "<secret>"),
)
_SECRET = re.compile(
    r"(^|_)(SECRETS?|TOKENS?|PASSW(OR)?D|PASSPHRASE|PASS|PWD|CREDENTIALS?|AUTH|COOKIE|SIGNATURE|PAT"
    r"|API_?KEY|ACCESS_?KEY(_ID)?|PRIVATE_?KEY|KEY)(_|$)"
)
"""Names of variables whose values are nobody's business."""
_SHORTEST_SECRET = 8
_NO_SECRETS = frozenset({"PWD", "OLDPWD"})  # folders, in every shell

_ORDINARY = frozenset({"", "root", "user", "users", "admin", "localhost", "linux", "build", "home", "work"})
_SEGMENTS = r"((?:/[^/\s:'\",;)\]}>]+)*)"
_BETWEEN = "…"


@contextlib.contextmanager
def identity(*, kept: bool) -> Iterator[None]:
    """Inside, `scrub` leaves names, paths and addresses in where they are to be `kept`."""
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)


def is_kept() -> bool:
    """Whether --keep-identity holds here."""
    return _KEPT.get()


def scrub(text: str) -> str:
    """`text` without paths below the home folder, names of user and host, addresses and secrets.

    Of a path below the home folder its last name is left: ~/…/my.toml.
    """
    if _KEPT.get():
        return text
    text = scrub_private(text)
    for pattern, instead in (*_PATTERNS, *_own_names()):
        text = pattern.sub(instead, text)
    return text


def scrub_private(text: str) -> str:
    """`scrub` of what is no word of any language: secrets and paths below the home folder."""
    if _KEPT.get():
        return text
    text = text.encode("utf-8", "backslashreplace").decode()
    for secret in _secrets():
        text = text.replace(secret, "<secret>")
    for beginning, pattern in _homes():
        if beginning in text:  # a search that takes a tenth of the pattern's
            text = pattern.sub(lambda found: _below(found[1]), text)
    return text


def scrub_all(value: Any, by: Callable[[str], str] = scrub) -> Any:
    """`scrub` for every text in a JSON-like value, keys included."""
    if isinstance(value, str):
        return by(value)
    if isinstance(value, Mapping):
        return {by(str(key)): scrub_all(item, by) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [scrub_all(item, by) for item in value]
    return value


def scrub_argv(argv: Iterable[str]) -> tuple[str, ...]:
    """A command line as it can be shown: the program by its name, own paths shortened."""
    words = [str(word) for word in argv]
    if words:
        words[0] = Path(words[0]).name
        if words[0] == "__main__.py":
            words[0] = "trnbench"
    if _KEPT.get():
        return tuple(words)
    return tuple(_without_addresses(scrub(scrub_path(word))) for word in words)


def scrub_path(word: str) -> str:
    """A path, or an option with one behind its equals sign: spaces in it are no end of it."""
    if _KEPT.get():
        return word
    option, equals, path = word.partition("=") if word.startswith("-") else ("", "", word)
    for home in _home_folders():
        if path.startswith(f"{home}/"):
            return f"{option}{equals}{_below(path.removeprefix(home))}"
    return word


def is_named(document: bytes) -> bool:
    """Whether JSON has a name of user or host, the home folder or a secret in it."""
    return not _KEPT.get() and any(mark in document for mark in _marks())


def _below(rest: str) -> str:
    names = [name for name in rest.split("/") if name]
    if not names:
        return "~"
    return f"~/{names[-1]}" if len(names) == 1 else f"~/{_BETWEEN}/{names[-1]}"


def is_shortened(path: str) -> bool:
    """Whether folders were left out of a path below the home folder."""
    return path.startswith(f"~/{_BETWEEN}/")


def _without_addresses(word: str) -> str:
    # Only here: in the environment, four numbers with dots are a driver's version.
    return re.sub(r"(?<![\w.])\d{1,3}(\.\d{1,3}){3}(?![\w.])", "<address>", word)


@cache
def _home_folders() -> tuple[str, ...]:
    homes = [os.path.expanduser("~")]
    with contextlib.suppress(ImportError, KeyError, OSError):  # an account without an entry
        import pwd

        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    homes += [os.path.realpath(home) for home in homes]
    return tuple(dict.fromkeys(home.rstrip("/") for home in homes if home.rstrip("/") not in ("", "~")))


@cache
def _homes() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The text that a path begins with, and its pattern."""
    ends = r"(?=[/\s:'\",;)\]}>]|$)"
    return (
        *((home, re.compile(re.escape(home) + ends + _SEGMENTS)) for home in _home_folders()),
        ("~/", re.compile(r"(?<![\w/~.])~(?=/)" + _SEGMENTS)),
    )


@cache
def _secrets() -> tuple[str, ...]:
    """The longest first: one may be part of another."""
    secrets = {
        value
        for name, value in os.environ.items()
        if _SECRET.search(name.upper()) and name not in _NO_SECRETS and len(value) >= _SHORTEST_SECRET
    }
    return tuple(sorted(secrets, key=lambda each: (-len(each), each)))


@cache
def _words() -> tuple[tuple[str, str], ...]:
    hosts = [platform.node(), os.environ.get("HOSTNAME", "")]
    # The whole name before its first part, or the domain would be left over.
    names = [(name, "<host>") for host in hosts for name in (host, host.partition(".")[0])]
    users = [os.environ.get(name, "") for name in ("LOGNAME", "USER", "SUDO_USER")]
    with contextlib.suppress(KeyError, OSError):  # an account without a name
        import getpass

        users.append(getpass.getuser())
    names += [(name, "<user>") for name in users]
    # None that is an ordinary word, or too short to tell anything.
    return tuple(
        dict.fromkeys(
            (name, replacement)
            for name, replacement in names
            if len(name) > 2 and name.lower() not in _ORDINARY
        )
    )


@cache
def _own_names() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple(
        (re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])"), replacement) for name, replacement in _words()
    )


@cache
def _marks() -> tuple[bytes, ...]:
    names = (*_home_folders(), *_secrets(), *(name for name, _ in _words()))
    return tuple(json.dumps(each, ensure_ascii=False)[1:-1].encode("utf-8", "replace") for each in names)


def forget() -> None:
    """What was found out about this machine is found out anew."""
    for cached in (_home_folders, _homes, _secrets, _words, _own_names, _marks):
        cached.cache_clear()
