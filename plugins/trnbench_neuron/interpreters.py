"""The Python environments of the stack: which has what, found without importing any of it."""

from __future__ import annotations

import re
import sys
from functools import cache

import msgspec

from trnbench_neuron.conversation import Conversation
from trnbench_neuron.settings import PREFIX, Settings, child_environment
from trnbench_neuron.tool import ToolError

LIMIT_S = 15.0
LEAST_NKI = (0, 3)
"""Before it, calls returned tiles or lacked what our kernels use (NKI 0.3.0, SDK 2.29)."""

_DISTRIBUTIONS = ["nki", "nrtpy", "neuronx-cc"]


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is "" when there is none; `why` and `try_` then say so."""

    path: str = ""
    version: str = ""  # of the package it is here for
    why: str = ""
    try_: str = ""


class Interpreters(msgspec.Struct, frozen=True, kw_only=True):
    """One for each package: their wheels cannot share an environment."""

    nki: Interpreter
    nrtpy: Interpreter
    beta1: Interpreter

    def versions(self) -> dict[str, str]:
        """For the environment of a run."""
        found = {"nki": self.nki, "nrtpy": self.nrtpy, "neuronx_cc": self.beta1}
        return {f"{name}_version": each.version for name, each in found.items() if each.path}


def find(settings: Settings) -> Interpreters:
    """Asks each interpreter that is named, or our own, what is installed beside it."""
    known: dict[str, dict[str, str] | ToolError] = {}

    def look(variable: str, given: str, distribution: str) -> Interpreter:
        path = given or sys.executable
        if path not in known:
            try:
                known[path] = installed(path)
            except ToolError as error:
                known[path] = error
        there = known[path]
        set_ = f"{PREFIX}{variable}=/path/to/environment/bin/python"
        if isinstance(there, ToolError):
            return Interpreter(why=f"{variable}: {there.what}", try_=set_)
        if distribution not in there:
            where = "the interpreter named" if given else "this environment"
            return Interpreter(why=f"{distribution} is not installed in {where}", try_=set_)
        if distribution == "nki" and release(there["nki"]) < LEAST_NKI:
            least = ".".join(map(str, LEAST_NKI))
            return Interpreter(why=f"nki {there['nki']} is older than {least}", try_="install a newer nki")
        if distribution in ("nki", "nrtpy") and {"nki", "nrtpy"} <= set(there):
            return Interpreter(
                why="nki and nrtpy are installed in one environment, which their makers rule out",
                try_=f"an environment for each, {PREFIX}NKI_PYTHON and {PREFIX}NRTPY_PYTHON",
            )
        return Interpreter(path=path, version=there[distribution])

    return Interpreters(
        nki=look("NKI_PYTHON", settings.nki_python, "nki"),
        nrtpy=look("NRTPY_PYTHON", settings.nrtpy_python, "nrtpy"),
        beta1=look("BETA1_PYTHON", settings.beta1_python, "neuronx-cc"),
    )


@cache
def installed(path: str) -> dict[str, str]:
    """Versions of the stack's packages in that interpreter's environment. Raises `ToolError`."""
    with Conversation(path, "probe", env=child_environment(), name=path.rpartition("/")[2]) as asked:
        answer = asked.ask(LIMIT_S, do="versions", names=_DISTRIBUTIONS)
    return {str(name): str(version) for name, version in answer.get("versions", {}).items()}


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(each) for each in match[0].split(".")) if match else ()
