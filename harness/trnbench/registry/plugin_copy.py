"""Functions of plugins of others, each call in a copy of the process: runs go there as copies, and what is
returned comes back as a message."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple

from msgspec.structs import replace

from trnbench.errors import TrnbenchError
from trnbench.isolation.surroundings import Misbehaved, held
from trnbench.reference import resolve
from trnbench.registry.discovery import Origin
from trnbench.registry.loader import described

FILE_S = 60.0
"""For what reads or writes a whole file, or draws a page; a section and a look at the machine take 10 s."""

WORDS = 1 << 20
"""Characters that one call may say."""

_OWN_ERRORS = "trnbench.errors"

_FIELDS = {
    "Importer": "read",
    "Format": "write",
    "Page": "write",
    "Trace": "timeline",
    "Section": "render",
    "ExecutorEntry": "detect",
}
_SOON = ("Section", "ExecutorEntry")


class Apart(str):
    """A reference whose function works in a copy of this process; `call` is that function."""

    call: Call


def apart(value: Any, origin: Origin) -> Any:
    """What a plugin of others brought, with its function kept apart."""
    kind = type(value).__name__
    field = _FIELDS.get(kind, "")
    if not field or not getattr(value, field):
        return value
    kept = Apart(getattr(value, field))
    kept.call = Call(origin, str(kept), 0.0 if kind in _SOON else FILE_S)
    return replace(value, **{field: kept})


class _Answer(NamedTuple):
    """`error` where the function raised something of ours, `fault` in words where it did something else."""

    value: bytes = b""
    error: TrnbenchError | None = None
    fault: str = ""
    cause: str = ""


class Call:
    """Calls what `reference` names. Raises `PluginError` with the plugin's name, or the error of ours that
    the function raised."""

    def __init__(self, origin: Origin, reference: str, limit_s: float = 0.0) -> None:
        self._origin, self._reference, self._limit_s = origin, reference, limit_s

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._asked(lambda: resolve(self._reference)(*arguments, **options))

    @cached_property
    def __signature__(self) -> Signature:
        """The function's parameters, so that it is given what it takes."""
        kinds = self._asked(lambda: _kinds(resolve(self._reference)))
        return Signature([Parameter(name, kind) for name, kind in kinds])

    def _asked(self, function: Callable[[], Any]) -> Any:
        import pickle

        from trnbench.isolation.child import Lost, Overdue, carried_out  # brings multiprocessing

        said = 0

        def saying(text: str) -> None:
            nonlocal said
            said += len(text)
            if said <= WORDS:
                sys.stderr.write(text)

        def work(_send: Callable[[str, Any], None]) -> _Answer:
            return self._answer(function)

        try:
            answer = carried_out(work, {"stdout": saying, "stderr": saying})
        except Lost as error:
            raise self._blamed(f"ends its process: it {error.how}", "an end without a word is none") from None
        except Overdue as error:
            cause = "it hangs where no alarm reaches it"
            raise self._blamed(f"does not end within {error.seconds:g} s", cause) from None
        if answer.error is not None:
            raise answer.error
        if answer.fault:
            raise self._blamed(answer.fault, answer.cause)
        try:
            return pickle.loads(answer.value)
        except Exception as error:
            raise self._blamed("returns what cannot be read", described(error)) from None

    def _answer(self, function: Callable[[], Any]) -> _Answer:
        """In the copy."""
        import pickle

        try:
            with held(self._limit_s):
                value = function()
            return _Answer(pickle.dumps(value))
        except Misbehaved as error:
            return _Answer(fault=error.what, cause=error.cause)
        except TrnbenchError as error:
            if type(error).__module__ == _OWN_ERRORS:
                return _Answer(error=error)
            return _Answer(fault="fails", cause=described(error))
        except BaseException as error:
            return _Answer(fault="fails", cause=described(error))

    def _blamed(self, what: str, cause: str) -> TrnbenchError:
        return self._origin.blame(f"{what}, in {self._reference}", cause=cause, object_=self._reference)


def _kinds(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    return [(name, each.kind) for name, each in signature(function).parameters.items()]
