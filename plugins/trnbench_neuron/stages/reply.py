"""The other end of a conversation, for the scripts beside this file. Standard library only."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

WORDS = ("bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")
"""Types that NumPy has only with ml_dtypes."""


def serve(commands: dict[str, Callable[..., dict[str, Any]]]) -> None:
    """Answer each line of stdin by the command it names, until there are no more."""
    answers = int(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            found = commands[asked.pop("do")](**asked)
        except BaseException as error:  # whatever the vendor's library raises is an answer too
            found = {"error": f"{type(error).__name__}: {error}"}
        data = json.dumps(found).encode() + b"\n"
        while data:
            data = data[os.write(answers, data) :]


def arrays(inputs: list[dict[str, Any]], *, raw: bool = False) -> list[Any]:
    """What each of `inputs` describes. With `raw`, types NumPy lacks come as integers of their size."""
    return [_array(each["file"], each["dtype"], each["shape"], raw) for each in inputs]


def _array(file: str, dtype: str, shape: list[int], raw: bool) -> Any:
    import numpy as np

    if dtype in WORDS:
        if raw:
            kind = np.dtype("uint16" if dtype == "bfloat16" else "uint8")
        else:
            import ml_dtypes

            kind = np.dtype(getattr(ml_dtypes, dtype))
    else:
        kind = np.dtype(dtype)
    return np.fromfile(file, dtype=kind).reshape(shape)


def keep_all(result: Any, path: str) -> list[dict[str, Any]]:
    """Write each array that a kernel returned to `path` with its number; what they are."""
    results = result if isinstance(result, (tuple, list)) else [result]
    return [keep(each, f"{path}_{index}.bin") for index, each in enumerate(results)]


def keep(value: Any, file: str) -> dict[str, Any]:
    """Write an array's bytes; what it is."""
    import numpy as np

    whole = np.ascontiguousarray(value)
    with open(file, "wb") as out:
        out.write(whole.tobytes())
    return {"file": file, "dtype": whole.dtype.name, "shape": list(whole.shape)}
