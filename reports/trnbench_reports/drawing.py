"""A drawing of the page as a file of its own: the same marks, with the rules and shapes that it uses."""

from __future__ import annotations

import re

from markupsafe import escape

from trnbench_reports import numbers
from trnbench_reports.template import asset, environment

SHEETS = ("page.css", "first.css", "views.css")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_CLASS = re.compile(r"\.([\w-]+)")
_USED = re.compile(r'class="([^"]*)"')
_ROOTS = re.compile(r":root\s*\{[^}]*\}")
_DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{\s*(:root\s*\{[^}]*\})\s*\}")


def document(title: str, body: str, width: int, height: int) -> bytes:
    """One SVG file, `width` by `height` pixels, that follows the reader's colour scheme.

    `body` is markup of this package: escaped words and drawings.
    """
    shapes = environment().get_template("shapes.html.j2").render()
    defs = shapes[shapes.index("<defs>") : shapes.index("</defs>") + len("</defs>")]
    label = escape(numbers.clean(title, 300))
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{label}"><title>{label}</title>'
        f"<style>{_style(defs + body)}</style>{defs}"
        f'<rect class="paper" width="{width}" height="{height}"/>{body}</svg>\n'
    )
    # Fragments lead nowhere in a file of its own.
    return numbers.valid(re.sub(r' data-id="[^"]*"', "", text)).encode()


def _style(body: str) -> str:
    """Colours in both schemes, and the rules all of whose classes occur in `body`."""
    used = {name for found in _USED.findall(body) for name in found.split()} | {"part"}
    sheets = [asset(name) for name in SHEETS]
    dark = [found for sheet in sheets for found in _DARK.findall(sheet)]
    plain = "".join(_DARK.sub("", sheet) for sheet in sheets)
    plain = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", plain)
    light = _ROOTS.findall(plain)
    rules = []
    for selectors, rule in _RULE.findall(_ROOTS.sub("", plain)):
        wanted = [
            selector.strip()
            for selector in selectors.split(",")
            if (names := set(_CLASS.findall(selector))) and names <= used and ":" not in selector
        ]
        if wanted:
            rules.append(f"{','.join(wanted)}{{{' '.join(rule.split())}}}")
    own = (
        "svg{font:13px system-ui,'Segoe UI',Roboto,'Liberation Sans',sans-serif}text{fill:var(--fg)}"
        ".soft{fill:var(--soft);font-size:11px}.strong{font-weight:600}.large{font-size:17px;font-weight:650}"
        ".paper{fill:var(--bg)}"
    )
    both = f"{''.join(light)}@media(prefers-color-scheme:dark){{{''.join(dark)}}}"
    return " ".join(both.split()) + own + "".join(rules)


def words_at(x: float, y: float, text: str, kind: str = "") -> str:
    """Escaped words; `kind` is a class."""
    more = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(numbers.clean(text, 160))}</text>'


def placed(drawing: str, x: float, y: float, width: float) -> str:
    """An `<svg …>` of the page at its place; one that fits any width gets this one."""
    sized = drawing.replace('width="100%"', f'width="{width:g}"', 1)
    return sized.replace("<svg ", f'<svg x="{x:g}" y="{y:g}" ', 1)
