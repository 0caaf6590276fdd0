"""Completion in bash, which takes `=` and `:` for ends of words: to us `size=1K` is one word."""

from __future__ import annotations

import os
import re

from click.shell_completion import BashComplete, split_arg_string

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
