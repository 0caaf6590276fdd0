"""Stand-ins: what a file of kernels names and is not there, a framework for instance.

While files are imported they may be named, compared, subscripted, subclassed, called, used as decorators and
as defaults. A kernel that uses one is refused with the line that asked for what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.nki import site
from trnbench_emulator.nki.recording import STATE


class Reason(Record):
    """Why there is a stand-in: `problem` goes on after "torch.zeros is used, "."""

    problem: str
    cause: str
    remedy: str = ""


@contextmanager
def lenient() -> Iterator[None]:
    """While open, stand-ins may be called and asked for attributes."""
    STATE.files += 1
    try:
        yield
    finally:
        STATE.files -= 1


class StandInType(type):
    """Attributes of a stand-in are stand-ins."""

    _reason: Reason

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        child = stand_in(f"{cls.__module__}.{cls.__qualname__}".lstrip("."), name, cls._reason)
        setattr(cls, name, child)  # the same again, so that two of one name are equal
        return child

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if _decorates(args, kwargs):
            return args[0]
        _allow(cls)
        return super().__call__(*args, **kwargs)

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __iter__(cls) -> Iterator[Any]:
        raise refusal(cls)


class _StandIn(metaclass=StandInType):
    """What a call of a stand-in gives; false, as a question about something that is not there."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Takes whatever it is given."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _decorates(args, kwargs):
            return args[0]
        _allow(type(self))
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _allow(type(self))
        return getattr(type(self), name)

    def __bool__(self) -> bool:
        return False


def _refuse(value: Any, *_: Any) -> Any:
    raise refusal(value if isinstance(value, type) else type(value))


for _name in (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod", "pow", "neg"),
    *("lt", "le", "gt", "ge", "int", "float", "index", "len", "matmul"),
):
    setattr(StandInType, f"__{_name}__", _refuse)
    setattr(_StandIn, f"__{_name}__", _refuse)


def stand_in(parent: str, name: str, reason: Reason) -> Any:
    """A class that stands for `parent.name`."""
    return StandInType(name, (_StandIn,), {"__module__": parent, "_reason": reason})


def is_stand_in(value: Any) -> bool:
    return isinstance(value if isinstance(value, type) else type(value), StandInType)


def refusal(kind: Any) -> KernelError:
    """The error for using a stand-in, where it is used now."""
    name = f"{kind.__module__}.{kind.__qualname__}".lstrip(".")
    reason = kind._reason
    return KernelError(
        f"{name} is used, {reason.problem} ({site.here()})", cause=reason.cause, try_=reason.remedy
    )


def hollow(name: str, answer: Callable[[str], Any]) -> ModuleType:
    """A module without a file: each of its attributes is what `answer` says of the name, once."""
    module = ModuleType(name)
    module.__path__ = []

    def attribute(wanted: str) -> Any:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        child = answer(wanted)
        setattr(module, wanted, child)
        return child

    vars(module)["__getattr__"] = attribute
    return module


def _decorates(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if len(args) != 1 or kwargs or is_stand_in(args[0]):
        return False
    return isinstance(args[0], (FunctionType, type)) or hasattr(args[0], "__wrapped__")


def _allow(kind: Any) -> None:
    """Raises `KernelError` unless files are being executed: only then may a stand-in be used."""
    if STATE.recorder is not None or not STATE.files:
        raise refusal(kind)
