"""`trnbench completion`: the script that teaches a shell the commands, options and names."""

from __future__ import annotations

import os
import re

import click
from click.shell_completion import BashComplete, add_completion_class, get_completion_class, split_arg_string

from trnbench.cli.help_page import COMPLETE
from trnbench.errors import UsageError
from trnbench.terminal.context import Session
from trnbench.terminal.output import mention, write

_WHERE = {
    "bash": "trnbench completion bash > ~/.local/share/bash-completion/completions/trnbench",
    "zsh": "trnbench completion zsh > ~/.zfunc/_trnbench   (with fpath+=~/.zfunc before compinit)",
    "fish": "trnbench completion fish > ~/.config/fish/completions/trnbench.fish",
    "powershell": "trnbench completion powershell >> $PROFILE",
}


def completion(_: Session, /, *, shell: str) -> None:
    """Print the completion script of a shell; where to put it is said on stderr."""

    add_completion_class(Bash)
    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(
            f"this version of click cannot complete in {shell}",
            cause="completion for it came with a later version",
            try_="pip install --upgrade click",
        )
    program = click.get_current_context().find_root().command
    # Not `.source()`: for bash that runs the installed bash to see its version.
    script = kind(program, {}, "trnbench", COMPLETE)
    write(script.source_template % script.source_vars())
    mention(f"put it where the shell looks:  {_WHERE[shell]}")


SCRIPT = r"""
%(complete_func)s() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" word="${COMP_WORDS[COMP_CWORD]}" type value completion
    local whole="${line##*[[:space:]]}"
    [[ $word == [=:]* ]] && word=""
    local stays="${whole%%%%"$word"}"

    for completion in $(env COMP_WORDS="$line" %(complete_var)s=bash_complete $1); do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == dir ]]; then
            compopt -o dirnames
        elif [[ $type == file ]]; then
            compopt -o default
        else
            [[ $value == *= ]] && compopt -o nospace
            COMPREPLY+=("${value#"$stays"}")
        fi
    done
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class Bash(BashComplete):
    """Told the line up to the cursor, and taking it apart at blanks alone."""

    source_template = SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        _, *words = split_arg_string(line) or [""]
        if re.search(r"\s$", line) or not words:
            return words, ""
        return words[:-1], words[-1]
