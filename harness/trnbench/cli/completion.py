"""`trnbench completion`: the script that teaches a shell the commands, options and names."""

from __future__ import annotations

import click

from trnbench.cli.output import say, write
from trnbench.errors import UsageError

_WHERE = {
    "bash": "trnbench completion bash > ~/.local/share/bash-completion/completions/trnbench",
    "zsh": "trnbench completion zsh > ~/.zfunc/_trnbench   (with fpath+=~/.zfunc before compinit)",
    "fish": "trnbench completion fish > ~/.config/fish/completions/trnbench.fish",
    "powershell": "trnbench completion powershell >> $PROFILE",
}


@click.command()
@click.argument("shell", type=click.Choice(tuple(_WHERE)))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the completion script of a shell; where to put it is said on stderr."""
    from click.shell_completion import add_completion_class, get_completion_class

    from trnbench.cli.bash import Bash

    add_completion_class(Bash)
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(
            f"this version of click cannot complete in {shell}",
            cause="completion for it came with a later version",
            try_="pip install --upgrade click",
        )
    program = ctx.find_root().command
    # Not `.source()`: for bash that runs the installed bash to see its version.
    write(kind(program, {}, "trnbench", "_TRNBENCH_COMPLETE").source_template % _variables(kind, program))
    say(f"put it where the shell looks:  {_WHERE[shell]}", level=0)


def _variables(kind: type, program: click.Command) -> dict[str, str]:
    variables: dict[str, str] = kind(program, {}, "trnbench", "_TRNBENCH_COMPLETE").source_vars()
    return variables
