"""How a file of kernels is imported: by itself, not with its package, and with stand-ins for what is missing.

Files of its repository are executed statement by statement, and a package on the way to the file is executed
only when something asks for what it defines. A package that cannot be found is taken from the repository, or
stood in for where the importing file does not say itself what to do without it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import msgspec

from trnbench_emulator.nki import site
from trnbench_emulator.nki.language.creation import KEYWORDS
from trnbench_emulator.nki.names import WHY
from trnbench_emulator.nki.stand_in import Reason, hollow, stand_in
from trnbench_emulator.nki.statements import Fault, execute, guarded_lines

OURS = ("nki", "neuronxcc")
_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_DEPTH, _FOLDERS = 5, 5000


class Imports(msgspec.Struct):
    """What importing showed: packages stood in for, and statements that failed."""

    absent: list[str] = []
    faults: list[Fault] = []


class _Source(SourceFileLoader):
    """Executes a file statement by statement, a package of `lazy` when it is asked for a name."""

    def __init__(self, name: str, path: str, imports: Imports, lazy: frozenset[str]) -> None:
        super().__init__(name, path)
        self.imports = imports
        self.lazy = lazy

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ not in self.lazy:
            self.execute(module)
            return

        def asked(name: str) -> Any:
            """A module of the package is imported by whoever asks for it; other names are its file's."""
            dunder = name.startswith("__") and name != "__all__"
            if dunder or _has_file(module, name):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            del vars(module)["__getattr__"]
            self.execute(module)
            return getattr(module, name)

        vars(module)["__getattr__"] = asked

    def execute(self, module: ModuleType) -> None:
        text = self.get_data(self.path)
        if b".view(" in text:  # keywords of NKI 0.1, unless the file has such names of its own
            for name, memory in KEYWORDS.items():
                vars(module).setdefault(name, memory)
        self.imports.faults += execute(text, self.path, module)


def _has_file(package: ModuleType, name: str) -> bool:
    folders = map(Path, package.__path__)
    return any((each / f"{name}.py").is_file() or (each / name).is_dir() for each in folders)


class _Files(MetaPathFinder):
    """Finds the modules of a repository, before anything else that has their names."""

    def __init__(self, folder: Path, root: Path, imports: Imports, lazy: frozenset[str]) -> None:
        self.folder = f"{folder}{os.sep}"
        self.roots = [str(root)]
        self.imports = imports
        self.lazy = lazy

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None:
            search = [] if name in OURS or name in sys.stdlib_module_names else self.roots
        else:
            search = [each for each in path if self._inside(f"{each}{os.sep}")]
        spec = PathFinder.find_spec(name, search) if search else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Source(name, spec.loader.path, self.imports, self.lazy)
        return spec

    def _inside(self, path: str) -> bool:
        return path.startswith(self.folder) and "site-packages" not in path


class _Absent(MetaPathFinder, Loader):
    """Finds what nothing else does: in the repository, or as a stand-in."""

    def __init__(self, folder: Path, imports: Imports, depth: int) -> None:
        self.folder = str(folder)
        self.depth = depth
        self.imports = imports
        self.taken: dict[str, Path | None] = {}
        self.reasons: dict[str, Reason] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        first = name.partition(".")[0]
        if name in (*OURS, "trnbench") or (name != first and first not in (*self.imports.absent, *OURS)):
            return None
        frame, by_name = _importer()
        file = frame.f_code.co_filename
        if by_name and first in OURS:
            return None  # `from nki.isa import name`: the module says why it has no such name
        if not file.startswith(self.folder) or frame.f_lineno in guarded_lines(file):
            return None
        if first not in (*self.taken, *OURS):
            self.taken[first] = _package_below(self.folder, first, self.depth, Path(file).parent)
        if found := self.taken.get(first):
            return spec_from_file_location(
                name,
                found,
                loader=_Source(name, str(found), self.imports, frozenset()),
                submodule_search_locations=[str(found.parent)] if found.name == "__init__.py" else None,
            )
        if first not in (*self.imports.absent, *OURS):
            self.imports.absent.append(first)
        self.reasons.setdefault(name, _reason(name, site.told((file, frame.f_lineno))))
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return hollow(spec.name, partial(stand_in, spec.name, reason=self.reasons[spec.name]))

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


