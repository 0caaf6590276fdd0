"""Kernels as rows of TOML: axes, words and formulas of each, without code of its own.

A formula is an expression of Python over the point's axes, what the row says under `let`, and these:

- `item`, `out`: bytes of an element of the axis `dtype`, and of what a matrix product of such elements gives;
- `cores`, `devices`, `hosts`, `ranks`, `rank_kind`, `scope`: of the extent, a lone core where there is none;
- `times`, for texts: "; × 8 cores" where several cores take part;
- `max`, `min`, `int`, `sqrt`, `ratio`, `peak_factor`.

Texts take the same names in braces. A table stands beside a plugin's code and is trusted as that is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from trnbench.errors import FactError
from trnbench.facts.fact import Direction, Scope
from trnbench.facts.files import Files, Memo, Reader
from trnbench.kernels.kernel import Axis, Kernel, Point, PrimaryMetric, PublishedAs, Statement, Variant
from trnbench.kernels.work import Extent, Spread, Work, item_bytes, peak_factor, per_core, ratio, result_dtype
from trnbench.reference import resolve

if TYPE_CHECKING:
    from trnbench.kernels.split import Split

Row = Mapping[str, Any]

_PLAIN: Reader = Memo()
READING: ContextVar[Reader] = ContextVar("READING", default=_PLAIN)
"""By which files of kernels are read: a command that keeps what it read need not parse them again."""

_MERGED = frozenset({"axes", "let", "work", "published"})
"""Keys whose tables a row shares entry by entry with the row that it is `like`."""
_LISTS = frozenset({"values", "wide", "choices", "sides"})
"""Of an axis, in words with spaces between them."""
_CALLS = {"int": int, "sqrt": math.sqrt, "max": max, "min": min, "ratio": ratio, "peak_factor": peak_factor}
_OF_AN_EXTENT = frozenset({"cores", "devices", "hosts", "ranks", "rank_kind", "scope"})
_LONE = Extent(scope=Scope.CORE)


def read_kernels(path: Path, module: str) -> Iterator[Kernel | Variant]:
    """The variants and kernels of `path`, in its order; `module` is the plugin's own that reads them.

    A row that is `like` another takes from it what it does not say itself. `[metrics]` holds primary metrics
    by the name that rows use. Raises `FactError` for a row that makes no kernel.
    """

    def parsed() -> dict[str, Any]:
        import tomllib

        return tomllib.loads(path.read_text(encoding="utf-8"))

    tables = READING.get().read("kernels", Files(path), dict[str, Any], parsed)
    yield from (Variant(**variant) for variant in tables.get("variants", ()))
    rows: dict[str, Row] = {}
    for entry in map(dict, tables["kernels"]):
        name = entry["name"]
        try:
            base = dict(rows[entry.pop("like")]) if "like" in entry else {}
            merged = {key: _over(base[key], entry[key]) for key in _MERGED & base.keys() & entry.keys()}
            row = rows[name] = {**base, **entry, **merged}
            yield _kernel(row, tables.get("metrics", {}), module)
        except (KeyError, TypeError, ValueError) as error:
            lacks = isinstance(error, KeyError)
            why = f"it says no {error}" if lacks else str(error)
            raise FactError(
                f"kernel {name!r} of {path.name} cannot be made: {why}",
                cause="a key is missing, misspelt, or of another type",
                try_="compare with the rows of a generation",
            ) from None


def _over(base: Row, own: Row) -> Row:
    """In the order of `base`, or of `own` where that says all of it anew."""
    return own if base.keys() <= own.keys() else {**base, **own}


def _kernel(row: Row, metrics: Mapping[str, Row], module: str) -> Kernel:
    formulas = Formulas(row.get("let", {}), module)
    plain = {key: row[key] for key in ("name", "family", "title", "about", "rank", "groups") if key in row}
    return Kernel(
        **plain,
        axes=tuple(_axis(name, axis) for name, axis in row["axes"].items() if axis),
        scopes=_scopes(row["scopes"]),
        default_scopes=_scopes(row.get("default_scopes", "")),
        spread=Spread(row.get("spread", "cores")),
        primary=_metric(metrics, row["primary"], formulas),
        primary_at={
            Scope(scope): _metric(metrics, name, formulas)
            for scope, name in row.get("primary_at", {}).items()
        },
        zipped=tuple(map(tuple, row.get("zipped", ()))),
        tags=tuple(row["tags"].split()),
        implementations=row["implementations"],
        work=formulas.work(row["work"]),
        footprint=formulas.mapping(row["footprint"]),
        requires=formulas.words(row.get("requires", "").split()),
        valid=formulas.reason(row.get("valid", ())),
        refuses=formulas.reason(row.get("refuses", ())),
        split=_split(row["split"]) if row.get("split") else None,
        published=_published(row["published"], formulas) if "published" in row else None,
        tests=tuple(Statement(**statement) for statement in row.get("tests", ())),
    )


def _split(reference: str) -> Callable[[Point, int], Split]:
    """What is named, imported when it is asked for; of its module, as its file is a source of the kernel."""

    def split(point: Point, cores: int) -> Split:
        share: Callable[[Point, int], Split] = resolve(reference)
        return share(point, cores)

    split.__module__ = reference.partition(":")[0]
    return split


def _axis(name: str, text: str) -> Axis:
    """Of "64 128; unit B; about …": the values, then what else there is to say, each behind its name, `about`
    last."""
    said, _, about = text.partition("; about ")
    values, *others = said.split("; ")
    words: dict[str, Any] = {"values": values, "about": about}
    for key, _, rest in (other.partition(" ") for other in others):
        words[key] = int(rest) if key == "least" else rest
    words |= {
        key: tuple(int(word) if word.isdigit() else word for word in words[key].split())
        for key in _LISTS & words.keys()
    }
    if any(isinstance(value, str) for value in words["values"]):
        words = {"kind": "str", "choices": words["values"]} | words
    return Axis(name=name, **words)


def _scopes(words: str) -> tuple[Scope, ...]:
    return tuple(map(Scope, words.split()))


def _metric(metrics: Mapping[str, Row], name: str, formulas: Formulas) -> PrimaryMetric:
    if name not in metrics:
        raise ValueError(f"primary {name!r} is no entry of [metrics]: {', '.join(metrics) or 'it has none'}")
    typed: dict[str, Any] = dict(metrics[name])
    for key, kind in (("direction", Direction), ("scope", Scope), ("peak_factor", formulas.factor)):
        if key in typed:
            typed[key] = kind(typed[key])
    return PrimaryMetric(**typed)


def _published(row: Row, formulas: Formulas) -> PublishedAs:
    """`sizes` are formulas by the word of published shapes, `point` has such a word for each axis.

    Such axes take whole numbers only, and `fixed` is added; a shape that has a number of `single` other
    than 1 is no point of the kernel.
    """
    back, fixed, single = row.get("point", {}), row.get("fixed", {}), row.get("single", ())

    def point(shape: Mapping[str, Any]) -> Point | None:
        sizes = {ours: shape.get(theirs) for ours, theirs in back.items()}
        fits = back and all(isinstance(size, int) for size in sizes.values())
        return {**fixed, **sizes} if fits and all(shape.get(name, 1) == 1 for name in single) else None  # type: ignore[dict-item]

    return PublishedAs(
        group=row.get("group", "core"),
        operation=formulas.text(row["operation"]),
        program=formulas.text(row.get("program", "")),
        sizes=formulas.mapping(row.get("sizes", {})),
        point=point,
    )


@lru_cache(maxsize=1024)
def _code(formula: str) -> CodeType:
    return compile(formula, "<formula of a kernel>", "eval")


class _Names(dict[str, Any]):
    """What a formula or a text can name; of `let` what is asked for, the point's own words first."""

    def __init__(self, let: Row, point: Point, extent: Extent) -> None:
        super().__init__(point)
        self._let = let
        self._extent = extent

    def __missing__(self, name: str) -> Any:
        if name in self._let:
            value = _value(self._let[name], self)
        elif name == "item":
            value = item_bytes(self["dtype"])
        elif name == "out":
            value = item_bytes(result_dtype(self["dtype"]))
        elif name == "times":
            value = per_core("", self._extent)
        else:
            value = getattr(self._extent, name) if name in _OF_AN_EXTENT else _CALLS[name]
        self[name] = value
        return value


