"""Finding a kernel: by "package.module:name", or by "FILE.py::name"."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import linecache
import re
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from msgspec.structs import replace

from trnbench.errors import BadInput, KernelError, MissingFile, UnknownName, UsageError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.grid import Beta1Kernel
from trnbench_emulator.nki.beta1.grid import jit as beta1_jit
from trnbench_emulator.nki.importer import OURS, Imports, import_file, stand_ins
from trnbench_emulator.nki.jit import Kernel
from trnbench_emulator.nki.names import refused_import
from trnbench_emulator.nki.provide import Provided, provide
from trnbench_emulator.nki.stand_in import is_stand_in, lenient, refusal
from trnbench_emulator.nki.statements import execute
from trnbench_emulator.nki.trace import missing_import


def load_kernel(ref: str, *, nki: str = "auto", kind: str = "kernel") -> tuple[Any, ModuleType, Provided]:
    """The kernel, its module, and which `nki` it was loaded with. `kind` is what a message calls it.

    Raises `MissingFile`, `UsageError` for a function that is not there, and `KernelError` when
    the file cannot be imported or the name is no kernel.
    """
    separator = "::" if "::" in ref else ":"
    file, _, name = ref.partition(separator)
    with provide(nki) as provided:
        if separator == "::":
            module, imports = load_file(Path(file))
        else:
            module, imports = from_package(file, ours=provided.by == "trnbench"), Imports()
    return _chosen(ref, name, kind, module, imports, provided)


def load_text(text: str, file: str, name: str) -> tuple[Any, ModuleType, Provided]:
    """As `load_kernel`, of the program `text`, which lies in no file; its lines are said to be of `file`."""
    # What is known of a kernel by its lines (loops that repeat) is read from here.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    imports = Imports()
    with provide("trnbench") as provided:
        module = _executed_text(text, file, imports)
        if any(isinstance(fault.error, ImportError) for fault in imports.faults):
            imports = Imports()
            with stand_ins(Path(file).parent, imports, 0):
                module = _executed_text(text, file, imports)
    return _chosen(f"{Path(file).name}::{name}", name, "kernel", module, imports, provided)


def _executed_text(text: str, file: str, imports: Imports) -> ModuleType:
    """As a whole; statement by statement where that fails."""
    module = ModuleType(f"_kernel_{Path(file).stem}")
    module.__file__ = file
    source = text.encode(errors="surrogatepass")
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        with lenient():
            exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    except SyntaxError as error:
        raise _broken(error, Path(file).name, file) from error
    except Exception:
        imports.faults += execute(source, file, module)
    finally:
        sys.modules.pop(module.__name__, None)
        if before is not None:
            sys.modules[module.__name__] = before
    return module


def _chosen(
    ref: str, name: str, kind: str, module: ModuleType, imports: Imports, provided: Provided
) -> tuple[Any, ModuleType, Provided]:
    """What `load_kernel` returns of a module that is loaded."""
    separator = "::" if "::" in ref else ":"
    file = ref.partition(separator)[0]
    function = vars(module).get(name) if separator == "::" else getattr(module, name, None)
    if function is None or is_stand_in(function):
        own = [fault for fault in imports.faults if name in fault.names] or imports.faults[:1]
        if own:
            raise _broken(own[0].error, Path(file).name, str(Path(file)))
        raise refusal(function) if is_stand_in(function) else _unknown(kind, name, file, module)
    provided = replace(
        provided,
        absent=tuple(imports.absent),
        faults=tuple(f"{fault.place}: {fault}" for fault in imports.faults),
    )
    if isinstance(function, FunctionType) and provided.by == "trnbench" and _of_beta1(module):
        function = beta1_jit(function)  # its caller would have: nki.benchmark(kernel)
    if not callable(function) or isinstance(function, type):
        raise KernelError(
            f"{ref} is no kernel: "
            f"it is {'a class' if isinstance(function, type) else type(function).__name__}",
            cause="a kernel is a function, usually decorated with @nki.jit",
        )
    if isinstance(function, Beta1Kernel):
        provided = replace(provided, dialect="Beta 1")
    return function, module, provided


def _of_beta1(module: ModuleType) -> bool:
    """Does the file import Beta 1, and not today's NKI?"""
    names = {imported.__name__ for imported in vars(module).values() if isinstance(imported, ModuleType)}
    return any(name.startswith("neuronxcc") for name in names) and "nki" not in names


