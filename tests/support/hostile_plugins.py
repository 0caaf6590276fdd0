"""Plugins that do what no plugin should: a module's text by name, each said to be `bad`.

IMPORT does it while it is imported, HOOK in a hook, RENDER in a section of the report, READ in an importer,
WRITE in a format, COMMAND in a command. `hurry` has the command wait for them four seconds, not ten.
"""

from __future__ import annotations

from textwrap import dedent, indent

_KERNEL = """
import trnbench
from trnbench import Axis, Kernel, PrimaryMetric, Scope, Work

def kernel(name, **changes):
    fields = dict(
        name=name, family="test", title="Test", about="Tests.",
        axes=(Axis(name="size", values=(1,)),), scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="latency_s", unit="s", better="lower"),
        work=lambda point, extent: Work(), footprint=lambda point, extent: {}, requires=lambda point: (),
    )
    return Kernel(**{**fields, **changes})
"""

_DEAF = """
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})
while True: time.sleep(3600)
"""
_STARTS = "import subprocess; subprocess.Popen(['sleep', '3600'])"
_ESCAPES = "import subprocess; subprocess.Popen(['sleep', '3600'], start_new_session=True)"

_DIES = {
    "exits without a word": "import os; os._exit(0)",
    "exits in C": "import ctypes; ctypes.CDLL(None).exit(0)",
    "touches what is not there": "import ctypes; ctypes.string_at(0)",
    "kills itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
}

IMPORT = {
    **_DIES,
    "exits": "import sys; sys.exit(0)",
    "raises what is no Exception": "class Own(BaseException): pass\nraise Own",
    "interrupts": "raise KeyboardInterrupt",
    "is no Python": "def f(:",
    "hangs": "import time; time.sleep(3600)",
    "leaves a thread": "import threading, time; threading.Thread(target=time.sleep, args=(3600,)).start()",
    "prints": "print('printed by bad')",
    "writes by descriptor": "import os; os.write(1, b'written by bad')",
    "closes stdout": "import sys; sys.stdout.close()",
    "closes descriptors": "import os; os.close(1); os.close(2)",
    "changes the folder": "import os; os.chdir('/')",
    "changes the umask": "import os; os.umask(0o777)",
    "ignores signals": "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "seeds": "import random; random.seed(0)",
    "patches open": "import builtins; builtins.open = None",
    "clears the environment": "import os; os.environ.clear()",
    "traces": "import sys; sys.settrace(lambda *_: 1 / 0)",
    "speaks another contract": "trnbench_contract = object()",
    "hangs and hears no alarm": _DEAF,
    "clears the path of modules": "import sys; sys.path.clear()",
    "replaces the path of modules": "import sys; sys.path = []",
    "allows no recursion": "import sys; sys.setrecursionlimit(90)",
    "allows no files": "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (12, 12))",
    "allows few files": "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (64, 64))",
    "allows no memory": "import resource as r; r.setrlimit(r.RLIMIT_AS, (1 << 20, 1 << 20))",
    "starts a process": _STARTS,
    "starts a process that is nobody's": _ESCAPES,
    "closes all descriptors": "import os; os.closerange(3, 256)",
    "replaces the end": "import os; os._exit = lambda code: None; os._exit(0); os.abort()",
    "ends the process at its end": "import atexit, os; atexit.register(os._exit, 0)",
    "hangs at the end": "import atexit, time; atexit.register(time.sleep, 3600)",
    "floods": "import os\nfor _ in range(2000): os.write(2, b'flood ' * 1000)",
}

