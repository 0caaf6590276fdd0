"""What a system is made of, for rules that hold its figures against those of its parts."""

from __future__ import annotations

import msgspec

from trnbench.facts.scope import Scope


class Assembly(msgspec.Struct, frozen=True, kw_only=True):
    """Subjects of one system: its own, its device's, its core's, and the instance it is made of."""

    subject: str
    scope: Scope
    device: str
    core: str
    parent: str = ""
