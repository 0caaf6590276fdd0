"""What a backend returns, checked where it arrives: nonsense is its owner's fault, and is said to be."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from trnbench.backend import Backend, Detection, Observation
from trnbench.digest import package_of
from trnbench.distribution import own_packages
from trnbench.errors import PluginError, TrnbenchError
from trnbench.isolation.interrupt import CaseTimeout, can_limit, from_outside, limited
from trnbench.isolation.output import aside
from trnbench.isolation.surroundings import LIMIT_S
from trnbench.results.measurement import Evidence, Part, Reason

_TEXTS = ("clock", "stop_reason", "bound", "implementation", "reason_text")


_MAPPINGS = ("counters", "work", "detail")


_FOUND_TEXTS = ("instance", "why", "try_")


_FOUND_NAMES = ("also", "kinds", "unverified")


class Wrapper:
    """A backend of the run's own around another one."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend


class Nonsense(TrnbenchError):
    """What a backend returned for one case is not what it promises to return."""


def unwrapped(backend: Backend) -> Backend:
    """The backend that a plugin brought."""
    return backend.backend if isinstance(backend, Wrapper) else backend


def detected(backend: Backend) -> Detection:
    """What the backend finds here. Raises `PluginError` where `detect()` raises or returns something else."""
    ours = package_of(type(unwrapped(backend))) in own_packages()
    try:
        with aside(), limited(LIMIT_S if can_limit() and not ours else 0.0):
            detection: Any = backend.detect()
    except CaseTimeout:
        raise _blamed(backend, f"does not end detect() within {LIMIT_S:g} s") from None
    except BaseException as error:
        if from_outside(error):
            raise
        raise _blamed(backend, f"raises from detect(): {type(error).__name__}: {error}") from error
    if not isinstance(detection, Detection):
        raise _blamed(backend, f"returns {type(detection).__name__} from detect(), not a Detection")
    for name in _FOUND_TEXTS:
        if not isinstance(getattr(detection, name), str):
            raise _blamed(backend, f"returns from detect() a {name} that is no text")
    for name in _FOUND_NAMES:
        if not _all_texts(getattr(detection, name)):
            raise _blamed(backend, f"returns from detect() a {name} that is no tuple of texts")
    return detection


def checked_refusal(backend: Backend, why: Any) -> str:
    """What `unsupported()` returned. Raises `Nonsense` where it is no text."""
    if not isinstance(why, str):
        raise _nonsense(backend, f"returns {type(why).__name__} from unsupported(), not a text")
    return why


def checked_observation(backend: Backend, seen: Any) -> Observation:
    """What `observe()` returned. Raises `Nonsense` naming the field that is not of its type."""
    if not isinstance(seen, Observation):
        raise _nonsense(backend, f"returns {type(seen).__name__} from observe(), not an Observation")
    wrong = next((name for name, right in _fields(seen).items() if not right), "")
    if wrong:
        kind = type(getattr(seen, wrong)).__name__
        raise _nonsense(backend, f"returns from observe() an Observation with {kind} as its {wrong}")
    return seen


def _fields(seen: Observation) -> dict[str, bool]:
    return {
        "evidence": isinstance(seen.evidence, Evidence),
        "time_s": seen.time_s is None or _number(seen.time_s),
        "samples": isinstance(seen.samples, tuple) and all(map(_number, seen.samples)),
        "parts": isinstance(seen.parts, tuple) and all(isinstance(part, Part) for part in seen.parts),
        "notes": _all_texts(seen.notes),
        "loads": isinstance(seen.loads, Mapping)
        and all(isinstance(name, str) and _number(load) for name, load in seen.loads.items()),
        "reason": isinstance(seen.reason, Reason),
        **{name: isinstance(getattr(seen, name), str) for name in _TEXTS},
        **{name: isinstance(getattr(seen, name), Mapping) for name in _MAPPINGS},
    }


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _all_texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) for value in values)


def _nonsense(backend: Backend, what: str) -> Nonsense:
    return Nonsense(f"backend {backend.name!r} {what}", cause=f"a bug in {_home(backend)}")


def _blamed(backend: Backend, what: str) -> PluginError:
    return PluginError(
        f"backend {backend.name!r} {what}",
        cause=f"a bug in {_home(backend)}",
        try_="trnbench plugin check; another one: trnbench list backends",
        object_=f"Backend {backend.name!r}",
    )


def _home(backend: Backend) -> str:
    kind = type(unwrapped(backend))
    return f"{kind.__module__}.{kind.__qualname__}"
