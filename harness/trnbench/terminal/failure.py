"""What a person reads when something fails, and the code the process ends with."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from pathlib import Path

import click

from trnbench.distribution import others, own_packages
from trnbench.errors import DEBUG, LONGEST, ExitCode, TrnbenchError, cut, debugging, quoted
from trnbench.isolation.interrupt import from_outside
from trnbench.terminal.context import Session
from trnbench.terminal.output import abandon, say

_CLOSED = errno.EBADF
_FULL = (_CLOSED, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def report(error: BaseException, shared: Session) -> int:
    """Print `error` for a person (with its traceback where TRNBENCH_DEBUG asks) and give the exit code."""
    if isinstance(error, BrokenPipeError):
        abandon(sys.stdout)
        return ExitCode.OK
    if isinstance(error, click.Abort) and not isinstance(error.__cause__, KeyboardInterrupt):
        say("error: stopped at the question; nothing was changed")
        return ExitCode.USAGE
    if isinstance(error, click.Abort | KeyboardInterrupt) or from_outside(error):
        say(f"\ninterrupted: {shared.kept or 'this command had saved nothing yet'}")
        return ExitCode.INTERRUPTED
    if debugging():
        import traceback

        say("".join(traceback.format_exception(error)), nl=False)
    if isinstance(error, TrnbenchError):
        error.try_ = shared.typed(error.try_)
        say(f"error: {error}")
        return error.exit_code
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return ExitCode.USAGE
    if isinstance(error, click.NoSuchOption) and (place := _before_the_command(error)):
        say(f"error: {error.option_name} goes before the command")
        say("  cause: it is an option of trnbench itself, the same for every command")
        say(f"  try:   {place}")
        return ExitCode.USAGE
    if isinstance(error, click.ClickException):
        say(f"error: {_sentence(error.format_message())}")
        if isinstance(error, click.UsageError) and error.ctx:
            say(f"  try:   {error.ctx.command_path} --help")
        return ExitCode.USAGE
    if isinstance(error, OSError) and error.filename:
        say(f"error: {error.strerror}: {quoted(str(os.fspath(error.filename)), 300)}")
        say("  cause: the file system refused it")
        say(f"  try:   check the path and its permissions ({DEBUG}=1 shows where it was used)")
        return ExitCode.USAGE
    if isinstance(error, OSError) and error.errno in _FULL:
        abandon(sys.stdout)
        say(f"error: the result could not be written: {error.strerror}")
        closed = error.errno == _CLOSED
        say(f"  cause: {'stdout is closed' if closed else 'where stdout goes takes no more'}")
        say(f"  try:   {'' if closed else 'free space there, or '}send the output elsewhere")
        return ExitCode.USAGE
    whose, place = _culprit(error)
    say(f"error: {whose or 'internal error'}: {type(error).__name__}: {cut(str(error), LONGEST)}")
    say(f"  cause: a bug in {place}")
    say(f"  try:   {DEBUG}=1 {_again()}   shows the traceback; please report it with that")
    return ExitCode.CRASH


def _before_the_command(error: click.NoSuchOption) -> str:
    """Where the option belongs, if it is one of the program's own; "" for all others."""
    if error.ctx is None:
        return ""
    root = error.ctx.find_root()
    for param in root.command.params:
        if error.option_name in (*param.opts, *param.secondary_opts):
            alone = isinstance(param, click.Option) and (param.is_flag or param.count)
            value = "" if alone else f" {param.make_metavar(root)}"
            command = error.ctx.command_path.removeprefix(str(root.info_name)).strip()
            return f"{root.info_name} {error.option_name}{value} {command}"
    return ""


def _sentence(text: str) -> str:
    """click ends messages with a full stop and lists words on lines, ours do not."""
    text = cut(" ".join(text.split()), LONGEST)
    return (text[0].lower() + text[1:]).rstrip(".") if text else "wrong usage"


def _again() -> str:
    return cut(shlex.join(["trnbench", *sys.argv[1:]]), LONGEST)


def _culprit(error: BaseException) -> tuple[str, str]:
    """The plugin or command of others whose bug it is ("" for ours), and the file and line: of libraries, who
    called them."""
    from traceback import walk_tb

    entries = {entry.value.partition(":")[0].partition(".")[0]: entry.words for entry in others()}
    frames = [
        (str(frame.f_globals.get("__name__")).partition(".")[0], frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
    ]
    written = entries.keys() | own_packages()
    outside = [each for each in frames if each[0] in written or "site-packages" not in each[1]] or frames
    root, file, line = outside[-1]
    own, path = Path(__file__).parent.parent.parent, Path(file)
    return entries.get(root, ""), f"{path.relative_to(own) if path.is_relative_to(own) else path}:{line}"
