"""What a result depends on, and nothing that says whose machine it was."""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

_KEPT: ContextVar[bool] = ContextVar("identity_kept", default=False)
"""Set by --keep-identity for the length of a run; everything else is scrubbed."""

_PACKAGES = ("trnbench", "msgspec", "numpy", "ml_dtypes", "pluggy", "click", "jinja2")
_IDENTITY = re.compile(
    r"(^|_)(host_?name|hosts?|node_?name|fqdn|domain|users?|username|login|home|email|ip|ipv4|ipv6|addr"
    r"|address(es)?|mac|serial|uuid|instance_id|account(_id)?|zone|region|ami|token|key|secret)$"
)
_PATTERNS = (
    (re.compile(r"\bi-[0-9a-f]{8,17}\b"), "<instance-id>"),
    (re.compile(r"\bip-\d{1,3}(-\d{1,3}){3}[\w.-]*"), "<host>"),
    (re.compile(r"\b[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}\b"), "<address>"),
    (re.compile(r"\b[\w.+-]+@[\w-]+(\.[\w-]+)+\b"), "<address>"),
)


def describe(extra: Mapping[str, Any] = {}) -> dict[str, Any]:
    """The machine and the software, flat and lower_snake; `extra` is what the backend adds.

    No host name, user name, address or path of the user's: those that `extra` brings are dropped
    (by their key) or replaced (inside values).
    """
    found: dict[str, Any] = {
        "python_version": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpu_count": os.cpu_count() or 0,
        "memory_bytes": _memory_bytes(),
        "byte_order": sys.byteorder,
    }
    if _KEPT.get():
        found["host_name"] = platform.node()
    found.update({f"package_{name.replace('-', '_')}": version for name, version in _versions().items()})
    for key, value in extra.items():
        name = re.sub(r"\W+", "_", str(key)).strip("_").lower()
        if name and (_KEPT.get() or not _IDENTITY.search(name)):
            found[name] = value if isinstance(value, (bool, int, float)) else scrub(str(value))
    return {key: scrub(value) if isinstance(value, str) else value for key, value in found.items()}


@contextlib.contextmanager
def identity(*, kept: bool) -> Iterator[None]:
    """Inside, `scrub` and `describe` leave names and addresses in where they are to be `kept`."""
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)


def scrub(text: str) -> str:
    """`text` without the home folder, the user's name, the host's name and addresses."""
    if _KEPT.get():
        return text
    text = text.encode("utf-8", "backslashreplace").decode()
    for pattern, instead in (*_PATTERNS, *_own_names()):
        text = pattern.sub(instead, text)
    return text


def scrub_all(value: Any) -> Any:
    """`scrub` for every text in a JSON-like value, keys included."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {scrub(str(key)): scrub_all(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [scrub_all(each) for each in value]
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
    return tuple(_without_addresses(scrub(word)) for word in words)


def _without_addresses(word: str) -> str:
    # Only here: in the environment, four numbers with dots are a driver's version.
    return re.sub(r"(?<![\w.])\d{1,3}(\.\d{1,3}){3}(?![\w.])", "<address>", word)


@cache
def _own_names() -> tuple[tuple[re.Pattern[str], str], ...]:
    names: list[tuple[re.Pattern[str], str]] = []
    home = os.path.expanduser("~")
    if home not in ("", "/", "~"):
        names.append((re.compile(re.escape(home) + r"(?=[/\s:'\",]|$)"), "~"))
    # The whole name before its first part, or the domain would be left over.
    names += [(_word(name), "<host>") for name in (platform.node(), platform.node().partition(".")[0])]
    with contextlib.suppress(KeyError, OSError):  # an account without a name
        names.append((_word(getpass.getuser()), "<user>"))
    return tuple(pair for pair in names if pair[0].pattern != _NOTHING)


_NOTHING = r"(?!)"
_ORDINARY = frozenset({"", "root", "user", "users", "admin", "localhost", "linux", "build", "home", "work"})


def _word(name: str) -> re.Pattern[str]:
    """Matches `name` as a whole word; nothing for names that are ordinary words or too short."""
    if len(name) < 3 or name.lower() in _ORDINARY:
        return re.compile(_NOTHING)
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


@cache
def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "Processor"):
                return value.strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


@cache
def _versions() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