class Formulas:
    """What a row works out for a point, as functions of a `Kernel`, of the module that the row belongs to."""

    def __init__(self, let: Row, module: str) -> None:
        self.let = let
        self.module = module

    def names(self, point: Point, extent: Extent = _LONE) -> _Names:
        return _Names(self.let, point, extent)

    def work(self, row: Row) -> Callable[[Point, Extent], Work]:
        texts = row["formula"]
        plain = [key for key, entry in row.items() if key != "formula" and not isinstance(entry, dict)]
        tables = [key for key, entry in row.items() if isinstance(entry, dict)]
        if strange := row.keys() - {*Work.__struct_fields__}:
            counts = ", ".join(Work.__struct_fields__)
            raise ValueError(f"work counts no {', '.join(sorted(strange))}, but {counts}")

        def work(point: Point, extent: Extent) -> Work:
            names = self.names(point, extent)
            counts: dict[str, Any] = {key: float(_value(row[key], names)) for key in plain}
            counts.update({key: _values(row[key], names) for key in tables})
            return Work(formula=texts.format_map(names), **counts)

        return self._ours(work)

    def mapping(self, formulas: Mapping[str, Any]) -> Callable[..., Mapping[str, float]]:
        return self._ours(lambda point, extent=_LONE: _values(formulas, self.names(point, extent)))

    def factor(self, formula: str) -> Callable[[Extent], Any]:
        return self._ours(lambda extent: _value(formula, self.names({}, extent)))

    def text(self, template: str) -> Callable[[Point], str]:
        return self._ours(lambda point: template.format_map(self.names(point)))

    def words(self, templates: list[str]) -> Callable[[Point], tuple[str, ...]]:
        def requires(point: Point) -> tuple[str, ...]:
            names = self.names(point)
            return tuple(filter(None, (template.format_map(names) for template in templates)))

        return self._ours(requires)

    def reason(self, rules: list[tuple[str, str]]) -> Callable[..., str]:
        """The text of the first rule that does not hold; "" where all do."""

        def reason(point: Point, extent: Extent = _LONE) -> str:
            names = self.names(point, extent)
            broken = (text for formula, text in rules if not _value(formula, names))
            return next(broken, "").format_map(names)

        return self._ours(reason)

    def _ours(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Changes of the module, and of the table beside it, then count as changes of the kernel."""
        function.__module__ = self.module
        return function


def _value(formula: Any, names: _Names) -> Any:
    return eval(_code(formula), {"__builtins__": {}}, names) if isinstance(formula, str) else formula


def _values(formulas: Row, names: _Names) -> dict[str, float]:
    """Without those that are zero: what a kernel does not ask for."""
    values = {key: float(_value(formula, names)) for key, formula in formulas.items()}
    return {key: value for key, value in values.items() if value}
