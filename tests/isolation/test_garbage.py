"""Garbage is searched for seldom while a model runs, and as before when it is done."""

from __future__ import annotations

import gc

import pytest

from trnbench.isolation.garbage import RARELY, seldom_collected


def test_thresholds_come_back() -> None:
    before = gc.get_threshold()
    with seldom_collected():
        assert gc.get_threshold() == RARELY
    assert gc.get_threshold() == before


def test_thresholds_come_back_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(KeyError), seldom_collected():
        raise KeyError
    assert gc.get_threshold() == before
