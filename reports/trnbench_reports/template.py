"""The Jinja environment, where all is escaped unless this package made it markup; the policy of a page."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from trnbench_reports import glossary, numbers, view

HERE = Path(__file__).parent


@lru_cache(maxsize=1)
def environment() -> Environment:
    """One environment for all sections; a name missing from a template is an error, not a gap."""
    jinja = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
        optimized=False,  # each process compiles a template to fill it once or twice
    )
    jinja.filters.update(
        clip=numbers.clean,
        percent=numbers.percent,
        show=numbers.show,
        significant=numbers.significant,
        times=numbers.times,
        exact=numbers.exact,
        moment=numbers.moment,
        plural=numbers.plural,
        capital=numbers.capital,
        terms=glossary.line,
    )
    jinja.globals.update(
        term=glossary.button,
        term_texts=glossary.texts,
        cause=glossary.cause,
        unit_of=numbers.unit_of,
        view=view,
    )
    return jinja


def _printable(value: Any) -> Any:
    # The last gate: whatever reaches the page as plain text is clean, filter or no filter.
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return numbers.clean(value, 2000)
    return value


def fill(name: str, **context: Any) -> Markup:
    """The template `name` (without suffix), as markup."""
    return Markup(environment().get_template(f"{name}.html.j2").render(**context))


def asset(name: str) -> str:
    """A style sheet or script of this package, with \\n line ends: its hash is in the policy."""
    return (HERE / "assets" / name).read_text(encoding="utf-8").replace("\r\n", "\n").strip("\n") + "\n"


def policy(style: str, script: str) -> str:
    """For the page's head."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}';"
        " base-uri 'none'; form-action 'none'"
    )


SITE_POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self';"
    " base-uri 'none'; form-action 'none'"
)
"""Of the pages of a site, which have files beside them."""


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
