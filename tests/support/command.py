"""Commands typed in this process: what they print, list as JSON, or are refused with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import click
from click.testing import CliRunner, Result

from trnbench.cli.commands import find_commands
from trnbench.cli.main import cli
from trnbench.registry import Registry
from trnbench.terminal.context import Session


def typed(*words: str, registry: Registry | None = None, **more: Any) -> Result:
    """`trnbench WORDS…` with the plugins of `registry`, or with those that are installed."""
    shared = Session()
    if registry is not None:
        shared.registry = registry
    return CliRunner().invoke(cli, list(words), obj=shared, prog_name="trnbench", **more)


def listed(*words: str, code: int = 0, **more: Any) -> Any:
    """What `--format json` prints of a command that ends with `code`."""
    done = typed(*words, "--format", "json", **more)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def refusal(done: Result, code: int = 2) -> str:
    """What was said by a command that ended with `code` and printed nothing else."""
    assert (done.exit_code, done.stdout) == (code, ""), done.stderr
    return done.stderr


def installed_commands() -> Iterator[tuple[str, click.Command]]:
    """Each command with a body, and the words that call it."""
    context = click.Context(cli)
    for name, found in find_commands().items():
        command = found.load()
        if isinstance(command, click.Group):
            for member in command.list_commands(context):
                yield f"{name} {member}", command.get_command(context, member)
        else:
            yield name, command


def loaded(code: str, **more: Any) -> tuple[str, set[str]]:
    """What a fresh Python prints that carries `code` out, and the modules it has at the end."""
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, **more)
    return done.stdout, set(done.stderr.split())


def loaded_by(*words: str, **more: Any) -> tuple[str, set[str]]:
    """The same of `trnbench WORDS…`, which has to end well."""
    command = f"from trnbench.cli.main import cli\ntry: cli.main({list(words)!r})\n"
    return loaded(f"{command}except SystemExit as end: assert not end.code, end.code", **more)
