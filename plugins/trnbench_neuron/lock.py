"""One measurement at a time: two that share a device measure each other."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trnbench_neuron.failure import OverTime

PATIENCE_S = 3600.0


@contextmanager
def alone(patience_s: float = PATIENCE_S, path: Path | None = None) -> Iterator[None]:
    """Waits for other measurements of this user. Raises `OverTime` after `patience_s`."""
    path = path or Path(tempfile.gettempdir()) / f"trnbench-neuron-{os.getuid()}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        deadline = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise OverTime(
                        f"another measurement held the devices for {patience_s:g} s",
                        cause="another run of trnbench is under way",
                    ) from None
                time.sleep(0.05)
        yield
    finally:
        os.close(handle)
