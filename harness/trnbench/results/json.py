"""Runs as strict JSON with its schema: no NaN, no silent loss; versions are checked on the way in."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import cleandoc
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from trnbench.errors import BadInput
from trnbench.record import Record
from trnbench.results.digest import bare, content_digest, digest_of, is_edited
from trnbench.results.measurement import Measurement
from trnbench.results.run import SCHEMA_VERSION, Run

Document: TypeAlias = dict[str, Any]
"""A run as plain JSON values."""

_HONESTY = {"in-sample": "fitted"}
_USES = {"held out": "emulated", "in-sample": "emulated"}
_GONE = ("error", "slower", "cross_validated", "held")

NOTE = (
    "statistics of this run were stored as errors of rates, counted by rows: they are not shown, only its "
    "points are"
)


def old_fidelity(document: Document) -> Document:
    """`Run.fidelity` of schema 2 as `Fidelity` reads it; what is of today's form comes back as it is.

    Points keep their numbers, with e made of them. Their votes and what rules were chosen on was not
    recorded, so statistics cannot be made again: families and public kernels are left out, `NOTE` says so.
    """
    points = document.get("points", ())
    if all("vote" in point for point in points) and not any(
        "bounds_held" in row for row in [*document.get("families", ()), *document.get("public", ())]
    ):
        return document
    return {
        **document,
        "points": [_point(point) for point in points],
        "families": [],
        "public": [],
        "notes": [*document.get("notes", ()), NOTE],
    }


def _point(old: Document) -> Document:
    use = old["use"]
    point = {key: value for key, value in old.items() if key not in _GONE}
    point |= {"use": _USES.get(use, use), "vote": old["id"], "honesty": _HONESTY.get(use, "")}
    slower, published, crossed = old.get("slower"), old.get("published"), old.get("cross_validated")
    if slower is not None and slower > -1:
        point["e"] = math.log1p(slower)
    if published and crossed:
        point["e_cross"] = math.log(crossed / published) * (1 if old["unit"] == "s" else -1)
    return point


SCHEMA_ID = f"https://trnbench.invalid/schema/run-{SCHEMA_VERSION}.json"
"""Names the schema; nothing is ever fetched from it (RFC 2606 reserves `.invalid`)."""


def _without_nearness(document: Document) -> Document:
    """Numbers of version 2 do not say how near published evidence stands; the flag that stood for it was
    about links alone, and nothing is guessed from it."""

    def renewed(measurement: Any) -> Any:
        evidence = measurement.get("evidence") if isinstance(measurement, dict) else None
        if not isinstance(evidence, dict):
            return measurement
        kept = {name: value for name, value in evidence.items() if name != "unvalidated"}
        return {**measurement, "evidence": kept}

    found = document.get("measurements")
    more = {"measurements": [renewed(each) for each in found]} if isinstance(found, list) else {}
    return {**document, **more}


def _without_processes(document: Document) -> Document:
    """Measurements of version 3 came from one process, and say nothing about an interval between several.
    Their runs did not keep the texts that they were made from: `inputs` stays empty. The first of them, and
    those of version 2, have the errors of their model as rates."""
    fidelity = document.get("fidelity")
    return {**document, "fidelity": old_fidelity(fidelity)} if isinstance(fidelity, dict) else document


MIGRATIONS: dict[int, Callable[[Document], Document]] = {
    1: lambda document: document,  # it says nothing about its model's error, and keeps saying nothing
    2: _without_nearness,
    3: _without_processes,
}
"""From version n to n + 1."""


def json_schema() -> Document:
    """The JSON Schema (2020-12) of a run, for those who read results without trnbench."""
    schema = msgspec.json.schema(Run)
    for described in schema["$defs"].values():
        if "description" in described:
            described["description"] = cleandoc(described["description"])  # as Python 3.13 has them anyway
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "trnbench run",
        **schema,
    }


def check_version(version: object, where: str) -> int:
    """The version of a document from `where`, if this trnbench can read or migrate it.

    Raises `BadInput` for anything else.
    """
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise BadInput(
            f"{where} has no usable schema_version (found {version!r})",
            cause="it is not a trnbench result, or it was edited by hand",
            try_="trnbench export RUN --as json  writes one; for numbers of your own see docs/formats.md",
        )
    if version > SCHEMA_VERSION:
        raise BadInput(
            f"{where} is written in result schema {version}; this trnbench reads up to {SCHEMA_VERSION}",
            cause="a newer trnbench wrote it",
            try_="pip install --upgrade trnbench",
        )
    return version


def migrated(document: Document, where: str, chain: Mapping[int, Callable[[Document], Document]]) -> Document:
    """`document` brought to the present version, one step of `chain` after the other.

    Raises `BadInput` when the version is unknown, a step is missing, or the document is not of its version.
    """
    version = check_version(document.get("schema_version"), where)
    while version < SCHEMA_VERSION:
        step = chain.get(version)
        if step is None:
            raise BadInput(
                f"{where} is written in result schema {version}, which this trnbench no longer reads",
                cause=f"there is no step from schema {version} to {version + 1}",
                try_="open it with the trnbench that wrote it and export it again",
            )
        version += 1
        try:
            document = {**step(document), "schema_version": version}
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise BadInput(
                f"{where} cannot be brought from result schema {version - 1} to {version}",
                cause=f"it is damaged, or was edited by hand: {type(error).__name__}: {error}",
                try_="use a copy that is whole; where it is of a store: trnbench store repair",
            ) from error
    return document


T = TypeVar("T")

_ENCODER = json.JSONEncoder(
    check_circular=False,  # what is turned into plain values first is none
    allow_nan=False,
    ensure_ascii=False,
    separators=(",", ":"),
)


class _Head(Record):
    schema_version: Any = None


def dumps(run: Run) -> bytes:
    """The run as UTF-8 JSON. Raises `BadInput` naming the field that JSON cannot hold."""
    return dumps_value(run, f"run {run.id}")


def write(runs: Sequence[Run]) -> bytes:
    """One run as an object, several as an array; ends with a newline."""
    documents = [dumps(run) for run in runs]
    return (documents[0] if len(documents) == 1 else b"[" + b",\n".join(documents) + b"]") + b"\n"


def dumps_measurement(measurement: Measurement) -> bytes:
    """One measurement as UTF-8 JSON. Raises `BadInput` like `dumps`."""
    return dumps_value(measurement, f"case {measurement.id}")


def dumps_value(value: Any, where: str) -> bytes:
    """Any struct or plain value as UTF-8 JSON. Raises `BadInput` like `dumps`.

    msgspec writes NaN as null, so values are looked at by the stricter encoder first.
    """
    try:
        if isinstance(value, str):
            return msgspec.json.encode(value)  # the same bytes
        tree = msgspec.to_builtins(value)
        if tree != msgspec.to_builtins(value, str_keys=True):
            raise TypeError("a key is not text")  # json.dumps would turn 3.5 into "3.5" and say nothing
        return _ENCODER.encode(tree).encode()
    except (ValueError, TypeError, RecursionError) as error:
        try:
            name, found = _offender(value)
        except RecursionError:
            name, found = "a value", "it is nested too deeply, or inside itself"
        raise BadInput(
            f"{where}: {name} cannot be written as JSON: {found or error}",
            cause="the kernel, backend or plugin that made the value divides by zero or returns an odd type",
            try_="report it to the owner of that kernel or backend; the case is kept out of the store",
        ) from error


def loads(data: bytes | str, where: str = "this document", *, missing: int = 0) -> Run:
    """A run from JSON. `where` names the source in errors; `missing` is how many of its cases are known to be
    missing, for documents with a digest that do not say.

    Raises `BadInput` for anything that is not JSON, not a run, or of an unknown version.
    """
    head = loads_value(data, _Head, where)
    if check_version(head.schema_version, where) == SCHEMA_VERSION:
        run = loads_value(data, Run, where)
        if _has_every_field(run, data):
            return run
        document = loads_value(data, dict, where)
    else:
        document = loads_value(data, dict, where)
        try:
            run = msgspec.convert(migrated(document, where, MIGRATIONS), Run)
        except msgspec.ValidationError as error:
            raise _not_a_run(where, error) from error
    if "missing" not in document:
        run = replace(run, missing=missing)
    return _resealed(run, document)


def _has_every_field(run: Run, data: bytes | str) -> bool:
    """Whether a document with a digest has as many keys as the run would be written with: within a schema
    fields come, with a default. Where texts make the count another one, the digests themselves tell."""
    key = b'":'
    found = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return not run.digest or found.count(key) == msgspec.json.encode(run).count(key)


def _resealed(run: Run, before: dict[str, Any]) -> Run:
    """What is brought up to date is another content than its digest is of: it gets one of its own, unless it
    had been edited before."""
    if not run.digest or is_edited(before):
        return run
    return replace(run, digest=content_digest(msgspec.to_builtins(run)))


def loads_value(data: bytes | str, type_: type[T], where: str) -> T:
    """A struct from JSON. Raises `BadInput` naming the field that does not fit."""
    try:
        return msgspec.json.decode(data, type=type_)
    except msgspec.ValidationError as error:
        raise _not_a_run(where, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f"{where} is not JSON: {error}",
            cause="the file is cut short, or it is something else",
            try_="trnbench export RUN --as json -o FILE  writes a whole one",
        ) from error


def plain(value: Any) -> Any:
    """Structs, tuples and enums as dicts, lists and strings: what the JSON writers print."""
    return msgspec.to_builtins(value)


def _offender(value: Any, path: str = "") -> tuple[str, str]:
    """Path and description of the first thing that JSON cannot hold, depth first."""
    if isinstance(value, float):
        return ("", "") if math.isfinite(value) else (path or "value", repr(value))
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return path or "value", f"{value!r} is not valid Unicode"
        return "", ""
    if value is None or isinstance(value, int):
        return "", ""
    children: list[tuple[str, Any]]
    if isinstance(value, msgspec.Struct):
        children = [(f"{path}.{name}", getattr(value, name)) for name in value.__struct_fields__]
    elif isinstance(value, dict):
        children = []
        for key, item in value.items():
            if not isinstance(key, str):
                return f"{path}[{key!r}]", f"the key is of type {type(key).__name__}, not text"
            named = f"{path}.{key}" if re.fullmatch(r"\w+", key) else f"{path}[{key!r}]"
            children += [(f"{path}[{key!r}]", key), (named, item)]
    elif isinstance(value, (list, tuple, set, frozenset)):
        children = [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    else:
        return path or "value", f"a value of type {type(value).__name__}"
    for child_path, child in children:
        found = _offender(child, child_path)
        if found[0]:
            return found[0].removeprefix("."), found[1]
    return "", ""


def _not_a_run(where: str, error: Exception) -> BadInput:
    return BadInput(
        f"{where} is not a trnbench result: {error}",
        cause="a field is missing, misspelt or of another type",
        try_="trnbench export --as schema  prints what a result looks like",
    )


def sealed(run: Run, attached: Iterable[tuple[str, str, str]], cases: Iterable[str]) -> Run:
    """The run with its digest; arguments as for `digest_of`. Raises `BadInput` like `dumps`."""
    digest = digest_of(dumps_value(bare(run), f"run {run.id}"), attached, cases)
    return replace(run, digest=digest)
