"""What a family of architectures has in common: how its configuration is read, as data.

`architectures.toml` has one table for each model_type. What a configuration says goes first, then these.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from trnbench_steps.layer import Norm

FILE = Path(__file__).with_name("architectures.toml")


class Architecture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of one model_type.

    `keys` names the key that a configuration uses for one that most spell otherwise; `defaults` are values
    for keys it may leave out, as the library that loads it takes them. `like` takes all that is not said
    here from another.
    """

    source: str
    like: str = ""
    inside: str = ""  # the table of a configuration of several modalities that describes the language model
    left_out: str = ""  # what that leaves uncounted
    keys: dict[str, str] = {}
    defaults: dict[str, int | bool] = {}
    # The whole.
    encoder: bool = False
    norm: Norm = Norm.RMS
    learned_positions: bool = False
    embedding_norm: bool = False
    final_norm: bool = True
    head: bool = True
    head_bias: bool = False
    pooler: bool = False
    shared_layers: bool = False
    # A layer.
    norms: int = 2
    parallel: bool = False
    gated: bool = True
    bias: bool = False  # of the network
    query_bias: bool = False
    output_bias: bool = False
    head_norm: bool = False
    projection_norm: bool = False
    gated_attention: bool = False
    sinks: bool = False
    latent: bool = False
    # Which layers do not attend to everything.
    others: str = ""  # what the layers between full ones are: sliding, chunked, linear
    # Which layers have experts, and what these are.
    experts: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    shared_gate: bool = False

    def key(self, name: str) -> str:
        return self.keys.get(name, name)


@cache
def architectures() -> dict[str, Architecture]:
    """All that are known, by model_type."""
    import tomllib

    tables: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: msgspec.convert(_whole(tables, name), Architecture) for name in tables}


def _whole(tables: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    own = tables[name]
    if "like" not in own:
        return own
    base = _whole(tables, own["like"])
    merged = {key: {**base.get(key, {}), **own.get(key, {})} for key in ("keys", "defaults")}
    return {**base, **own, **merged}
