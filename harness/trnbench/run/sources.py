"""The files that kernels are written in, each with its digest: an edit shows though no version changed."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from trnbench.kernels.kernel import Kernel

_DIGITS = 16
"""Of SHA-256, in hexadecimal: against a mistake, not against an adversary."""

_IMPORTED = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.?)([\w.]*)[ \t]+)?import[ \t]+(\([^)]*\)|[^\n#]*)", re.MULTILINE
)
"""Dot, module and names of an import that begins a line."""
_WORD = re.compile(r"[\w.]+")
_QUOTED = re.compile(r"""["']([\w-]+\.[\w.-]*\w)["']""")


class Code(NamedTuple):
    """`modules` of formulas and implementations by name; `files`: their digests by name."""

    modules: frozenset[str]
    files: dict[str, str]


def kernel_files(kernels: Iterable[Kernel], kinds: Collection[str]) -> dict[str, bytes]:
    """`package/module.py` → content: the files of formulas, of implementations as one of `kinds`, and of what
    those import or name from the folder that they are in.

    A module that cannot be found is left out: the case that needs it says so.
    """
    return _files({name for kernel in kernels for name in _modules(kernel, kinds)})


def file_digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """The digest of each file, by its name."""
    from hashlib import sha256  # OpenSSL comes with it

    return {name: sha256(content).hexdigest()[:_DIGITS] for name, content in files.items()}


def code_of(kernel: Kernel, kinds: Collection[str]) -> Code:
    """Of one kernel, where it is implemented as one of `kinds`."""
    modules = frozenset(_modules(kernel, kinds))
    return Code(modules, file_digests(_files(modules)))


def _files(modules: Collection[str]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name in sorted(modules):
        path = _file(name)
        if path is not None:
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            _add(str(path.parent), path.name, package, files)
    return dict(sorted(files.items()))


def changed_files(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """In a line each, the files that differ; none where `before` was not recorded."""
    if not before:
        return ()
    said = {
        **{name: "was edited" for name in before if before[name] != now.get(name)},
        **{name: "is missing" for name in before if name not in now},
        **{name: "is new" for name in now if name not in before},
    }
    return tuple(f"source {name} {how}" for name, how in sorted(said.items()))


def _modules(kernel: Kernel, kinds: Collection[str]) -> Iterator[str]:
    formulas = (kernel.work, kernel.footprint, kernel.requires, kernel.valid, kernel.refuses, kernel.split)
    for function in formulas:
        yield str(getattr(function, "__module__", ""))
    for kind, reference in kernel.implementations.items():
        if kind in kinds and isinstance(reference, str) and ":" in reference:
            yield reference.partition(":")[0]


def _file(module: str) -> Path | None:
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded:
        return Path(loaded)
    package, *names = module.split(".")
    with suppress(Exception):  # the package is a plugin's code; those below it need not run
        spec = importlib.util.find_spec(package)
        for name in names:
            spec = PathFinder.find_spec(name, spec.submodule_search_locations) if spec else None
        if spec is not None and spec.origin:
            return Path(spec.origin)
    return None


def _add(folder: str, name: str, package: str, found: dict[str, bytes]) -> None:
    """The file `name` of `folder`, and those beside it that it needs; in strings, since they are hundreds."""
    key = f"{package.replace('.', '/')}/{name}" if package else name
    if key in found:
        return
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return
    try:
        with open(path, "rb", buffering=0) as stream:
            content = stream.read()
    except OSError:
        return
    found[key] = content
    if name.endswith(".py"):
        for beside in named_beside(content.decode("utf-8", "replace"), package):
            _add(folder, beside, package, found)


@lru_cache(maxsize=1024)
def named_beside(source: str, package: str) -> tuple[str, ...]:
    """What may be a file of the same folder: modules that a source imports, and names in quotation marks, as
    of a C source. Once for all that ask: digests of sources, their texts, and every case of a comparison."""
    return tuple(dict.fromkeys(_named_beside(source, package)))


def _named_beside(source: str, package: str) -> Iterator[str]:
    for found in _IMPORTED.finditer(source):
        relative, module, names = found[1], found[2] or "", found[3]
        whole = f"{package}.{module}".strip(".") if relative else module
        for name in (whole, *(f"{whole}.{each}".strip(".") for each in _WORD.findall(names))):
            folder, _, last = name.rpartition(".")
            if folder == package and last:
                yield f"{last}.py"
    yield from _QUOTED.findall(source)