_HOOKS = {
    "returns none": ("kernels", "return None"),
    "yields a text": ("kernels", "yield 'gemm'"),
    "raises half way": ("kernels", "yield kernel('half'); 1 / 0"),
    "interrupts half way": ("kernels", "yield kernel('half'); raise KeyboardInterrupt"),
    "takes a name": ("kernels", "yield kernel('gemm')"),
    "has a name of control characters": ("kernels", "yield kernel('\\x1b[2Jk\\x00')"),
    "has a name of a megabyte": ("kernels", "yield kernel('k' * 1_000_000)"),
    "has no axes": ("kernels", "yield kernel('k', axes=None)"),
    "has an axis of a million values": (
        "kernels",
        "yield kernel('k', axes=(Axis(name='size', values=tuple(range(1_000_000))),))",
    ),
    "raises in its formula": ("kernels", "yield kernel('k', requires=lambda point: 1 / 0)"),
    "yields an object that answers nothing": (
        "backends",
        "yield type('Odd', (), {'__getattr__': lambda self, name: 1 / 0, '__repr__': lambda self: 1 / 0})()",
    ),
    "changes the folder in a hook": ("kernels", "import os; os.chdir('/'); yield kernel('k')"),
    "exits in a hook": ("kernels", "import os; os._exit(0)"),
    "exits in C in a hook": ("kernels", "import ctypes; ctypes.CDLL(None).exit(0)"),
    "touches what is not there in a hook": ("kernels", "import ctypes; ctypes.string_at(0)"),
    "clears the path of modules in a hook": ("kernels", "import sys; sys.path.clear(); yield kernel('k')"),
    "allows no files in a hook": (
        "kernels",
        "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (12, 12)); yield kernel('k')",
    ),
    "hangs in a hook": ("kernels", "import time; time.sleep(3600)"),
    "prints in a hook": ("kernels", "print('printed by bad'); yield kernel('k')"),
}

_RENDERS = {
    **_DIES,
    "raises": "1 / 0",
    "exits": "import sys; sys.exit(0)",
    "raises what is no Exception": "raise type('Own', (BaseException,), {})",
    "returns nothing": "return None",
    "returns a number": "return 3",
    "returns what breaks the page": "return '</div></body><script>alert(1)</script>'",
    "changes what it is given": "runs[0].environment.clear(); runs[0].systems.clear(); return ''",
    "prints": "print('printed by bad'); return ''",
    "recurses": "return render(runs)",
    "hangs": "import time; time.sleep(3600)",
    "hangs and hears no alarm": _DEAF,
    "changes the folder": "import os; os.chdir('/'); return ''",
    "allows no files": "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (12, 12)); return ''",
    "starts a process": f"{_ESCAPES}; return ''",
    "floods": "print('flood ' * 10_000_000); return ''",
    "returns what cannot be sent": "return type('Own', (str,), {'__reduce__': lambda self: 1 / 0})('x')",
}

ENDS = {
    **_DIES,
    "exits": "import sys; sys.exit(0)",
    "raises": "1 / 0",
    "raises what is no Exception": "raise type('Own', (BaseException,), {})",
    "interrupts": "raise KeyboardInterrupt",
    "hangs": "import time; time.sleep(3600)",
    "hangs and hears no alarm": _DEAF,
    "allows no files": "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (12, 12)); return 3",
    "changes the folder": "import os; os.chdir('/'); return b''",
    "returns a number": "return 3",
    "returns what cannot be sent": "return lambda: 3",
    "starts a process and raises": f"{_ESCAPES}; 1 / 0",
    "floods and raises": "print('flood ' * 10_000_000); 1 / 0",
}
"""Of importers and formats: what none of them does."""

HOOK = {
    name: f"{_KERNEL}\n@trnbench.hookimpl\ndef trnbench_{hook}():\n    {body}\n"
    for name, (hook, body) in _HOOKS.items()
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
RENDER = {name: _module("reports", _SECTION, "render(runs, *_)", body) for name, body in _RENDERS.items()}
READ = {name: _module("importers", _IMPORTER, "read(data)", body) for name, body in ENDS.items()}
WRITE = {name: _module("reports", _FORMAT, "write(runs)", body) for name, body in ENDS.items()}

_COMMANDS = {
    **_DIES,
    "raises": "1 / 0",
    "starts a process and raises": f"{_ESCAPES}; 1 / 0",
}

COMMAND = {
    **{
        name: f"import click\n\n@click.command()\ndef bad():\n{indent(dedent(body), '    ')}\n"
        for name, body in _COMMANDS.items()
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
    f"{place} {name}": (words, f"{_KERNEL}\n@trnbench.hookimpl\ndef trnbench_{hook}():\n    {body}\n")
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
