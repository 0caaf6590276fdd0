"""Candidates that end badly, or never: each with the kind of error that answers it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

HEAD = "import ctypes, os, signal, sys, threading, time\n"
END = "\ndef f():\n    pass\n"

HOSTILE: dict[str, tuple[str, tuple[str, ...]]] = {
    "exits": ("os._exit({n} % 200)", ("process",)),
    "exits well": ("os._exit(0)", ("process",)),
    "asks to exit": ("sys.exit({n})", ("kernel",)),
    "kills itself": ("os.kill(os.getpid(), signal.SIGKILL)", ("process",)),
    "kills its parent": ("os.kill(os.getppid(), signal.SIGKILL)", ("process",)),
    "kills its group": ("os.killpg(os.getpgid(0), signal.SIGTERM)", ("process",)),
    "crashes": ("ctypes.string_at({n} % 4096)", ("process",)),
    "loops": ("while True: pass", ("time",)),
    "loops, deaf": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        ("time",),
    ),
    "sleeps": ("time.sleep(1000 + {n})", ("time",)),
    "sleeps, deaf": ("signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64)); time.sleep(1000)", ("time",)),
    "closes all": ("os.closerange(0, 1000); time.sleep(1000)", ("time",)),
    "stops itself": ("os.kill(os.getpid(), signal.SIGSTOP)", ("time",)),
    "leaves a child": ("if os.fork() == 0:\n    os.setsid(); time.sleep(1000)\nos._exit(1)", ("process",)),
    "leaves a child, and waits": ("if os.fork() == 0:\n    time.sleep(1000)\nos.wait()", ("time",)),
    "forks": ("for _ in range(20):\n    os.fork()\ntime.sleep(1000)", ("time", "process")),
    "takes memory": ("def f():\n    rest = []\n    while True: rest.append(bytearray(1 << 24))", ("memory",)),
    "takes it at once": ("def f():\n    return bytearray(1 << 50)", ("memory",)),
    "recurses": ("def f(): return f()", ("kernel",)),
    "recurses, deep": (
        "sys.setrecursionlimit(10**9)\ndef f(): return f()",
        ("kernel", "process", "memory", "time"),
    ),
    "prints": ("while True: print('x' * 1000)", ("time",)),
    "writes by descriptor": ("while True: os.write(1, b'x' * 1000)", ("time",)),
    "reads": ("sys.stdin.read(); raise ValueError", ("kernel",)),
    "waits for a thread": (
        "threading.Thread(target=time.sleep, args=(1000,)).start()\nos.kill(os.getpid(), signal.SIGSTOP)",
        ("time",),
    ),
    "forges": (
        "for n in range(3, 64):\n    try: os.write(n, b'\\0' * 7 + b'\\3abc')\n"
        "    except OSError: pass\nos._exit(0)",
        ("process",),
    ),
    "forges without end": (
        "for n in range(3, 64):\n    try:\n        while True: os.write(n, b'\\x7f' * 4096)\n"
        "    except OSError: pass\nos._exit(0)",
        ("process", "time"),
    ),
    "is no program": ("x = = {n}", ("source",)),
    "is deep": ("x = " + "(" * 5000 + ")" * 5000, ("source", "kernel")),
    "raises": ("def f(): raise ValueError({n})", ("kernel",)),
    "raises what is none": ("def f(): raise GeneratorExit({n})", ("kernel",)),
    "interrupts": ("def f(): raise KeyboardInterrupt({n})", ("kernel",)),
    "changes the rest": (
        "import trnbench_emulator.core.timing as t\nt.KernelModel = None\nsys.modules.clear()\nos.chdir('/')",
        ("kernel", "process"),
    ),
}
"""Name → the program's text, and the kinds that an answer may have."""


def text_of(name: str, number: int) -> str:
    """A candidate's text, different for each number."""
    text = HOSTILE[name][0].replace("{n}", str(number))
    end = "" if "def f" in text else END
    return f"{HEAD}# {number}\n{text}\n{end}"


def drawn(count: int, seed: int) -> Iterator[str]:
    """Names, those that take their whole limit less often."""
    random = Random(seed)
    names = sorted(HOSTILE)
    weights = [1 if "time" in HOSTILE[name][1] else 4 for name in names]
    return iter(random.choices(names, weights, k=count))
