"""What is drawn of a roofline: its slope, its roofs and their labels, its points."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from trnbench_reports import numbers, view, words
from trnbench_reports.charts.figure import SHAPES
from trnbench_reports.charts.plane import LETTER, Plane
from trnbench_reports.charts.roofs import Roof
from trnbench_reports.charts.spots import Spot, series_name, series_of, sweeps_of

WIDTH, HEIGHT = 400, 280
_GAP = 13.0  # pixels between two labels that must not touch


def rate_text(value: float, unit: str) -> str:
    """With common blanks: an SVG text breaks nowhere."""
    return numbers.show(value, unit).replace(numbers.NBSP, " ")


def _free(place: tuple[float, float], width: float, taken: Sequence[tuple[float, float, float]]) -> bool:
    """Whether a label that ends at `place` touches none of those that stand already."""
    x, y = place
    return not any(
        abs(y - other) < _GAP and x > right - wide and x - width < right for right, wide, other in taken
    )


@dataclass(frozen=True)
class Frame:
    """What is drawn on one plane in one colour."""

    plane: Plane
    colour: str

    @property
    def low_x(self) -> float:
        return self.plane.x.low

    @property
    def low_y(self) -> float:
        return self.plane.y.low

    def slope(self, bandwidth: float, top: float, label: str) -> None:
        plane = self.plane
        start = max(self.low_x, self.low_y / bandwidth)
        plane.line([(start, start * bandwidth), (top / bandwidth, top)])
        rise = math.log(10) / math.log(plane.y.high / plane.y.low) * plane.height
        run = math.log(10) / math.log(plane.x.high / plane.x.low) * plane.width
        # On the line near its foot, parallel to it.
        at = start * 1.25
        plane.words(at, at * bandwidth, label, dy=-5, turn=-math.degrees(math.atan2(rise, run)))

    def roof(self, roof: Roof, bandwidth: float) -> None:
        plane = self.plane
        ridge = roof.documented / bandwidth
        plane.line([(ridge, roof.documented), (plane.x.high, roof.documented)])
        for engine in roof.engines:
            if abs(engine / roof.documented - 1) > 0.002:
                plane.line([(engine / bandwidth, engine), (plane.x.high, engine)], dash="5 3", width=1)
        if roof.main:
            # Down to the axis, where no roof and hardly a point is in the way.
            plane.line([(ridge, self.low_y), (ridge, roof.documented)], width=0.6, opacity=0.6)
            plane.words(ridge, self.low_y, f"ridge {numbers.significant(ridge)} FLOP/B", dx=4, dy=-5)

    def labels(self, flat: Sequence[Roof], bandwidth: float) -> None:
        """At the right end above the line; below it, or further left, where two would touch."""
        plane = self.plane
        taken: list[tuple[float, float, float]] = []  # right edge, width, y
        for roof in sorted(flat, key=lambda each: not each.main):
            text = words.clean(f"{'/'.join(roof.names)} {rate_text(roof.documented, 'FLOP/s')}", 60)
            width = 0.92 * LETTER * len(text)
            # An engine's line far off leaves the label with the documented one.
            near = [roof.documented, *(e for e in roof.engines if 0.8 < e / roof.documented < 1.25)]
            above, below = plane.py(max(near)) - 4, plane.py(min(near)) + 12
            start = plane.px(roof.documented / bandwidth)
            places = [(WIDTH * part, y) for part in (1.0, 0.8, 0.6) for y in (above, below)]
            fitting = (p for p in places if p[0] - width > start or p[0] == WIDTH)
            spot = next((place for place in fitting if _free(place, width, taken)), None)
            if spot is None:
                continue  # the table of peaks has it; a label on a label helps nobody
            taken.append((spot[0], width, spot[1]))
            plane.words(
                plane.x.high,
                roof.documented,
                text,
                dx=spot[0] - WIDTH,
                dy=spot[1] - plane.py(roof.documented),
                anchor="end",
                bold=roof.main,
            )

    def best(self, bandwidth: float, rate: float) -> None:
        """Dotted: what was reached, as a roofline of its own."""
        if bandwidth <= 0:
            return
        start = max(self.low_x, self.low_y / bandwidth)
        ends = [(start, start * bandwidth), (rate / bandwidth, rate), (self.plane.x.high, rate)]
        self.plane.line(ends, dash="1 3", width=1.6, colour=self.colour, round_ends=True)

    def points(self, found: Sequence[Spot]) -> None:
        """Joined along a sweep, one shape for each data type."""
        shapes = series_of(found)
        order = list(shapes)
        sweeps = sweeps_of(found)
        ordered = sorted(found, key=lambda s: (s.intensity, s.rate))
        lines: dict[int, list[Spot]] = defaultdict(list)
        for spot in ordered:
            lines[sweeps[spot.anchor]].append(spot)
        for line in lines.values():
            if len(line) > 1:
                places = [(spot.intensity, spot.rate) for spot in line]
                series = order.index(series_name(line[0]))
                self.plane.line(places, colour=self.colour, width=1, opacity=0.55, series=series)
        for spot in ordered:
            self.plane.mark(
                spot.intensity,
                spot.rate,
                colour=self.colour,
                says=view.tooltip(spot.case),
                anchor=spot.anchor,
                series=order.index(series_name(spot)),
                shape=SHAPES.index(shapes[series_name(spot)]),
            )
