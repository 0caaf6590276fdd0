"""Whether what a plugin yields is what the hook asks for: each value once, when it arrives."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from trnbench.extension import (
    Check,
    ExecutorEntry,
    Expectation,
    Format,
    Importer,
    ModelFile,
    Page,
    Section,
    StepKernel,
    Trace,
)
from trnbench.facts.fact import Scope
from trnbench.generation import Generation
from trnbench.kernels.kernel import (
    MAX_POINTS,
    Axis,
    Kernel,
    PrimaryMetric,
    Statement,
    Template,
    Variant,
)


class Refused(Exception):
    """`cause` and `try_` of the error that the registry raises with the plugin's name."""

    def __init__(self, cause: str, try_: str) -> None:
        super().__init__(cause)
        self.cause, self.try_ = cause, try_


def checked(hook: str, value: Any) -> Any:
    """`value`, rebuilt where that is how it is validated. Raises `Refused`."""
    kinds, check = _EXPECTED[hook]
    if hook == "trnbench_backends":
        return check(value)
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        article = "an" if wanted[0] in "AEIOU" else "a"
        if isinstance(value, type) and issubclass(value, kinds):
            raise Refused("it is the class itself", f"yield {value.__name__}(...)")
        constructors = " or ".join(f"trnbench.{kind.__name__}(...)" for kind in kinds)
        raise Refused(f"{hook} takes {article} {wanted}, not {type(value).__name__}", f"yield {constructors}")
    value = check(value)
    _check_name(type(value).__name__, value.name)
    return value


def _check_name(kind: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name):
        raise Refused(
            f"{name!r} is no name of {'an' if kind[0] in 'AEIOU' else 'a'} {kind}",
            "use letters, digits, '.', '_', '+' and '-', starting with a letter or digit",
        )


def _path(_: type[Path], found: Any) -> Path:
    """The one type of a field that msgspec does not know; it tells the place behind what is raised."""
    if not isinstance(found, str):
        raise TypeError(f"Expected `Path`, got `{type(found).__name__}`")
    return Path(found)


def _convert(value: Any) -> Any:
    """Constructing a Struct checks no types; reading it from plain data does."""
    kind = type(value)

    try:
        raw = msgspec.to_builtins(value, enc_hook=str)
        return msgspec.convert(raw, kind, dec_hook=_path)
    except (msgspec.ValidationError, TypeError) as error:
        raise Refused(f"{error}", f"see the fields of trnbench.{kind.__name__}") from None


def _generation(value: Generation) -> Generation:
    generation: Generation = _convert(value)
    named = bool(generation.facts or generation.identify)
    _need(named, "it names no fact file", 'give facts=(HERE / "facts.toml",)')
    for instance in generation.instances:
        for name in (instance.name, *instance.aliases):
            _check_name("Instance", name)
        _need(
            bool(instance.parent) or not instance.sizable,
            f"instance {instance.name!r} is sizable but has no parent",
            "name in parent= the instance it is made of",
        )
    return generation


def _need(true: bool, what: str, try_: str) -> None:
    if not true:
        raise Refused(what, try_)


def _kernel(kernel: Kernel | Variant | Template) -> Kernel | Variant | Template:
    """By hand: functions and references are nothing msgspec could check."""
    if not isinstance(kernel, Kernel):
        record: Variant | Template = _convert(kernel)
        return record

    for field in ("name", "family", "title", "about", "groups"):
        _need(isinstance(getattr(kernel, field), str), f"{field} is no string", f'give {field}="…"')
    for field in ("work", "footprint", "requires", "valid"):
        _need(callable(getattr(kernel, field)), f"{field} is no function", f"give {field}=a function")
    for kind, reference in kernel.implementations.items():
        _need(
            isinstance(reference, str),
            f"implementations[{kind!r}] is no reference",
            'name the function: "package.module:function"',
        )
    _axes(kernel)
    _need(
        isinstance(kernel.scopes, tuple)
        and bool(kernel.scopes)
        and all(isinstance(scope, Scope) for scope in kernel.scopes),
        "scopes is no tuple of at least one Scope",
        "give scopes=(trnbench.Scope.CORE,)",
    )
    _need(
        set(kernel.default_scopes) <= set(kernel.scopes),
        "default_scopes has a scope that scopes has not",
        "name in default_scopes some of scopes",
    )
    _need(
        isinstance(kernel.tests, tuple) and all(isinstance(test, Statement) for test in kernel.tests),
        "tests is no tuple of Statement",
        "give tests=(trnbench.Statement(...),)",
    )
    _need(
        isinstance(kernel.primary, PrimaryMetric),
        "primary is no PrimaryMetric",
        "give primary=trnbench.PrimaryMetric(...)",
    )
    return kernel


def _axes(kernel: Kernel) -> None:
    """Names, values, and the number of points that they make."""
    _need(
        isinstance(kernel.axes, tuple) and all(isinstance(axis, Axis) for axis in kernel.axes),
        "axes is no tuple of Axis",
        "give axes=(trnbench.Axis(...),)",
    )
    names = [axis.name for axis in kernel.axes]
    _need(len(set(names)) == len(names), f"two axes share a name: {names}", "rename one of them")
    for axis in kernel.axes:
        _check_name("Axis", axis.name)
        _need(bool(axis.values), f"axis {axis.name!r} has no values", "give values=(…,)")
    for group in kernel.zipped:
        strangers = [name for name in group if name not in names]
        _need(not strangers, f"zipped names no axis: {', '.join(strangers)}", f"axes: {', '.join(names)}")
    moved = {name for group in kernel.zipped for name in group[1:]}  # they move with the first of their group
    points = math.prod(len(axis.values) for axis in kernel.axes if axis.name not in moved)
    _need(
        points <= MAX_POINTS,
        f"its axes make {points:,} points, the most is {MAX_POINTS:,}",
        "give fewer values, or name in zipped what moves together",
    )


def _backend(value: Any) -> Any:
    if isinstance(value, type):
        raise Refused("it is the class itself", f"yield {value.__name__}()")
    missing = [
        name
        for name in ("name", "detect", "environment", "unsupported", "observe")
        if not hasattr(value, name)
    ]
    _need(
        not missing,
        f"{type(value).__name__} is no Backend: it lacks {', '.join(missing)}",
        "implement every member of trnbench.Backend",
    )
    _check_name("Backend", str(value.name))
    return value


_EXPECTED: dict[str, tuple[tuple[type, ...], Callable[[Any], Any]]] = {
    "trnbench_generations": ((Generation,), _generation),
    "trnbench_kernels": ((Kernel, Variant, Template), _kernel),
    "trnbench_backends": ((), _backend),
    "trnbench_reports": ((Section, Format, Page), _convert),
    "trnbench_importers": ((Importer,), _convert),
    "trnbench_workloads": ((ModelFile, StepKernel), _convert),
    "trnbench_expectations": ((Expectation,), _convert),
    "trnbench_executors": ((ExecutorEntry,), _convert),
    "trnbench_traces": ((Trace,), _convert),
    "trnbench_checks": ((Check,), _convert),
}
