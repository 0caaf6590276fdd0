"""NKIObject: the base of configuration objects in kernels, and of tensors."""

from __future__ import annotations

import inspect
from typing import Any


class _Fields(type):
    """Gives subclasses of NKIObject the constructor they have in NKI, whatever a decorator adds.

    Kernels write `@dataclass class Config(nl.NKIObject)` with fields that carry no annotation. NKI
    takes all of them by keyword; Python's dataclass would see none and take no argument.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        constructor = cls.__dict__.get("__init__")
        plain = constructor is None or _from_dataclass(constructor)
        if plain and kwargs and _unannotated(cls):
            return _filled(cls, args, kwargs)
        return super().__call__(*args, **kwargs)


def _from_dataclass(made: Any) -> bool:
    # dataclass compiles its constructor from text: such a function has no file of its own.
    return getattr(getattr(made, "__code__", None), "co_filename", "") == "<string>"


def _unannotated(cls: type) -> bool:
    noted = {name for base in cls.__mro__ for name in inspect.get_annotations(base)}
    plain = {
        name
        for base in cls.__mro__
        if base not in (object, NKIObject)
        for name, value in vars(base).items()
        if not name.startswith("__") and not callable(value) and not isinstance(value, _DESCRIPTORS)
    }
    return bool(plain - noted)


def _filled(cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    filled: Any = object.__new__(cls)
    noted = [name for base in reversed(cls.__mro__) for name in inspect.get_annotations(base)]
    for name, value in (*zip(noted, args, strict=False), *kwargs.items()):
        setattr(filled, name, value)
    after = getattr(filled, "__post_init__", None)
    if after is not None:
        after()
    return filled


class NKIObject(metaclass=_Fields):
    """Takes its fields by keyword."""

    __slots__ = ()

    def __init__(self, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            setattr(self, name, value)


_DESCRIPTORS = (property, classmethod, staticmethod)
