"""What is held against what: a kernel, a setting, a file of facts, a commit, or a folder with a plugin."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from trnbench.bounded import read_toml
from trnbench.distribution import versions
from trnbench.errors import MissingFile, UnknownName, UsageError, quoted
from trnbench.registry.hookspecs import GROUP


class Kind(StrEnum):
    KERNEL = "kernel"
    SETTING = "setting"
    FACTS = "facts"
    SOURCES = "sources"  # a commit, or a folder: its code needs a process of its own


class Operand(NamedTuple):
    """`typed` names one side; `commit` of sources is "" where they are a folder."""

    typed: str
    kind: Kind
    commit: str = ""

    @property
    def axis(self) -> str:
        """Of a setting."""
        return self.typed.partition("=")[0]


def operands(first: str, second: str, kernels: Mapping[str, object]) -> tuple[Operand, Operand]:
    """Both sides. Raises `UnknownName`, `MissingFile`, and `UsageError` for sides of two kinds."""
    one, two = operand(first, kernels), operand(second, kernels)
    if one.kind is not two.kind:
        raise UsageError(
            f"{quoted(first)} is {_article(one.kind)}, {quoted(second)} {_article(two.kind)}",
            cause="a pair is of two kernels, settings, files of facts, or sources (commits, folders)",
            try_=_EXAMPLES[one.kind],
        )
    if one.kind is Kind.SETTING and one.axis != two.axis:
        raise UsageError(
            f"{quoted(first)} and {quoted(second)} set two axes",
            cause="a pair differs in one, and -a sets the others",
            try_=f"trnbench compare --paired {first} {one.axis}=…",
        )
    return one, two


_EXAMPLES = {
    Kind.KERNEL: "trnbench compare --paired KERNEL_A KERNEL_B",
    Kind.SETTING: "trnbench compare --paired size=512 size=513 --kernel KERNEL",
    Kind.FACTS: "trnbench compare --paired ./a.toml ./b.toml --kernel KERNEL",
    Kind.SOURCES: "trnbench compare --paired HEAD~1 HEAD --kernel KERNEL",
}


def _article(kind: Kind) -> str:
    return {Kind.FACTS: "a file of facts", Kind.SOURCES: "a commit or folder"}.get(kind, f"a {kind}")


def operand(typed: str, kernels: Mapping[str, object]) -> Operand:
    """What one word names; a kernel goes before a folder or commit of that name."""
    if typed in kernels:
        return Operand(typed, Kind.KERNEL)
    if "=" in typed:
        return Operand(typed, Kind.SETTING)
    if typed.endswith(".toml"):
        if not Path(typed).is_file():
            raise MissingFile(f"{typed} does not exist", try_=_EXAMPLES[Kind.FACTS])
        return Operand(typed, Kind.FACTS)
    if Path(typed).is_dir():
        return Operand(typed, Kind.SOURCES)
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{typed}^{{commit}}")
    if commit is not None:
        return Operand(typed, Kind.SOURCES, commit.decode().strip())
    try_ = "trnbench list kernels; a setting: size=512; a commit of this folder: HEAD~1; a folder: ./plugin"
    raise UnknownName("kernel, folder or commit", typed, kernels, try_=try_)


def _git(*words: str) -> bytes | None:
    """What git prints in this folder; None where it fails, or is not there."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def environment(path: Sequence[str], hash_seed: int) -> dict[str, str]:
    """Of a process that finds the code of one side first; hashes are the same on both sides."""
    others = filter(None, [os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*path, *others]), "PYTHONHASHSEED": str(hash_seed)}


def search_path(side: Operand, scratch: Path) -> tuple[str, ...]:
    """Folders that Python has to search first for the plugin of `side`; what is not there yet goes into the
    empty folder `scratch`. Raises `UsageError` for a folder without a plugin."""
    folder = _unpacked(side.commit, scratch / "tree") if side.commit else _project(Path(side.typed).resolve())
    file = folder / "pyproject.toml"
    project = read_toml(file).get("project", {}) if file.is_file() else {}
    plugins: dict[str, str] = project.get("entry-points", {}).get(GROUP, {})
    if not plugins:
        raise UsageError(
            f"{side.typed} names no plugin",
            cause=f"its pyproject.toml has no [project.entry-points.{GROUP}]"
            if file.is_file()
            else "it has no pyproject.toml",
            try_="a folder above, or: trnbench plugin new NAME   writes a project",
        )
    name = str(project.get("name", folder.name))
    version = str(project.get("version") or versions([name]).get(name, "0"))
    info = scratch / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = (f"{plugin} = {target}\n" for plugin, target in plugins.items())
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{''.join(lines)}")
    return (str(scratch), *dict.fromkeys(_root(folder, target) for target in plugins.values()))


def _root(folder: Path, target: str) -> str:
    """The folder of `folder` that its package lies in; trnbench itself is that of this command."""
    package = target.partition(":")[0].partition(".")[0]
    for root in (folder, folder / "src", *sorted(each for each in folder.iterdir() if each.is_dir())):
        if (root / package).is_dir() or (root / f"{package}.py").is_file():
            return str(root)
    raise UsageError(
        f"{folder} has no package {package!r}",
        cause=f"its pyproject.toml names {target}, and neither it, src nor another folder of it has that",
        try_=f"ls {folder}",
    )


def _project(folder: Path) -> Path:
    """The nearest folder upwards that has a pyproject.toml; else this one."""
    return next((each for each in (folder, *folder.parents) if (each / "pyproject.toml").is_file()), folder)


def _unpacked(commit: str, tree: Path) -> Path:
    """The project that the working folder is part of, as it was at `commit`."""
    import io
    import tarfile

    top = Path((_git("rev-parse", "--show-toplevel") or b".").decode().strip()).resolve()
    project = _project(Path.cwd())
    project = project if project.is_relative_to(top) else top
    packed = _git("-C", str(top), "archive", commit)
    if packed is None:
        raise UsageError(
            f"git cannot write out {commit}", cause="an object of it is missing", try_="git fsck"
        )
    safe: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(tree, **safe)
    return tree / project.relative_to(top)