def _unknown(kind: str, name: str, file: str, module: ModuleType) -> UsageError:
    """No such function: those there are, of decorated and plain ones those that `kind` may mean."""
    if line := _unreached(name, Path(file)):
        cause = f"line {line} defines it, in a `try` that an error ended before"
        return UnknownName(kind, name, [], cause=cause, try_="install what that `try` imports")
    decorated = [attribute for attribute, value in vars(module).items() if isinstance(value, Kernel)]
    plain = [
        attribute
        for attribute, value in vars(module).items()
        if isinstance(value, FunctionType) and value.__module__ == module.__name__
    ]
    if not decorated and not plain:
        return UsageError(
            f"{file} defines no {kind}",
            cause="a kernel is a function, usually decorated with @nki.jit",
            try_=f"another file: FILE.py::{kind.upper()}",
        )
    first, second = (decorated, plain) if kind == "kernel" else (plain, decorated)
    near = difflib.get_close_matches(name, [*first, *second], n=1, cutoff=0.5)
    candidates = [*first, *second] if near else first or second
    return UnknownName(kind, name, candidates, try_=f"{file}::NAME with one of the above")


def _unreached(name: str, file: Path) -> int:
    """The line of a function that stands in the body of a `try`; 0 without one."""
    tree = ast.parse(file.read_bytes()) if file.is_file() else ast.Module([], [])
    bodies = [inner for node in ast.walk(tree) if isinstance(node, ast.Try) for inner in node.body]
    functions = [each for inner in bodies for each in ast.walk(inner) if isinstance(each, ast.FunctionDef)]
    return next((each.lineno for each in functions if each.name == name), 0)


def from_package(name: str, *, ours: bool) -> ModuleType:
    """An installed module. Bound to our `nki` it is a copy of its own: the one that others import
    stays free to be bound to the real package."""
    try:
        if not ours:
            return importlib.import_module(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and (name == missing or name.startswith(f"{missing}.")):
            raise MissingFile(
                f"module {name} is not there",
                cause="nothing installed has it" if missing == name else f"{missing} is not installed",
                try_="package.module:KERNEL, or FILE.py::KERNEL",
            ) from None
        raise _broken(error, name, "") from error


def load_file(path: Path) -> tuple[ModuleType, Imports]:
    """The module of a file of kernels. Raises `BadInput`, `MissingFile`, and `KernelError`."""
    if path.is_dir():
        raise BadInput(
            f"{path} is a folder", cause="a kernel is a function of a file", try_="FILE.py::KERNEL"
        )
    if not path.is_file():
        there = [str(file) for file in path.parent.glob("*.py")] if path.parent.is_dir() else []
        near = difflib.get_close_matches(str(path), there, n=3)
        cause = f"did you mean {', '.join(near)}?" if near else f"looked for it in {path.parent.resolve()}"
        raise MissingFile(f"{path} does not exist", cause=cause, try_="FILE.py::KERNEL")
    if path.suffix != ".py":
        raise BadInput(
            f"{path} is no Python file", cause="a kernel is a function of a .py file", try_="FILE.py::KERNEL"
        )
    path = path.absolute()
    root, dotted = _package(path)
    writes, arguments = sys.dont_write_bytecode, sys.argv
    # Nothing is left beside a user's kernel, and one edited twice within a second is not taken from bytecode,
    # which knows whole seconds and a size.
    sys.dont_write_bytecode = True
    sys.argv = [str(path)]  # a file that reads its arguments was given none: ours are not its
    try:
        return import_file(path, root, dotted or f"_kernel_{path.stem.replace('.', '_')}")
    except Exception as error:
        raise _broken(error, path.name, str(path)) from error
    finally:
        sys.dont_write_bytecode, sys.argv = writes, arguments


_RELATIVE = re.compile(r"^\s*from\s+\.", re.M)


def _package(path: Path) -> tuple[Path, str]:
    """What to search imports in, and the file's name there: a file of a package is one of its modules."""
    root, names = path.parent, [path.stem]
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        names.insert(0, root.name)
        root = root.parent
    if (
        len(names) == 1
        and path.parent.name.isidentifier()
        and _RELATIVE.search(path.read_text(errors="replace"))
    ):
        names, root = [path.parent.name, path.stem], path.parent.parent  # a package without __init__.py
    taken = names[0] in OURS or names[0] in sys.stdlib_module_names
    packaged = len(names) > 1 and path.stem.isidentifier() and not taken
    return root if packaged else path.parent, ".".join(names) if packaged else ""


def _broken(error: Exception, what: str, file: str) -> KernelError:
    if isinstance(error, KernelError):
        return error
    source_line = site.of_error(error.__traceback__, file) or what
    if isinstance(error, ImportError):
        return refused_import(error, source_line) or missing_import(error, what, source_line)
    if isinstance(error, SyntaxError):
        line = f":{error.lineno}" if error.lineno else ""
        return KernelError(f"{what} is no Python: {error.msg} ({Path(error.filename or what).name}{line})")
    if isinstance(error, ValueError) and "null bytes" in str(error):  # a `SyntaxError` from Python 3.11.4 on
        return KernelError(f"{what} is no Python: {error} ({Path(file).name or what})")
    return KernelError(f"{what} cannot be imported: {type(error).__name__}: {error} ({source_line})")
