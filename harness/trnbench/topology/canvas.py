"""SVG elements with rounded coordinates and every text escaped."""

from __future__ import annotations

from html import escape
from typing import NamedTuple


class Place(NamedTuple):
    x: float
    y: float

    def towards(self, other: Place, share: float = 0.5) -> Place:
        return Place(self.x + (other.x - self.x) * share, self.y + (other.y - self.y) * share)


class Curve(NamedTuple):
    """A quadratic Bézier curve; straight when `bend` lies on the line."""

    start: Place
    bend: Place
    end: Place

    @classmethod
    def straight(cls, start: Place, end: Place) -> Curve:
        return cls(start, start.towards(end), end)

    def trimmed(self, start: tuple[float, float], end: tuple[float, float]) -> Curve:
        """Without what lies inside a box of (width, height) around either end."""
        first, last = _edge(self.start, self.bend, start), _edge(self.end, self.bend, end)
        if self.bend == self.start.towards(self.end):
            return Curve.straight(first, last)
        return Curve(first, self.bend, last)

    def halves(self) -> tuple[Curve, Curve]:
        """Both halves, by de Casteljau's construction."""
        before, after = self.start.towards(self.bend), self.bend.towards(self.end)
        middle = before.towards(after)
        return Curve(self.start, before, middle), Curve(middle, after, self.end)


class Canvas:
    """Collects elements in drawing order; the last lies on top."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def curve(
        self, curve: Curve, title: str, *, width: float, opacity: float = 1.0, colour: str = "currentColor"
    ) -> None:
        (x0, y0), (x1, y1), (x2, y2) = curve
        straight = curve.bend == curve.start.towards(curve.end)
        path = f"M{_n(x0)} {_n(y0)}" + (
            f"L{_n(x2)} {_n(y2)}" if straight else f"Q{_n(x1)} {_n(y1)} {_n(x2)} {_n(y2)}"
        )
        pale = "" if opacity == 1 else f' stroke-opacity="{_n(opacity)}"'
        self.parts.append(
            f'<path d="{path}" fill="none" stroke="{escape(colour)}" stroke-width="{_n(width)}"{pale}>'
            f"<title>{escape(title)}</title></path>"
        )

    def box(self, centre: Place, width: float, height: float, title: str, *, strong: bool) -> None:
        """A rounded box. What lies under it shows through unless the page gives class `paper` a fill."""
        shape = (
            f'x="{_n(centre.x - width / 2)}" y="{_n(centre.y - height / 2)}" width="{_n(width)}"'
            f' height="{_n(height)}" rx="{_n(min(5, height / 3))}"'
        )
        fill = 0.22 if strong else 0.1
        self.parts.append(
            f'<rect class="paper" {shape} fill="none"/>'
            f'<rect {shape} fill="currentColor" fill-opacity="{fill}" stroke="currentColor"'
            f' stroke-width="1.2"><title>{escape(title)}</title></rect>'
        )

    def text(self, place: Place, text: str, *, size: float, anchor: str = "middle") -> None:
        self.parts.append(
            f'<text x="{_n(place.x)}" y="{_n(place.y + size * 0.35)}" font-size="{_n(size)}"'
            f' text-anchor="{anchor}">{escape(text)}</text>'
        )

    def finish(self, title: str, *, head: str = "") -> str:
        """The element. With a `head` it is a file of its own and gets its natural size."""
        width, height = _n(self.width), _n(self.height)
        size = f' width="{width}" height="{height}"' if head else ""
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"{size} role="img"'
            f' aria-label="{escape(title)}" font-family="system-ui, sans-serif" fill="currentColor">\n'
            f"<title>{escape(title)}</title>{head}\n{body}\n</svg>\n"
        )


def _edge(centre: Place, towards: Place, box: tuple[float, float]) -> Place:
    """Where the way from `centre` leaves the box around it; `centre` for a box without size."""
    dx, dy = towards.x - centre.x, towards.y - centre.y
    shares = [size / 2 / abs(d) for size, d in zip(box, (dx, dy), strict=True) if d]
    return centre.towards(towards, min([*shares, 1.0])) if shares else centre


def _n(value: float) -> str:
    """At most two decimals, no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
