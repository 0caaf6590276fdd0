"""A disk on which finished files find no room."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any


def forbid_parts() -> None:
    """From here on nothing can be written into what `tempfile` makes beside a file to be replaced."""
    made = tempfile.mkstemp

    def full(*arguments: Any, **more: Any) -> tuple[int, str]:
        descriptor, name = made(*arguments, **more)
        os.close(descriptor)
        return os.open("/dev/full", os.O_WRONLY), name

    tempfile.mkstemp = full
    if not os.path.exists("/dev/full"):
        raise OSError(errno.ENOENT, "there is no /dev/full here")
