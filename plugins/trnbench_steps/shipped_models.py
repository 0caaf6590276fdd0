"""Where models come from: those that trnbench describes itself, and files of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench import BadInput, NotJson, UnknownName, parse_json
from trnbench.bounded import TABLE, parse_toml, read_file
from trnbench_steps.model import Model, ModelSource, PublishedCount
from trnbench_steps.model_config import read_model

if TYPE_CHECKING:
    from trnbench.registry import Registry

FOLDER = Path(__file__).with_name("models")


@cache
def shipped_names() -> tuple[str, ...]:
    """Names of all models that trnbench describes; no file is read."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def load_model(name: str | Path, *, also: Iterable[str] = ()) -> Model:
    """A shipped model by its name, or the model that a config.json, its folder, or a TOML file describes.

    `also` are further names that a message about an unknown one tells.

    Raises `UnknownName` for a name that nobody gave a model, `BadInput` and `MissingFile` for a file that
    is not there or says something else.
    """
    word = str(name)
    if word in shipped_names():
        return _shipped(word)
    path = Path(word)
    if path.suffix not in (".json", ".toml") and not path.exists():
        known = (*shipped_names(), *also)
        raise UnknownName(
            "model",
            word,
            known,
            cause=UnknownName("model", word.lower().replace("_", "-"), known).cause,
            try_="trnbench workload list, or a config.json",
        )
    return load_model_file(path / "config.json" if path.is_dir() else path)


def model_of(registry: Registry, name: str) -> Model:
    """The model of a name: one that trnbench describes, one of a plugin, or what a file says.

    Raises what `load_model` raises; an unknown name is told with those of plugins.
    """
    import msgspec

    if name in shipped_names():  # no plugin is asked
        return _shipped(name)
    if name in registry.models:
        return msgspec.structs.replace(load_model_file(registry.models[name].path), name=name)
    return load_model(name, also=registry.models)


@cache
def _shipped(name: str) -> Model:
    return load_model_file(FOLDER / f"{name}.toml")


def load_model_file(path: Path) -> Model:
    """The model that `path` describes: TOML of ours where it ends so, else a Hugging Face config.json.

    Raises `MissingFile` and `BadInput`.
    """
    data = read_file(path, most=TABLE)
    if path.suffix == ".toml":
        return _of_toml(parse_toml(data, str(path)), path)
    try:
        values = parse_json(data, most=TABLE)
    except NotJson as error:
        raise BadInput(
            f"{path} is no JSON: {error}",
            cause="it was cut off, or is another file",
            try_="the config.json beside a model's weights",
        ) from None
    name = path.parent.resolve().name if path.name == "config.json" else path.stem
    return read_model(values, name, str(path))


def _of_toml(tables: dict[str, Any], path: Path) -> Model:
    import msgspec

    known = {"source", "published", "config"}
    for key in tables:
        if key not in known:
            raise BadInput(
                f"{path}: unknown table {key!r}",
                cause=f"a model's file has {', '.join(sorted(known))}",
                try_="docs/workloads.md shows one",
            )
    if "config" not in tables:
        raise BadInput(
            f"{path}: table 'config' is missing",
            cause="it holds the keys of the model's config.json",
            try_="[config], with model_type below it",
        )
    try:
        source = msgspec.convert(tables.get("source"), ModelSource | None)
        published = msgspec.convert(tables.get("published", []), tuple[PublishedCount, ...])
    except msgspec.ValidationError as error:
        raise BadInput(
            f"{path}: {error}",
            cause="a source has document, version and locator, a [[published]] count parameters too",
            try_="docs/workloads.md shows one",
        ) from None
    return read_model(tables["config"], path.stem, str(path), source=source, published=published)
