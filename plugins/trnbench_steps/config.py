"""A model's configuration file: keys read one by one, each of its type and within bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from trnbench.bounded import kinds
from trnbench.bounded.kinds import Number
from trnbench.errors import BadInput, quoted

T = TypeVar("T")

REQUIRED = object()


class Config:
    """The keys of `where`. A key that is null counts as one that is not there."""

    def __init__(
        self, values: Mapping[str, Any], where: str, *, architecture: str = "", inside: str = ""
    ) -> None:
        self._values, self.where, self.architecture, self._inside = values, where, architecture, inside

    def has(self, key: str) -> bool:
        return self._values.get(key) is not None

    def count(self, key: str, default: Any = REQUIRED, kind: Number = kinds.WIDTH) -> int:
        """A whole number of `kind`. Raises `BadInput`."""
        value = self._get(key, default, kind.example)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._error(
                key, f"must be a whole number, is {_shown(value)}", self.entry(key, kind.example)
            )
        if not kind.fits(value):
            raise self._error(
                key,
                f"is {value:,}: that is no {kind.noun}",
                self.entry(key, kind.example),
                f"{kind.about}, {kind.range}",
            )
        return value

    def flag(self, key: str, default: Any = REQUIRED) -> bool:
        """True or false. Raises `BadInput`."""
        return self._typed(key, default, bool, "true or false", "false")

    def word(self, key: str, default: Any = REQUIRED) -> str:
        """Text. Raises `BadInput`."""
        return self._typed(key, default, str, "text", '"llama"')

    def words(self, key: str, length: int, known: Sequence[str]) -> list[str]:
        """One of `known` for each of `length` layers. Raises `BadInput`."""
        value = self._list(key, length)
        if len(value) != length:
            raise self._error(
                key,
                f"names {len(value):,} layers",
                f"one word for each of the {length:,} layers",
                "they are one each",
            )
        for each in value:
            if each not in known:
                raise self._error(
                    key,
                    f"has {_shown(each)}, which is no kind of layer known here",
                    f"one of {', '.join(known)}",
                    f"{self.architecture} has these",
                )
        return value

    def places(self, key: str, length: int) -> frozenset[int]:
        """Numbers of layers, from 0. Raises `BadInput`."""
        value = self._list(key, length)
        for each in value:
            if isinstance(each, bool) or not isinstance(each, int) or not 0 <= each < length:
                raise self._error(
                    key,
                    f"has {_shown(each)}, which is the number of no layer",
                    f"numbers from 0 to {length - 1}",
                    f"the model has {length:,} layers",
                )
        return frozenset(value)

    def inside(self, key: str) -> Config:
        """The table under `key`. Raises `BadInput`."""
        value: dict[str, Any] = self._typed(key, REQUIRED, dict, "an object", "{…}")
        return Config(value, self.where, architecture=self.architecture, inside=f"{self._inside}{key}.")

    def entry(self, key: str, value: str) -> str:
        """The line of a key, as the file is written: TOML of ours, else JSON."""
        return f"{key} = {value}" if self.where.endswith(".toml") else f'"{key}": {value}'

    def error(self, what: str, *, cause: str, try_: str) -> BadInput:
        return BadInput(f"{self.where}: {what}", cause=cause, try_=try_)

    def _list(self, key: str, length: int) -> list[Any]:
        value = self._get(key, REQUIRED, "[]")
        if not isinstance(value, list):
            raise self._error(key, f"must be a list, is {_shown(value)}", self.entry(key, "[…]"))
        return value

    def _typed(self, key: str, default: Any, kind: type[T], what: str, example: str) -> T:
        """The value, which must be `what`."""
        value = self._get(key, default, example)
        if not isinstance(value, kind):
            raise self._error(key, f"must be {what}, is {_shown(value)}", self.entry(key, example))
        return value

    def _get(self, key: str, default: Any, example: str) -> Any:
        value = self._values.get(key)
        if value is not None:
            return value
        if default is REQUIRED:
            raise BadInput(
                f"{self.where}: key {self._inside + key!r} is missing",
                cause=f"a model of architecture {self.architecture} is described by it"
                if self.architecture
                else "it says how the others are read",
                try_=f"add it, as in {self.entry(key, example)}",
            )
        return default

    def _error(
        self,
        key: str,
        what: str,
        try_: str,
        cause: str = "the file is no model's configuration, or was edited",
    ) -> BadInput:
        return BadInput(f"{self.where}: {self._inside}{key} {what}", cause=cause, try_=try_)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return f"{value:g}" if isinstance(value, float) else f"{value}"[:60]
