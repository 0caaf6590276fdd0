"""Each sentence of documented.toml is true of the emulator."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from trnbench.errors import KernelError

CASES = tomllib.loads(Path(__file__).with_name("documented.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["sentence"][:60])
def test_sentences_of_documents_hold(run_piece: Any, case: dict[str, str]) -> None:
    given = eval(case.get("given", "()"), {"np": np, "ml_dtypes": ml_dtypes})
    body = "".join(f"{name} = args[{at}]\n" for at, name in enumerate("xy"[: len(given)])) + case["body"]
    if "refused" in case:
        with pytest.raises(KernelError, match=re.escape(case["refused"])):
            run_piece(body, given, True)
        return
    (found,) = run_piece(body, given, True).outputs
    wanted = eval(case["wanted"], {"np": np, **dict(zip("xy", given, strict=False))})
    np.testing.assert_array_equal(found, np.broadcast_to(wanted, found.shape))
