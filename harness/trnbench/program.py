"""The installed command: a page of help is printed at once, anything else is carried out under guard."""

from __future__ import annotations

import os
import sys

from trnbench.cli.help_page import page
from trnbench.version import line

TYPE_CHECKING = False  # neither `typing` nor `types` is imported for --help
if TYPE_CHECKING:
    from types import ModuleType
else:
    ModuleType = type(sys)

INTERRUPTED = 130

_HEAVY = ("click", "msgspec", "pathlib")
_UNASKED = ("ipaddress", "ntpath", "platform", "tokenize")
"""What those and their like import at once, and hardly a command asks for."""


class _Postponed(ModuleType):
    """Stands for a module, which is imported when somebody asks for a name of it."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(__import__(self.__name__), name)


def main() -> None:
    """The `trnbench` command. It ends the process."""
    try:
        _fill_closed_streams()
        _answer(sys.argv[1:])
        from trnbench.isolation.guard import guarded
    except KeyboardInterrupt:  # before there was anybody to say so
        os.write(2, b"\ninterrupted\n")
        os._exit(INTERRUPTED)
    guarded(_command)


def _answer(words: list[str]) -> None:
    """Prints what is known without click, and ends the process.

    Returns where nothing is known, or where it cannot be printed: click says so.
    """
    answer = f"{line()}\n" if words == ["--version"] else page(words)
    if answer is None:
        return
    try:
        sys.stdout.write(answer)
        sys.stdout.flush()
    except (OSError, ValueError):
        return
    os._exit(0)


def _fill_closed_streams() -> None:
    """Takes the descriptors 0 to 2 that the caller closed (`>&-`), so that no file of ours becomes one.

    What is written to such a stdout fails with EBADF, as it would without this.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest that is free
            if number == 1:
                sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  for the whole process


def _command() -> None:
    _import_heavy()
    from trnbench.cli.main import cli

    cli.main()


def _import_heavy() -> None:
    """Imports what every command needs, without what that needs for nothing: 0.8 starts of Python."""
    absent = {name: _Postponed(name) for name in _UNASKED if name not in sys.modules}
    if "platform" in absent:  # uuid asks for nothing else while it is imported
        vars(absent["platform"])["system"] = lambda: os.uname().sysname
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    modules.update(absent)
    modules.setdefault("typing_extensions", None)  # msgspec takes the same names from `typing` then
    try:
        for name in _HEAVY:
            __import__(name)
    finally:  # whoever imports one of them from here on gets it
        for name in (*absent, "typing_extensions"):
            if modules.get(name) is absent.get(name):
                modules.pop(name, None)
