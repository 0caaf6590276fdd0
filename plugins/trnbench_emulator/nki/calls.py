"""A call that does not fit the function of nki.isa: why, and what to write."""

from __future__ import annotations

import inspect
import re
from types import FrameType, ModuleType

from trnbench_emulator.nki import isa
from trnbench_emulator.nki.releases import change

_UNKNOWN = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"(\w+)\(\) missing \d+ required positional argument")


def advice(error: TypeError, frame: FrameType) -> tuple[str, str]:
    """The likely cause, and what to write, where a call in `frame` does not fit; "" where it is not ours."""
    text = str(error)
    found = _UNKNOWN.match(text) or _MISSING.match(text)
    function = getattr(isa, found[1], None) if found else None
    reachable = [*frame.f_globals.values(), *frame.f_locals.values()]
    ours = [each for each in reachable if each is function or _is_isa(each)]
    if found is None or not inspect.isfunction(function) or not ours:
        return "", ""
    parameters = list(inspect.signature(function).parameters.values())
    needed = [each.name for each in parameters if each.default is each.empty]
    call = f"nisa.{found[1]}({', '.join(needed)}, …)"
    if found.re is _MISSING:
        writes = needed[:1] == ["dst"]
        return "it writes to dst, its first argument, and returns nothing" if writes else "", call
    told = change(f"nki.isa.{found[1]}", found[2])
    if told is None:
        return "", f"nisa.{found[1]}({', '.join(each.name for each in parameters)})"
    return f"it has no {found[2]}= since {told.since}", told.write


def _is_isa(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__ in (isa.__name__, "nki.isa")
