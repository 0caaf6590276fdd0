"""Programs of the stack by name: where they are, and in what ways one of them can fail."""

from __future__ import annotations

import shutil
from enum import StrEnum
from pathlib import Path

from trnbench import Detection, TrnbenchError
from trnbench.record import Record
from trnbench_neuron.settings import UNVERIFIED

VENDOR_FOLDER = Path("/opt/aws/neuron/bin")
"""Where the packages put their programs; not on every PATH."""

LISTER = "neuron-ls"
"""It lists devices. Where it is missing nothing else of the stack is looked for."""


class Output(Record):
    """What a program printed. Undecodable bytes are kept as escapes."""

    stdout: str
    stderr: str


class Trouble(StrEnum):
    """What went wrong with a program."""

    MISSING = "missing"
    REFUSED = "refused"  # there, but cannot be executed
    TIMEOUT = "timeout"
    EXIT = "exit"  # a code other than 0
    KILLED = "killed"  # ended by a signal
    TOO_LARGE = "too large"
    UNREADABLE = "unreadable"  # printed something else than documented
    VERSION = "version"  # too old or too new for what is asked of it


class ToolError(TrnbenchError):
    """A program did not do what it is documented to do; `trouble` says in which way."""

    def __init__(
        self, trouble: Trouble, what: str, *, cause: str = "", try_: str = "", output: Output | None = None
    ) -> None:
        super().__init__(what, cause=cause, try_=try_)
        self.trouble, self.output = trouble, output


class Toolbox(Record):
    """Programs by name: from `folder` if one is set, else from PATH, else where the packages put them."""

    folder: str = ""

    def find(self, name: str) -> Path | None:
        if self.folder:
            path = shutil.which(name, path=self.folder)
        else:
            path = shutil.which(name) or shutil.which(name, path=str(VENDOR_FOLDER))
        return Path(path) if path else None

    def need(self, name: str) -> Path:
        """Raises `ToolError` (missing)."""
        path = self.find(name)
        if path is None:
            searched = self.folder or f"PATH and {VENDOR_FOLDER}"
            raise ToolError(
                Trouble.MISSING,
                f"{name} is not installed",
                cause=f"looked for in {searched}",
                try_="install the package aws-neuronx-tools",
            )
        return path


def absent(error: ToolError) -> Detection:
    """This machine has no devices, as far as `error` tells."""
    why = error.sentence
    return Detection(available=False, why=why, try_=error.try_, unverified=UNVERIFIED)
