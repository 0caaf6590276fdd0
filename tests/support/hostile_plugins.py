"""Plugins that do what no plugin should: a module's text by name, each said to be `bad`.

IMPORT does it while it is imported, HOOK in a hook, RENDER in a section of the report, READ in an importer,
WRITE in a format, COMMAND in a command. `hurry` has the command wait for them four seconds, not ten.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from textwrap import dedent, indent

_TEXTS = tomllib.loads(Path(__file__).with_name("hostile_plugins.toml").read_text(encoding="utf-8"))


def _texts(rows: dict[str, str]) -> dict[str, str]:
    return {
        name: _TEXTS["deaf"] if text == "DEAF" else text.replace("ESCAPES", _TEXTS["escapes"])
        for name, text in rows.items()
    }


_DIES = _texts(_TEXTS["dies"])
IMPORT = _DIES | _texts(_TEXTS["import"])
ENDS = _DIES | _texts(_TEXTS["ends"])
"""Of importers and formats: what none of them does."""


def _with_kernel(hook: str, body: str) -> str:
    return f"{_TEXTS['kernel']}\n@trnbench.hookimpl\ndef trnbench_{hook}():\n    {body}\n"


HOOK = {
    name: _with_kernel(hook, body) for hook, rows in _TEXTS["hooks"].items() for name, body in rows.items()
}


def _module(hook: str, made: str, function: str, body: str) -> str:
    """A plugin whose hook yields one value, and the function that this one names."""
    return (
        f"import trnbench\n\n@trnbench.hookimpl\ndef trnbench_{hook}():\n    yield trnbench.{made}\n\n"
        f"def {function}:\n{indent(dedent(body), '    ')}\n"
    )


_SECTION = "Section(name='bad', title='Bad', order=99, render='bad:render')"
_IMPORTER = "Importer(name='bad', title='Bad', read='bad:read')"
_FORMAT = "Format(name='bad', title='Bad', suffix='.bad', write='bad:write')"
RENDER = {
    name: _module("reports", _SECTION, "render(runs, *_)", body)
    for name, body in (_DIES | _texts(_TEXTS["renders"])).items()
}
READ = {name: _module("importers", _IMPORTER, "read(data)", body) for name, body in ENDS.items()}
WRITE = {name: _module("reports", _FORMAT, "write(runs)", body) for name, body in ENDS.items()}

COMMAND = {
    **{
        name: f"import click\n\n@click.command()\ndef bad():\n{indent(dedent(body), '    ')}\n"
        for name, body in (_DIES | _texts(_TEXTS["commands"])).items()
    },
    "exits when it is imported": "import os; os._exit(0)",
    "hangs when it is imported": "import time; time.sleep(3600)",
    "is no Python": "def f(:",
}


_FORMULA = "yield kernel('k', requires=lambda point: ACT)"
_BACKEND = (
    "yield type('Bad', (), {'name': 'bad', 'detect': lambda self: ACT, 'environment': lambda self: {},"
    " 'unsupported': lambda self, case, system: '', 'observe': lambda self, case, system: None})()"
)

DEEP = {
    f"{place} {name}": (words, _with_kernel(hook, body))
    for place, (hook, yields, words) in {
        "a formula": ("kernels", _FORMULA, ("run", "k", "-i", "trn1.2xlarge", "--dry-run")),
        "a backend": ("backends", _BACKEND, ("list", "backends")),
    }.items()
    for name, act in {
        "exits without a word": "__import__('os')._exit(0)",
        "kills itself": "__import__('os').kill(__import__('os').getpid(), 9)",
        "touches what is not there": "__import__('ctypes').string_at(0)",
        "starts a process and exits": (
            "(__import__('subprocess').Popen(['sleep', '99'], start_new_session=True),"
            " __import__('os')._exit(0))"
        ),
    }.items()
    for body in [yields.replace("ACT", act)]
}
"""What works in the process of the command: by name a command that asks for it, and the plugin."""


def hurry() -> None:
    """What may take ten seconds, or a minute, may take four."""
    from trnbench.isolation import child, supervision, surroundings
    from trnbench.registry import plugin_copy as apart

    surroundings.LIMIT_S, supervision.LIMIT_S, supervision.END_S, child.GRACE_S = 4.0, 6.0, 1.0, 1.0
    apart.FILE_S = 4.0
