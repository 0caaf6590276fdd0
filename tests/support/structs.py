"""The values of a package: none is changed once it is there, and what has many fields takes them by name."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from inspect import getmembers
from types import ModuleType

import msgspec

BY_POSITION = 4
"""Fields at most that nobody mistakes for each other."""


def loose(package: ModuleType) -> list[str]:
    """Structs that can be changed, or take more than `BY_POSITION` fields without their names."""
    names = [each.name for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [
        kind.__name__
        for name in names
        for _, kind in getmembers(import_module(name))
        if isinstance(kind, type(msgspec.Struct)) and kind.__module__ == name
        if not (kind.__struct_config__.frozen and len(kind.__match_args__) <= BY_POSITION)
    ]
