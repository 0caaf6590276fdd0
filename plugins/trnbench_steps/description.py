"""A configuration with the rules of its architecture: what it says, under whatever name, or its default."""

from __future__ import annotations

from typing import Any

from trnbench.bounded import kinds
from trnbench.bounded.number import Number
from trnbench_steps.architecture import Architecture
from trnbench_steps.config import REQUIRED, Config


class Description:
    """What `config` describes. `top` is the file's own table, around that of the language model.

    All methods raise `BadInput` for a key that is missing, and for a value that no model has.
    """

    def __init__(self, architecture: str, rules: Architecture, top: Config) -> None:
        self.architecture, self.rules, self.top = architecture, rules, top
        self.config = top.inside(rules.inside) if rules.inside else top
        self.layers = self.count("num_hidden_layers", kind=kinds.LAYERS)
        self.hidden = self.count("hidden_size")
        self.heads = self.count("num_attention_heads")

    def count(self, name: str, default: Any = REQUIRED, kind: Number = kinds.WIDTH) -> int:
        """What the architecture calls `name`."""
        key = self.rules.key(name)
        return self.config.count(key, self.rules.defaults.get(key, default), kind)

    def flag(self, name: str, default: bool) -> bool:
        """Likewise, true or false."""
        key = self.rules.key(name)
        return self.config.flag(key, self.rules.defaults.get(key, default))

    def has(self, name: str) -> bool:
        """Whether the architecture has a key of this name, and the file or the rules a value for it."""
        key = self.rules.keys.get(name, "")
        return bool(key) and (self.config.has(key) or key in self.rules.defaults)

    def knows(self, name: str) -> bool:
        """Whether the architecture has a key of this name, said or not."""
        return name in self.rules.keys
