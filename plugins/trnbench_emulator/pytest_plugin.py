"""Fixtures of pytest that hold NKI kernels to their emulated times; loaded by every pytest run, so it is
small."""

from __future__ import annotations

from collections.abc import Callable

import pytest  # noqa: TID253 (this module is only ever loaded by pytest)


@pytest.fixture
def assert_faster() -> Callable[..., None]:
    """`assert_faster(kernel, than, args, instance=…, by="5%")`: emulated, one kernel takes less time."""
    from trnbench_emulator.kernel_run.assertions import assert_faster

    return assert_faster


@pytest.fixture
def assert_share_of_peak() -> Callable[..., None]:
    """`assert_share_of_peak(kernel, args, instance=…, at_least="60%")`: emulated, a kernel reaches it."""
    from trnbench_emulator.kernel_run.assertions import assert_share_of_peak

    return assert_share_of_peak
