"""A clock that only calls advance: no test here waits, none depends on how busy the machine is."""

from __future__ import annotations

from collections.abc import Callable

import pytest


class Clock:
    """Time passes when `spend` is called, and a little whenever it is read."""

    TICK = 1e-8

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.TICK
        return self.now

    def spend(self, seconds: float) -> None:
        self.now += seconds

    def call(self, seconds: float, output: object = "right") -> Callable[[], object]:
        def run() -> object:
            self.spend(seconds)
            return output

        return run


@pytest.fixture
def clock() -> Clock:
    return Clock()
