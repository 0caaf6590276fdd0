"""What all code of a process shares (working folder, locale, signals), checked around code of others."""

from __future__ import annotations

import builtins
import operator
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

from trnbench.isolation.interrupt import CaseTimeout, can_limit, limited
from trnbench.isolation.output import aside
from trnbench.record import Record

_SIGNAL: Any = import_module("_signal")
"""Below `signal`, which makes an enumeration of every number."""

_NUMBERS = tuple(sorted(map(int, _SIGNAL.valid_signals())))
_STREAMS = ("stdin", "stdout", "stderr")
_DESCRIPTORS = (0, 1, 2)
_LIMITS = (
    *(resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE),
    *(resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_STACK),
)


class Surroundings:
    """As they are now. `put_back` later says what differs and makes it as it was.

    The state of the random generators, Python's and NumPy's, counts where `drawn` says so and they are
    loaded now.
    """

    def __init__(self, *, drawn: bool = True) -> None:
        self._before = {name: part.read() for name, part in _PARTS.items() if drawn or name != DRAWN}
        self._kept = [_copied(each) for each in _DESCRIPTORS]

    def put_back(self) -> tuple[str, ...]:
        """What is not as it was, in words; it is again when this returns. To be called once."""
        changed = {STREAMS} if self._descriptors_put_back() else set()
        for name, before in self._before.items():
            part = _PARTS[name]
            if not part.same(before, part.read()):
                part.write(before)
                changed.add(name)
        return tuple(name for name in self._before if name in changed)

    def _descriptors_put_back(self) -> bool:
        changed = False
        for number, kept in zip(_DESCRIPTORS, self._kept, strict=True):
            if kept is None:
                continue
            if _identity(number) != _identity(kept):
                os.dup2(kept, number)
                changed = True
            os.close(kept)
        return changed


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # removed under our feet
        return ""


def _to_folder(path: str) -> None:
    with suppress(OSError):
        os.chdir(path)


def umask() -> int:
    """That of this process."""
    mask = os.umask(0o077)  # for this moment nothing that another thread writes is open to others
    os.umask(mask)
    return mask


def _locale() -> str:
    import _locale

    return _locale.setlocale(_locale.LC_ALL, None)


def _to_locale(name: str) -> None:
    import _locale

    with suppress(Exception):  # its own kind of error
        _locale.setlocale(_locale.LC_ALL, name)


def _handlers() -> tuple[Any, ...]:
    return tuple(map(_SIGNAL.getsignal, _NUMBERS))


def _to_handlers(handlers: tuple[Any, ...]) -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    for number, handler in zip(_NUMBERS, handlers, strict=True):
        if handler is not None and _SIGNAL.getsignal(number) is not handler:
            signal.signal(number, handler)


def _mask() -> set[int]:
    return set(_SIGNAL.pthread_sigmask(signal.SIG_BLOCK, ()))


