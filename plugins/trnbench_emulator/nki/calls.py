"""A call that does not fit a function of nki.isa or nki.language: why, and what to write."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from trnbench_emulator.nki import isa, language
from trnbench_emulator.nki.releases import change

_UNKNOWN = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"(\w+)\(\) missing \d+ required positional argument")
_MODULES = {"nki.isa": (isa, "nisa"), "nki.language": (language, "nl")}


def advice(error: TypeError, frame: FrameType) -> tuple[str, str]:
    """The likely cause, and what to write, where a call in `frame` does not fit; "" where it is not ours."""
    text = str(error)
    found = _UNKNOWN.match(text) or _MISSING.match(text)
    called = _function(found[1], frame) if found else None
    if found is None or called is None:
        return "", ""
    module, function = called
    parameters = list(inspect.signature(function).parameters.values())
    needed = [each.name for each in parameters if each.default is each.empty]
    call = f"{_MODULES[module][1]}.{found[1]}"
    if found.re is _MISSING:
        writes = needed[:1] == ["dst"]
        cause = "it writes to dst, its first argument, and returns nothing" if writes else ""
        return cause, f"{call}({', '.join(needed)}, …)"
    told = change(f"{module}.{found[1]}", found[2])
    if told is not None:
        return f"it has no {found[2]}= since {told.since}", told.write
    return "", f"{call}({', '.join(each.name for each in parameters if each.name[0] != '_')})"


def _function(name: str, frame: FrameType) -> tuple[str, Callable[..., Any]] | None:
    """The function of NKI that `frame` reaches under this name, and its module."""
    reachable = [*frame.f_globals.values(), *frame.f_locals.values()]
    for module, (ours, _) in _MODULES.items():
        function = getattr(ours, name, None)
        names = (module, ours.__name__)
        modules = [each for each in reachable if isinstance(each, ModuleType) and each.__name__ in names]
        known = bool(modules) or any(each is function for each in reachable)
        if inspect.isfunction(function) and known:
            return module, function
    return None
