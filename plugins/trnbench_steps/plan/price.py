"""What an hour of an instance costs, as a file of the user says: CSV with a date in each row."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trnbench.bounded.file import TABLE, read_file
from trnbench.errors import BadInput
from trnbench.facts.table import near

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry

COLUMNS = ("instance", "region", "kind", "dollars per hour", "date")
OLD_DAYS = 90
"""Beyond which a price is said to be old."""

HIGHEST = 1e6


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """Of one instance, as its row says; `line` of the file."""

    instance: str
    region: str
    kind: str  # on demand, reserved, spot, capacity block
    dollars_per_hour: float
    date: datetime.date
    line: int

    def age(self, today: datetime.date) -> int:
        """In days."""
        return (today - self.date).days


def read_prices(path: Path) -> tuple[Price, ...]:
    """The rows of a CSV file, in their order.

    Raises `MissingFile`, and `BadInput` with the line for a column that is missing, a price that is none, or
    a date that is none or lies in the future.
    """
    try:
        text = read_file(path, most=TABLE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not UTF-8 text",
            cause=f"byte {error.start} cannot be decoded",
            try_="save it as UTF-8",
        ) from None
    reader = csv.reader(io.StringIO(text, newline=""))
    heads = [each.strip().lower() for each in next(reader, [])]
    for column in COLUMNS:
        if column not in heads:
            raise BadInput(
                f"{path}: no column {column!r}",
                cause=near(column, heads) if any(heads) else "the file is empty",
                try_=f"a first line of: {','.join(COLUMNS)}",
            )
    prices = []
    for row in reader:
        if any(each.strip() for each in row):
            cells = {name: cell.strip() for name, cell in zip(heads, row, strict=False)}
            prices.append(_price(path, reader.line_num, cells))
    if not prices:
        raise BadInput(f"{path} has no price", cause="there is no row below the first", try_=_EXAMPLE)
    return tuple(prices)


_EXAMPLE = "a row: trn2.48xlarge,us-east-2,on demand,46.99,2026-11-01"


def _price(path: Path, line: int, cells: dict[str, str]) -> Price:
    where = f"{path}, line {line}"
    for column in COLUMNS:
        if not cells.get(column):
            raise BadInput(f"{where}: no {column}", cause="a price without it says too little", try_=_EXAMPLE)
    said = cells["dollars per hour"].removeprefix("$")
    try:
        dollars = float(said)
    except ValueError:
        dollars = 0.0
    if not 0 < dollars <= HIGHEST:
        raise BadInput(
            f"{where}: {said!r} is no price",
            cause=f"it is dollars an hour, above 0 and up to {HIGHEST:,.0f}",
            try_=_EXAMPLE,
        )
    try:
        day = datetime.date.fromisoformat(cells["date"])
    except ValueError:
        raise BadInput(
            f"{where}: {cells['date']!r} is no date", cause="it is the day the price was seen", try_=_EXAMPLE
        ) from None
    return Price(
        instance=cells["instance"],
        region=cells["region"],
        kind=cells["kind"],
        dollars_per_hour=dollars,
        date=day,
        line=line,
    )


def of_instance(prices: Iterable[Price], names: Iterable[str]) -> list[Price]:
    """Those of an instance by any of its names, the cheapest first."""
    known = set(names)
    matching = [price for price in prices if price.instance in known]
    return sorted(matching, key=lambda each: (each.dollars_per_hour, each.line))


def price_of(registry: Registry, prices: Iterable[Price], system: System) -> Price | None:
    """The cheapest row of the system itself, else of the instance that it is made of."""
    instance, prices = system.instance, tuple(prices)
    own = of_instance(prices, (system.name, instance.name, *instance.aliases))
    if not own and instance.parent:
        _, parent = registry.instance(instance.parent)
        own = of_instance(prices, (parent.name, *parent.aliases))
    return own[0] if own else None


def hourly(system: System, price: Price) -> float:
    """Dollars of an hour of the system, which is made of one or more of what the price is about."""
    own = (system.name, system.instance.name, *system.instance.aliases)
    alone = price.instance in own and not system.instance.sizable
    return price.dollars_per_hour * (1 if alone else system.hosts)