def _to_mask(mask: set[int]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _drawn() -> tuple[Any, ...]:
    random, numpy = sys.modules.get("random"), getattr(sys.modules.get("numpy"), "random", None)
    return random.getstate() if random else None, numpy.get_state() if numpy else None


def _to_drawn(states: tuple[Any, ...]) -> None:
    if states[0] is not None:
        sys.modules["random"].setstate(states[0])
    if states[1] is not None:
        sys.modules["numpy"].random.set_state(states[1])


def _streams() -> tuple[Any, ...]:
    found = [getattr(sys, stream, None) for stream in _STREAMS]
    return (*found, *(bool(getattr(each, "closed", False)) for each in found))


def _to_streams(streams: tuple[Any, ...]) -> None:
    for number, (name, stream, closed) in enumerate(zip(_STREAMS, streams[:3], streams[3:], strict=True)):
        if stream is not None and stream.closed and not closed:
            # For good: another one on the same descriptor.
            stream = open(number, "w" if number else "r", errors=stream.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)


def _names() -> dict[str, Any]:
    return dict(vars(builtins))


def _to_names(names: dict[str, Any]) -> None:
    vars(builtins).update(names)
    for added in vars(builtins).keys() - names.keys():
        delattr(builtins, added)


def _path() -> tuple[str, ...]:
    return tuple(sys.path)


def _to_path(path: tuple[str, ...]) -> None:
    sys.path[:] = path


def _limits() -> tuple[tuple[int, int], ...]:
    return tuple(map(resource.getrlimit, _LIMITS))


def _to_limits(limits: tuple[tuple[int, int], ...]) -> None:
    for number, (soft, _) in zip(_LIMITS, limits, strict=True):
        with suppress(OSError, ValueError):  # the hard one has come down, for good
            resource.setrlimit(number, (soft, resource.getrlimit(number)[1]))


def _all_there(before: tuple[str, ...], now: tuple[str, ...]) -> bool:
    return set(before) <= set(now)


def _no_lower(before: tuple[tuple[int, int], ...], now: tuple[tuple[int, int], ...]) -> bool:
    pairs = zip(before, now, strict=True)
    return all(_height(here) <= _height(there) for pair in pairs for here, there in zip(*pair, strict=True))


def _height(limit: int) -> float:
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def _identical(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    return all(map(operator.is_, before, now))


def _same_names(before: dict[str, Any], now: dict[str, Any]) -> bool:
    return before.keys() == now.keys() and _identical(tuple(before.values()), tuple(map(now.get, before)))


def _same_states(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    same = before[0] is None or before[0] == now[0]
    if same and before[1] is not None and now[1] is not None:
        (_, ours, *rest), (_, theirs, *others) = before[1], now[1]
        return bool(rest == others and ours.tobytes() == theirs.tobytes())
    return bool(same)


def _copied(descriptor: int) -> int | None:
    with suppress(OSError):
        return os.dup(descriptor)
    return None


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _Part(Record):
    read: Callable[[], Any]
    write: Callable[[Any], object]
    same: Callable[[Any, Any], bool] = operator.eq


DRAWN, STREAMS = "the state of the random generators", "the standard streams"
_PARTS = {
    # First: with a lower one nothing else can be put back.
    "the recursion limit": _Part(sys.getrecursionlimit, sys.setrecursionlimit, operator.le),
    "the working folder": _Part(_folder, _to_folder),
    "the umask": _Part(umask, os.umask),
    "the locale": _Part(_locale, _to_locale),
    "the handlers of signals": _Part(_handlers, _to_handlers, _identical),
    "the blocked signals": _Part(_mask, _to_mask),
    DRAWN: _Part(_drawn, _to_drawn, _same_states),
    STREAMS: _Part(_streams, _to_streams, _identical),
    "the builtins": _Part(_names, _to_names, _same_names),
    "the path of modules": _Part(_path, _to_path, _all_there),
    "the limits of resources": _Part(_limits, _to_limits, _no_lower),
}


LIMIT_S = 10.0
"""For a plugin's import, for each of its hooks and for a section of the report."""


class Misbehaved(Exception):
    """What others' code did to this process. `what` goes on from its name: "does not end within 10 s"."""

    def __init__(self, what: str, cause: str) -> None:
        super().__init__(what)
        self.what, self.cause = what, cause


class Exit(BaseException):
    """What `os._exit` raises where an end of the process is none; its text is the call."""


@contextmanager
def held(limit_s: float = 0.0) -> Iterator[None]:
    """Plugins' code goes inside.

    Its output goes to standard error. Raises `Misbehaved` when it takes longer than `limit_s` (0: `LIMIT_S`)
    in the main thread, calls `os._exit`, or leaves the process's surroundings changed: they are put back.
    What it raises itself passes; whether a `KeyboardInterrupt` is the user's, `interrupt.from_outside` says.
    """
    limit_s = limit_s or LIMIT_S
    with aside():
        before = Surroundings()
        try:
            with exits_raise(), limited(limit_s if can_limit() else 0.0):
                yield
        except CaseTimeout:
            raise Misbehaved(
                f"does not end within {limit_s:g} s",
                "it waits for something, or computes before it is asked to",
            ) from None
        except Exit as end:
            raise Misbehaved(
                f"ends the process: {end}", "it does not say what is wrong by an exception"
            ) from None
        finally:
            changed = before.put_back()
        if changed:
            raise Misbehaved(
                f"changes {' and '.join(changed)} of the whole process",
                "what all code shares is not a plugin's to change; it was put back",
            )


@contextmanager
def exits_raise() -> Iterator[None]:
    """`os._exit` called inside, in this process, is an exception: an end without a word is none."""
    usual, process = os._exit, os.getpid()

    def instead(status: int) -> NoReturn:
        if os.getpid() != process or os._exit is not instead:
            usual(status)
        raise Exit(f"os._exit({status})")

    os._exit = instead
    try:
        yield
    finally:
        os._exit = usual
