"""Plugins that do what no plugin should: a module's text by name, each said to be `bad`.

IMPORT does it while it is imported, HOOK in a hook, RENDER in a section of the report.
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

IMPORT = {
    "exits": "import sys; sys.exit(0)",
    "exits without a word": "import os; os._exit(0)",
    "kills itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
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
    "prints in a hook": ("kernels", "print('printed by bad'); yield kernel('k')"),
}

_RENDERS = {
    "raises": "1 / 0",
    "exits": "import sys; sys.exit(0)",
    "raises what is no Exception": "raise type('Own', (BaseException,), {})",
    "returns nothing": "return None",
    "returns a number": "return 3",
    "returns what breaks the page": "return '</div></body><script>alert(1)</script>'",
    "changes what it is given": "runs[0].environment.clear(); runs[0].systems.clear(); return ''",
    "prints": "print('printed by bad'); return ''",
    "recurses": "return render(runs)",
}

HOOK = {
    name: f"{_KERNEL}\n@trnbench.hookimpl\ndef trnbench_{hook}():\n    {body}\n"
    for name, (hook, body) in _HOOKS.items()
}

RENDER = {
    name: (
        "import trnbench\n\n@trnbench.hookimpl\ndef trnbench_reports():\n"
        "    yield trnbench.Section(name='bad', title='Bad', order=99, render='bad:render')\n\n"
        f"def render(runs, *_):\n{indent(dedent(body), '    ')}\n"
    )
    for name, body in _RENDERS.items()
}
