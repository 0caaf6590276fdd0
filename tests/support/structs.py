"""The values of a package: none is changed once it is there, and what has many fields takes them by name."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import msgspec

BY_POSITION = 4
"""Fields at most that nobody mistakes for each other."""


def loose(package: ModuleType) -> list[str]:
    """Structs that can be changed, or take more than `BY_POSITION` fields without their names."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    return [
        kind.__name__
        for kind in _kinds(msgspec.Struct)
        if f"{kind.__module__}.".startswith(f"{package.__name__}.")
        and not (kind.__struct_config__.frozen and len(kind.__match_args__) <= BY_POSITION)
    ]


def _kinds(base: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)
