"""Each kernel of worked.toml leaves the values that were worked out by hand, on every generation."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from trnbench.errors import KernelError

KERNELS = tomllib.loads(Path(__file__).with_name("worked.toml").read_text(encoding="utf-8"))["kernel"]
STORED = "\nout = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)\nnl.store(out, t)\nreturn out"


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel["sentence"].partition(":")[0])
def test_values_are_those_worked_out_by_hand(
    snippets: Any, request: Any, kernel: dict[str, Any], version: int
) -> None:
    given = eval(kernel["given"], {"np": np, "ml_dtypes": ml_dtypes})
    arguments = given if isinstance(given, tuple) else (given,)
    named = dict(zip("xyz", arguments, strict=False))
    body = "".join(f"{name} = args[{at}]\n" for at, name in enumerate(named)) + kernel["body"] + STORED
    machine, since = request.getfixturevalue(f"v{version}"), kernel.get("since", 2)
    if version < since:
        with pytest.raises(KernelError, match=f"NeuronCore-v{since}"):
            snippets.run(body, *arguments, machine=machine, functional=True)
        return
    trace = snippets.run(body, *arguments, machine=machine, functional=True, shadow=True)
    wanted = np.asarray(eval(kernel["wanted"], {"np": np, **named})).astype(np.float64)
    assert trace.outputs[0].size == wanted.size
    np.testing.assert_allclose(
        trace.outputs[0].astype(np.float64), wanted.reshape(trace.outputs[0].shape), rtol=1e-6
    )
    assert [str(finding) for finding in trace.findings if finding.error] == []
