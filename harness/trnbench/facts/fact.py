"""One documented number, as printed and as normalised, with everything needed to trust it."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench.facts.scope import Direction, Scope


class Provenance(str, Enum):
    """How the number came to be in the source."""

    DOCUMENTED = "documented"  # printed in the source
    FIGURE = "figure"  # read from a diagram
    DRIVER = "driver"  # a constant in the public kernel driver
    VENDOR_MEASURED = "vendor-measured"  # a profile number the vendor printed
    DERIVED = "derived"  # exact arithmetic on documented numbers; `formula` says which
    MEASURED = "measured"  # on the machine of the run, by the kernel that `locator` names: reached, no bound
    INFERRED = "inferred"  # a reading that may be wrong

    def __str__(self) -> str:
        return self.value


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document a number can be looked up in: name and version, never its sentences."""

    id: str
    document: str
    version: str = ""  # release tag, commit or "undated"
    date: str = ""  # ISO date of that version where known
    path: str = ""  # path inside the repository, or web address
    seed: bool = False  # one of the five documents the project starts from
    note: str = ""


class Fact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number (or word) that one document prints about one subject.

    `value` is in the SI base unit of the metric's dimension (`facts.metric`), `printed` and
    `printed_unit` are what the document shows. A textual fact has `value=None` and its words in
    `printed`. `qualifier` separates facts of one metric that are not alternatives of each other:
    "intra-instance" against "inter-instance", "tensor" against "vector".
    """

    subject: str  # "trn1.32xlarge", "trainium2", "neuroncore-v3", …
    metric: str  # a name of `facts.metric.METRICS`
    printed: str
    printed_unit: str
    value: float | None
    scope: Scope
    source: str  # Source.id
    locator: str  # table, row, column, section
    dtypes: tuple[str, ...] = ()  # empty: the metric does not depend on the data type
    sparse: bool = False
    direction: Direction = Direction.NONE
    qualifier: str = ""
    limit: str = ""  # "", "up-to" or "over": the printed number is a bound, not a value
    provenance: Provenance = Provenance.DOCUMENTED
    formula: str = ""  # for derived facts
    superseded_by: str = ""  # id of the source whose figure replaced this one
    part: str = ""  # "prose", "caption", …: where one document prints a figure besides its table
    note: str = ""

    @property
    def id(self) -> str:
        """Stable name: subject/metric[dtypes,qualifier]@source, and #part where a source has several."""
        marks = [*self.dtypes, *(["sparse"] if self.sparse else []), self.qualifier]
        inner = ",".join(mark for mark in marks if mark)
        part = f"#{self.part}" if self.part else ""
        return f"{self.subject}/{self.metric}{f'[{inner}]' if inner else ''}@{self.source}{part}"


class Assumption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number no document gives, named and bounded so that its weight can be shown.

    `value` in the base unit of `metric`; `low` and `high` bound what is plausible.
    """

    id: str
    metric: str
    printed: str
    printed_unit: str
    value: float
    low: float
    high: float
    reason: str
    subject: str = ""


class Dispute(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A disagreement between documents.

    `rule` names the checker's rule that finds it ("" where no rule can: words, layouts, headers);
    several are separated by commas, and each of them has to find it.
    """

    id: str  # "C01" …
    topic: str
    values: tuple[str, ...]
    sources: tuple[str, ...]
    subjects: tuple[str, ...] = ()
    rule: str = ""
    metric: str = ""  # narrows what the rule's findings have to speak of
    note: str = ""
