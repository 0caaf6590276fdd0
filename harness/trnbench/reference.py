"""References that cost nothing until they are used: "package.module:attribute"."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

from trnbench.errors import PluginError, TrnbenchError

Ref: TypeAlias = str
"""A "package.module:attribute" string. Plugins name code this way, so listing imports nothing."""


def resolve(ref: Any) -> Any:
    """The object a reference names; anything that is not a string is returned as it is.

    Raises `PluginError` when the module or the attribute is missing.
    """
    if not isinstance(ref, str):
        return ref
    module_name, _, attribute = ref.partition(":")
    try:
        target: Any = import_module(module_name)
        for step in attribute.split("."):
            target = getattr(target, step)
    except TrnbenchError:
        raise
    except (Exception, SystemExit) as error:  # a module may raise anything while it is imported
        raise PluginError(
            f"cannot load {ref!r}: {type(error).__name__}: {error}",
            cause="the package that names it is broken or only partly installed",
            try_="trnbench plugin list",
        ) from error
    return target


def called(ref: Ref) -> Any:
    """The function that a reference names; that of a plugin which is kept apart works in a copy of this
    process."""
    return getattr(ref, "call", None) or resolve(ref)
