"""Whatever stands where a data type should be: the type, or one message."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.errors import KernelError
from trnbench_emulator.nki.dtype import DTYPES, dtype_of


@pytest.mark.parametrize(
    "text",
    ["9" * 4301, "f8," * 5000, "(" * 3000, "(2,)f8", "1" * 400 + "f4", "i4, (2,3)f8, f4", "\0", "f\ud800"],
    ids=["digits", "fields", "brackets", "shape", "size", "record", "zero", "half"],
)
def test_a_text_that_numpy_reads_in_its_own_way_is_refused(text: str) -> None:
    with pytest.raises(KernelError, match="is no data type that NKI kernels can use here"):
        dtype_of(text)


@given(text=st.text(alphabet="0123456789fiubVS(),<>| {}'", max_size=40))
def test_no_text_is_more_than_refused(text: str) -> None:
    with contextlib.suppress(KernelError):
        assert dtype_of(text) in DTYPES.values()
