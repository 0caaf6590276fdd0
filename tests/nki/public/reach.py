"""How far kernels and scripts of others get, unchanged: the table of docs/nki.md.

    python tests/nki/public/reach.py FOLDER [--sample fresh] [--only NAME] [--part kernels|suites|legal]

FOLDER has the checkouts of `reach.toml`, called OWNER__NAME, at the commits that stand there. Each kernel is
executed with values in a process of its own and held against NumPy; each suite is carried out by
`trnbench nki exec`, its kernels and assertions counted. What `legal.toml` lists has no finding.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import references
from entry import BF16, RNG, Entry, made, positive
from trying import Tried, tried

from trnbench.registry.registry import load_registry

LIST = Path(__file__).with_name("reach.toml")
LEGAL = Path(__file__).with_name("legal.toml")
SECONDS = 240
CLASSES = ("invalid", "hardware only", "ours")


def integers(low: int, high: int, *shape: int, dtype: Any = np.int32) -> Any:
    return RNG.integers(low, high, shape).astype(dtype)


def unit(*shape: int) -> Any:
    """Rows of length 1."""
    return references.unit_rows(made(*shape)).astype(np.float32)


def fp8_bytes(*shape: int) -> Any:
    return made(*shape).astype(ml_dtypes.float8_e4m3).view(np.int8)


def same(column: Any, width: int = 128) -> Any:
    return np.repeat(column, width, axis=1)


NAMES = {
    **{name: value for name, value in vars(references).items() if callable(value)},
    "np": np,
    "BF16": BF16,
    "made": made,
    "positive": positive,
    "integers": integers,
    "unit": unit,
    "fp8_bytes": fp8_bytes,
    "same": same,
    "f16": np.float16,
    "f32": np.float32,
}


class Refusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kind": "class"}):
    """Whose a refusal is, and by which sentence; `words` stand in the message."""

    kind: str
    words: str
    sentence: str = ""
    source: str = ""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kernel (`FILE.py::NAME`), its arguments and what it should give: expressions of NumPy, in which the
    arguments are called a, b, c and so on."""

    at: str
    args: str = ""
    wanted: str = ""
    named: str = ""
    grid: int | list[int] = 0
    tolerance: float = 1e-4
    on: str = ""
    which: str = ""
    refusal: Refusal | None = None


class Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `trnbench nki exec` carries out in the checkout, with variables of the environment."""

    run: str
    env: dict[str, str] = {}
    folder: str = "."
    on: str = "trn2"
    refusals: dict[str, Refusal] = {}


class Repository(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`like`: a list of kernels that several repositories share, less those of `without`. `paths`: folders of
    other checkouts that it imports from."""

    name: str
    commit: str
    sample: str
    on: str = "trn2"
    paths: list[str] = []
    like: str = ""
    without: list[str] = []
    kernels: list[Case] = []
    suites: list[Suite] = []

    @property
    def folder(self) -> str:
        return self.name.replace("/", "__")


