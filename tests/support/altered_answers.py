"""Answers of a generation with something in them changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from renewal.answers import as_json
from trnbench.registry import Registry
from trnbench.store.answers import Answers, answers_of


def answers(registry: Registry, name: str) -> Answers:
    """What the generation ships."""
    return answers_of(registry.generations[name])


def altered(
    registry: Registry, name: str, folder: Path, sections: Mapping[str, object] = {}, **fields: Any
) -> Registry:
    """The registry, the generation's answers read from a copy in `folder`; sections of None are left out."""
    before = answers(registry, name)
    every: dict[str, Any] = {**before.sections, **sections}
    raw = {key: _raw(each) for key, each in every.items() if each is not None}
    path = folder / f"{name}-answers.json"
    path.write_text(as_json(msgspec.structs.replace(before, sections=raw, **fields)))
    return replaced(registry, name, answers=path)


def replaced(registry: Registry, name: str, /, **fields: Any) -> Registry:
    """The registry with other fields of one generation."""
    registry.generations[name] = msgspec.structs.replace(registry.generations[name], **fields)
    return registry


def _raw(section: object) -> msgspec.Raw:
    return section if isinstance(section, msgspec.Raw) else msgspec.Raw(msgspec.json.encode(section))
