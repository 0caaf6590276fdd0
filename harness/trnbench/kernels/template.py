"""Kernels that are made of what a person asks for, where no list of axes could hold it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import msgspec

from trnbench.lazy import Ref


class Subject(Protocol):
    """What such a kernel is about: data that a run keeps with its selection."""

    @property
    def name(self) -> str:
        """Of the kernel that is made of it."""

    def files(self) -> tuple[Path, ...]:
        """Files of the user's own that its time depends on."""

    def code(self) -> tuple[str, ...]:
        """Packages and modules that its time depends on."""


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is the field of a selection that holds the subject.

    `subject` references a function from what a run has stored to the subject; it raises
    `msgspec.ValidationError` for what is none. `kernel` references a function from the subject to its
    `Kernel`."""

    name: str
    subject: Ref
    kernel: Ref