class Reach(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    repository: list[Repository]
    shared: dict[str, list[Case]] = {}

    def cases(self, repository: Repository) -> Iterator[Case]:
        own = {(case.at, case.which) for case in repository.kernels}
        for case in self.shared.get(repository.like, []):
            if case.at not in repository.without and (case.at, case.which) not in own:
                yield case
        yield from repository.kernels


class Off(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kernel that is not legal: the rule that it breaks, and how."""

    kernel: str
    rule: str
    reason: str
    which: str = ""


class LegalFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files of a repository by SHA-256. Their kernels of `reach.toml` that are not refused keep the rules."""

    repository: str
    files: dict[str, str]
    off: list[Off] = []


def listed() -> Reach:
    return msgspec.convert(tomllib.loads(LIST.read_text(encoding="utf-8")), Reach)


def legal(reach: Reach) -> Iterator[tuple[Repository, Case, str]]:
    """Each kernel without a finding, and the digest of its file."""
    repositories = {each.name: each for each in reach.repository}
    known = msgspec.convert(tomllib.loads(LEGAL.read_text(encoding="utf-8"))["legal"], list[LegalFiles])
    for each in known:
        off = {(kernel.kernel, kernel.which) for kernel in each.off}
        repository = repositories[each.repository]
        for case in reach.cases(repository):
            digest = each.files.get(case.at.partition("::")[0])
            if digest and case.refusal is None and (case.at, case.which) not in off:
                yield repository, case, digest


def try_legal(folder: Path, reach: Reach, only: str) -> int:
    """Prints what is found, and the count; gives how many are not as listed."""
    tried = wrong = 0
    for repository, case, digest in legal(reach):
        name = f"{repository.name}/{case.at}"
        if only not in name:
            continue
        tried += 1
        file = folder / repository.folder / case.at.partition("::")[0]
        if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            said = ["the file has another digest"]
        else:
            got = try_case(folder, repository, case, shadow=True)
            said = [*got.findings] if got.ran else [got.why]
        wrong += bool(said)
        print(*(f"{name} {case.which}: {each}" for each in said), sep="\n", end="\n" if said else "")
    print(f"{tried} legal kernels, {wrong} with a finding")
    return wrong


def entry(repository: Repository, case: Case) -> Entry:
    """The kernel as the catalogue has it: its expressions are functions."""

    def wanted(*arguments: Any) -> Any:
        letters = dict(zip("abcdefghijklmnopqrstuvwxyz", arguments, strict=False))
        exact = {name: _exact(value) for name, value in letters.items()}
        return eval(case.wanted, {**NAMES, **exact})

    return Entry(
        repository.folder,
        case.at,
        lambda: eval(f"({case.args},)", NAMES) if case.args else (),
        wanted if case.wanted else None,
        tuple(case.grid) if isinstance(case.grid, list) else case.grid or None,
        case.tolerance,
        case.on or repository.on,
        eval(f"dict({case.named})", NAMES),
        which=case.which,
    )


def _exact(value: Any) -> Any:
    floats = isinstance(value, np.ndarray) and value.dtype.kind not in "iub"
    return value.astype(np.float64) if floats else value


def _apart(call: Any, seconds: int) -> Tried:
    """In a process of its own, which may hang or die."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)

    def work() -> None:
        try:
            writer.send(call())
        except BaseException as error:
            writer.send(Tried(False, False, why=f"{type(error).__name__}: {error}"))

    process = context.Process(target=work)
    process.start()
    writer.close()
    try:
        return reader.recv() if reader.poll(seconds) else Tried(False, False, why=f"more than {seconds} s")
    except EOFError:
        return Tried(False, False, why="the process died")
    finally:
        process.kill()
        process.join()


def try_case(folder: Path, repository: Repository, case: Case, *, shadow: bool = False) -> Tried:
    path = folder / repository.folder / case.at.partition("::")[0]
    whole, registry = entry(repository, case), load_registry()

    def call() -> Tried:
        sys.path[:0] = [str(folder / each) for each in repository.paths]
        return tried(whole, path, folder / repository.folder, registry, shapes_too=False, shadow=shadow)

    return _apart(call, SECONDS)


def try_suite(folder: Path, repository: Repository, suite: Suite) -> dict[str, Any]:
    """The exit code, kernels by name with calls and failures, and the assertions on their values."""
    systems = {"trn1": "trn1.32xlarge", "trn2": "trn2-16.48xlarge", "trn3": "trn3-gen2-ultraserver"}
    home = folder / repository.folder / suite.folder
    with tempfile.TemporaryDirectory() as scratch:
        counts = Path(scratch) / "counts.json"
        words = suite.run.split()
        if words[:2] == ["-m", "pytest"]:
            words[2:2] = ["-q", "-p", "no:cacheprovider", "-o", "enable_assertion_pass_hook=true"]
        others = [str(folder / each) for each in repository.paths]
        paths = [str(home), *others, str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        done = subprocess.run(
            [sys.executable, "-m", "counting", systems[suite.on], *words],
            cwd=home,
            env={
                **os.environ,
                **suite.env,
                "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                "PYTHONDONTWRITEBYTECODE": "1",
                "TRNBENCH_STORE": str(Path(scratch) / "store.db"),
                "TRNBENCH_TEST_COUNTS": str(counts),
            },
            capture_output=True,
            text=True,
            timeout=3600,
        )
        found = json.loads(counts.read_text()) if counts.is_file() else {}
    tail = (done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or [""])[-1]
    return {"exit": done.returncode, "tail": tail, **found}


def rows_of(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A row for each repository, and their sum."""
    head = ("repository, commit", "tried", "imported", "ran", "compared", "matched", *CLASSES)
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    sums: Counter[str] = Counter()
    by_name: dict[str, Counter[str]] = {}
    for each in results:
        row = by_name.setdefault(f"{each['repository']} {each['commit']}", Counter())
        row.update(column for column in head[1:] if each.get(column) or column == "tried")
    for name, row in by_name.items():
        sums.update(row)
        yield f"| {name} | " + " | ".join(str(row[column]) for column in head[1:]) + " |"
    yield "| all | " + " | ".join(str(sums[column]) for column in head[1:]) + " |"


def result_of(repository: Repository, case: Case, got: Tried) -> dict[str, Any]:
    kind = ""
    if not got.ran:
        said = case.refusal
        kind = said.kind if said is not None and said.words in got.why and said.sentence else "ours"
    return {
        "repository": repository.name,
        "commit": repository.commit[:8],
        "sample": repository.sample,
        "kernel": case.at,
        "which": case.which,
        "imported": got.imported,
        "ran": got.ran,
        "compared": got.error is not None,
        "matched": got.matched,
        "error": got.error,
        "why": got.why,
        **({kind: True} if kind else {}),
    }


def of_suite(repository: Repository, suite: Suite, done: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each kernel that a suite called: compared where a test went on to assert."""
    for name in done.get("calls", ()):
        why, passed, failed = (done[key].get(name) for key in ("refused", "passed", "failed"))
        said = suite.refusals.get(name)
        kind = said.kind if why and said is not None and said.words in why and said.sentence else "ours"
        yield {
            "repository": repository.name,
            "commit": repository.commit[:8],
            "sample": repository.sample,
            "kernel": name,
            "imported": True,
            "ran": not why,
            "why": why or "",
            "compared": bool(not why and (passed or failed)),
            "matched": bool(not why and not failed and passed),
            **({kind: True} if why else {}),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", help="only the repositories of this sample")
    parser.add_argument("--only", default="", help="only what has this in its name")
    parser.add_argument("--part", choices=("kernels", "suites", "legal"), help="one of the three")
    chosen = parser.parse_args()
    folder, reach = chosen.folder.resolve(), listed()
    if chosen.part == "legal":
        raise SystemExit(1 if try_legal(folder, reach, chosen.only) else 0)
    results: list[dict[str, Any]] = []
    for repository in reach.repository:
        if chosen.sample not in (None, repository.sample):
            continue
        at = subprocess.run(
            ["git", "-C", str(folder / repository.folder), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
        ).stdout
        if not at.startswith(repository.commit):
            print(f"{repository.name} is not there at {repository.commit}: {at.strip()}", file=sys.stderr)
            continue
        for case in reach.cases(repository):
            if chosen.part != "suites" and chosen.only in f"{repository.name}/{case.at}":
                got = try_case(folder, repository, case)
                results.append(result_of(repository, case, got))
                print(json.dumps(results[-1]), file=sys.stderr, flush=True)
        for suite in repository.suites:
            if chosen.part != "kernels" and chosen.only in f"{repository.name}/{suite.run}":
                done = {"repository": repository.name, "suite": suite.run}
                done |= try_suite(folder, repository, suite)
                results += of_suite(repository, suite, done)
                print(json.dumps(done), file=sys.stderr, flush=True)
    print(*rows_of(results), sep="\n")


if __name__ == "__main__":
    main()