def _reason(name: str, where: str) -> Reason:
    first, _, rest = name.partition(".")
    if first not in OURS:
        return Reason(
            "which is not installed",
            f"only a stand-in for its package was there when {where} imported it",
            f"install {first!r}",
        )
    module, _, inner = name.rpartition(".")
    why = WHY.get(name, {}) or WHY.get(module, {}).get(inner, "") or WHY["nki"].get(rest.split(".")[-1], "")
    inside = f"{where} imports {name}, which came inside the compiler and is not public"
    return Reason("which trnbench does not emulate", str(why or inside), "run the kernel on a device")


def _importer() -> tuple[FrameType, bool]:
    """Where the import statement is that is being carried out; is it of a name after `from … import`?"""
    frame, by_name = sys._getframe(2), False
    while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
        by_name = by_name or frame.f_code.co_name == "_handle_fromlist"
        frame = frame.f_back
    return frame, by_name


def _package_below(folder: str, name: str, depth: int, importer: Path) -> Path | None:
    """The package or module of that name in a folder, the one that lies least deep. What a package of a
    package has goes by its whole name, but for those who are in there too."""
    level, seen = [Path(folder)], 0
    for _ in range(depth):
        for place in level:
            for candidate in (place / name / "__init__.py", place / f"{name}.py"):
                if candidate.is_file() and (place == importer or not _is_inner_package(place)):
                    return candidate
        seen += len(level)
        if seen > _FOLDERS:
            return None
        level = [inner for place in level for inner in _folders(place)]
    return None


def _is_inner_package(place: Path) -> bool:
    return (place / "__init__.py").is_file() and (place.parent / "__init__.py").is_file()


def _folders(place: Path) -> list[Path]:
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        Path(entry.path)
        for entry in entries
        if entry.is_dir(follow_symlinks=False)
        and not entry.name.startswith((".", "__"))
        and entry.name not in ("node_modules", "site-packages")
    ]


def repository_of(path: Path) -> Path | None:
    """The nearest folder above that is marked as one: by git, or as a project of Python."""
    return next((folder for folder in path.parents if any((folder / mark).exists() for mark in _MARKS)), None)


@contextmanager
def stand_ins(folder: Path, imports: Imports | None = None, depth: int = _DEPTH) -> Iterator[list[str]]:
    """While open, packages that files under `folder` import and that cannot be found are taken from there, or
    stood in for; the list names these. `depth`: levels of folders that are searched."""
    imports = imports or Imports()
    finder = _Absent(folder, imports, depth)
    before = set(sys.modules)
    sys.meta_path.append(finder)
    try:
        yield imports.absent
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            first = name.partition(".")[0]
            if first in imports.absent or finder.taken.get(first) or name in finder.reasons:
                del sys.modules[name]
                parent, _, last = name.rpartition(".")
                if first in OURS and parent in sys.modules:
                    vars(sys.modules[parent]).pop(last, None)


def import_file(path: Path, root: Path, name: str) -> tuple[ModuleType, Imports]:
    """The module `name` of the file at `path`, imports looked up in `root`, and what importing it showed.

    Nothing of its repository stays among the imported modules. Raises whatever a file that is no Python, or
    ends the process, raises.
    """
    imports = Imports()
    repository = repository_of(path)
    folder = repository or root
    packages = name.split(".")[:-1]
    lazy = frozenset(".".join(packages[: count + 1]) for count in range(len(packages)))
    files = _Files(folder, root, imports, lazy)
    first = name.partition(".")[0]
    before = dict(sys.modules)
    for each in [each for each in before if each.partition(".")[0] == first]:
        del sys.modules[each]  # another folder may have a package of the same name
    sys.meta_path.insert(0, files)
    sys.path.insert(0, str(root))
    try:
        with stand_ins(folder, imports, _DEPTH if repository else 2):
            __import__(name.rpartition(".")[0] or "sys")
            module = _executed(path, name, imports)
    finally:
        sys.meta_path.remove(files)
        if str(root) in sys.path:
            sys.path.remove(str(root))
        _forget(before, files.folder)
    return module, imports


def _executed(path: Path, name: str, imports: Imports) -> ModuleType:
    loader = _Source(name, str(path), imports, frozenset())
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = sys.modules[name] = module_from_spec(spec)  # dataclasses look their module up
    loader.execute(module)
    return module


def _forget(before: dict[str, ModuleType], folder: str) -> None:
    """Modules of the repository leave, those that they took the names of come back."""
    for name in sys.modules.keys() - before.keys():
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(folder):
            del sys.modules[name]
    for name, module in before.items():
        if sys.modules.get(name) is not module:
            sys.modules[name] = module
