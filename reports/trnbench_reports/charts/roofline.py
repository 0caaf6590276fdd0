"""A roofline: what intensity allows, what the documents promise, where the cases stand."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trnbench import Measurement, PeakChoice, Status
from trnbench_reports import numbers, view, words
from trnbench_reports.charts.figure import SHAPES, SYMBOLS, Figure, Series
from trnbench_reports.charts.scales import log_axis

WIDTH, HEIGHT = 440, 300
_GAP = 13.0  # pixels between two labels that must not touch


@dataclass(frozen=True, kw_only=True)
class Roof:
    """One flat roof: the types that share it, the documented figure and what the clocks allow each."""

    names: tuple[str, ...]
    documented: float
    engines: tuple[float, ...]
    shared: bool  # a smaller scope's share of a documented figure, not a printed one
    main: bool  # of the 16-bit type: its ridge is labelled


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A case on the chart: FLOP per byte of HBM, FLOP per second."""

    intensity: float
    rate: float
    case: Measurement
    anchor: str


def spots(index: int, cases: Sequence[Measurement]) -> list[Spot]:
    """Cases that did arithmetic on bytes of HBM in a known time."""
    found = []
    for each in cases:
        work = each.work
        flops = sum(count for name, count in work.items() if name == "flops" or name.endswith("_flops"))
        moved = work.get("hbm_bytes", 0.0)
        if flops > 0 and moved > 0 and each.time_s and each.status is not Status.SKIPPED:
            found.append(
                Spot(
                    intensity=flops / moved,
                    rate=flops / each.time_s,
                    case=each,
                    anchor=view.anchor(index, each),
                )
            )
    return found


def choices(cases: Sequence[Measurement], metric: str) -> list[PeakChoice]:
    """Every peak of `metric` these cases were, or would have been, judged by; skipped ones included."""
    found: dict[tuple[object, ...], PeakChoice] = {}
    for each in cases:
        offered = (each.judgement.peaks, *each.reference_peaks) if each.judgement else each.reference_peaks
        for choice in offered:
            peak = choice.chosen
            if peak.metric == metric and peak.value > 0:
                found.setdefault((peak.dtype, peak.sparse, peak.qualifier, peak.value), choice)
    return list(found.values())


def roofs(cases: Sequence[Measurement]) -> list[Roof]:
    """Flat roofs from high to low; types with one figure share one line.

    Of an engine that is not the tensor engine only the highest roof is drawn: one line, its name.
    """
    flat: dict[str, list[tuple[str, PeakChoice]]] = defaultdict(list)
    engines: dict[str, PeakChoice] = {}
    for choice in choices(cases, "peak_flops"):
        peak = choice.chosen
        if peak.qualifier:
            held = engines.get(peak.qualifier)
            if held is None or peak.value > held.chosen.value:
                engines[peak.qualifier] = choice
            continue
        name = " ".join(filter(None, (peak.dtype, "sparse" if peak.sparse else ""))) or "peak"
        flat[numbers.significant(peak.value)].append((name, choice))
    for qualifier, choice in engines.items():
        flat[numbers.significant(choice.chosen.value)].append((f"{qualifier} engine", choice))
    ordered = sorted(flat.values(), key=lambda group: -group[0][1].chosen.value)
    main = next((i for i, group in enumerate(ordered) if {"bf16", "fp16"} & {n for n, _ in group}), 0)
    return [
        Roof(
            names=tuple(dict.fromkeys(name for name, _ in group)),
            documented=group[0][1].chosen.value,
            engines=tuple(sorted({c.engine_bound.value for _, c in group if c.engine_bound})),
            shared=group[0][1].chosen.evidence != "documented",
            main=i == main,
        )
        for i, group in enumerate(ordered)
    ]


def figure(
    id: str, title: str, index: int, cases: Sequence[Measurement], colour: int, where: str
) -> Figure | None:
    """None when a bandwidth, a roof or every point is missing: then there is no roofline to draw."""
    found, flat = spots(index, cases), roofs(cases)
    slopes = choices(cases, "hbm_bandwidth")
    if not found or not flat or not slopes:
        return None
    bandwidth = max(choice.chosen.value for choice in slopes)
    achieved = max(
        (
            m.value
            for c in cases
            if c.status in view.GOOD
            for m in c.metrics.values()
            if m.name == "hbm_bytes_per_s"
        ),
        default=0.0,
    )
    best = max(found, key=lambda spot: spot.rate)
    low_x = min(min(s.intensity for s in found), flat[-1].documented / bandwidth) / 4
    high_x = max(max(s.intensity for s in found), flat[0].documented / bandwidth) * 4
    # A handful of tiny cases must not squash the rest: four decades below the highest roof will do.
    high_y = max(flat[0].documented, *flat[0].engines, best.rate) * 2.2
    low_y = max(min(s.rate for s in found) / 2, high_y / 1e5)
    x = {"field": "x", **log_axis("arithmetic intensity (FLOP per byte of HBM)", low_x, high_x)}
    y = {"field": "y", **log_axis("achieved FLOP per second", low_y, high_y, "FLOP/s")}
    inside = [spot for spot in found if spot.rate >= low_y]
    frame = _Frame(low_x, high_x, low_y, high_y, x, y, f"var(--g{colour})")
    layers = [
        *frame.slope(bandwidth, max(r.documented for r in flat), None, f"HBM {_rate(bandwidth, 'B/s')}"),
        *(layer for roof in flat for layer in frame.roof(roof, bandwidth)),
        *frame.labels(flat, bandwidth),
        *frame.best(achieved, best.rate),
        *frame.points(inside),
    ]
    series = _series(inside)
    main = next(roof for roof in flat if roof.main)
    return Figure(
        id=id,
        title=title,
        label=f"{title}. {len(found)} cases; the table below has the same numbers.",
        caption=_caption(where, main, len(found) - len(inside)),
        spec={
            "width": WIDTH,
            "height": HEIGHT,
            "layer": layers,
            "resolve": {"scale": {"shape": "independent"}},
        },
        series=tuple(
            Series(index=i, name=name, symbol=SYMBOLS[shape], colour=colour)
            for i, (name, shape) in enumerate(series.items())
        ),
        columns=("case", "FLOP per byte", "rate", "% of peak", "limited by", "evidence"),
        rows=tuple(_row(spot) for spot in sorted(found, key=lambda s: -s.rate)),
    )


def _caption(where: str, main: Roof, below: int) -> str:
    """What the drawing cannot show: two lines a few per cent apart, points under the frame."""
    kind = "share of the documented figure" if main.shared else "documented"
    text = f"{where}; {'/'.join(main.names)}: {kind} {_rate(main.documented, 'FLOP/s')}"
    if main.engines:
        text += f", clocks allow {_rate(main.engines[-1], 'FLOP/s')}"
    if below:
        text += f"; {words.plural(below, 'case')} below the frame, in the table"
    return text


def _rate(value: float, unit: str) -> str:
    return numbers.show(value, unit).replace(numbers.NBSP, " ")


def _row(spot: Spot) -> tuple[str, tuple[str, ...]]:
    case = spot.case
    judged = case.judgement
    return spot.anchor, (
        case.case.fullname,
        numbers.significant(spot.intensity),
        numbers.show(spot.rate, "FLOP/s"),
        numbers.percent(judged.fraction) if judged else "no peak",
        case.bound,
        str(case.evidence.grade),
    )


def _name(spot: Spot) -> str:
    return words.clean(" ".join(filter(None, (spot.case.case.kernel, spot.case.case.dtype))), 40)


def _series(found: Sequence[Spot]) -> dict[str, str]:
    """Series names → shape, one shape per data type, in order of appearance."""
    types = list(dict.fromkeys(spot.case.case.dtype for spot in found))
    return {_name(spot): SHAPES[types.index(spot.case.case.dtype) % len(SHAPES)] for spot in found}


def _sweeps(found: Sequence[Spot]) -> dict[str, int]:
    """Anchor → number of its line: cases of one series that differ only in the axis swept most."""
    groups: dict[str, list[Spot]] = defaultdict(list)
    for spot in found:
        groups[_name(spot)].append(spot)
    lines: dict[tuple[str, str], int] = {}
    made = {}
    for name, spots_of in groups.items():
        values: dict[str, set[object]] = defaultdict(set)
        for spot in spots_of:
            for axis, value in spot.case.case.point.items():
                values[axis].add(value)
        # Axes that move together (m = n = k) are one sweep.
        widest = max((len(each) for each in values.values()), default=0)
        swept = {axis for axis, each in values.items() if len(each) == widest}
        for spot in spots_of:
            rest = view.point_text(spot.case, without=swept)
            made[spot.anchor] = lines.setdefault((name, rest), len(lines))
    return made


def _free(place: tuple[float, float], width: float, taken: Sequence[tuple[float, float, float]]) -> bool:
    """Whether a label that ends at `place` touches none of those that stand already."""
    x, y = place
    return not any(
        abs(y - other) < _GAP and x > right - wide and x - width < right for right, wide, other in taken
    )


@dataclass(frozen=True)
class _Frame:
    """The axes all layers share."""

    low_x: float
    high_x: float
    low_y: float
    high_y: float
    x: dict[str, Any]
    y: dict[str, Any]
    colour: str

    def line(self, points: list[tuple[float, float]], **mark: Any) -> dict[str, Any]:
        values = [{"x": a, "y": b} for a, b in points]
        return {
            "data": {"values": values},
            "mark": {
                "type": "line",
                "clip": True,
                "stroke": "currentColor",
                "strokeWidth": 1.2,
                "aria": False,
                **mark,
            },
            "encoding": {"x": self.x, "y": self.y},
        }

    def text(self, x: float, y: float, text: str, **mark: Any) -> dict[str, Any]:
        return {
            "data": {"values": [{"x": x, "y": y}]},
            "mark": {"type": "text", "text": text, "aria": False, "fontSize": 11, **mark},
            "encoding": {"x": self.x, "y": self.y},
        }

    def px(self, x: float) -> float:
        return WIDTH * math.log(x / self.low_x) / math.log(self.high_x / self.low_x)

    def py(self, y: float) -> float:
        return HEIGHT * (1 - math.log(y / self.low_y) / math.log(self.high_y / self.low_y))

    def slope(self, bandwidth: float, top: float, dash: list[int] | None, label: str) -> list[dict[str, Any]]:
        start = max(self.low_x, self.low_y / bandwidth)
        more: dict[str, Any] = {"strokeDash": dash} if dash else {}
        drawn = [self.line([(start, start * bandwidth), (top / bandwidth, top)], **more)]
        rise = math.log(bandwidth * 10 / bandwidth) / math.log(self.high_y / self.low_y) * HEIGHT
        run = math.log(10) / math.log(self.high_x / self.low_x) * WIDTH
        # On the line near its foot, parallel to it.
        at = start * 1.25
        angle = -math.degrees(math.atan2(rise, run))
        drawn.append(
            self.text(at, at * bandwidth, label, angle=angle, align="left", baseline="bottom", dy=-4)
        )
        return drawn

    def roof(self, roof: Roof, bandwidth: float) -> list[dict[str, Any]]:
        ridge = roof.documented / bandwidth
        drawn = [self.line([(ridge, roof.documented), (self.high_x, roof.documented)])]
        for engine in roof.engines:
            if abs(engine / roof.documented - 1) > 0.002:
                ends = [(engine / bandwidth, engine), (self.high_x, engine)]
                drawn.append(self.line(ends, strokeDash=[5, 3], strokeWidth=1))
        drawn.append(
            {
                "data": {"values": [{"x": ridge, "y": roof.documented}]},
                "mark": {
                    "type": "point",
                    "filled": True,
                    "size": 18,
                    "fill": "currentColor",
                    "aria": False,
                    "opacity": 1,
                },
                "encoding": {"x": self.x, "y": self.y},
            }
        )
        if roof.main:
            text = f"ridge {numbers.significant(ridge)} FLOP/B"
            # Down to the axis, where no roof and hardly a point is in the way.
            drawn.append(
                self.line([(ridge, self.low_y), (ridge, roof.documented)], strokeWidth=0.6, opacity=0.6)
            )
            drawn.append(self.text(ridge, self.low_y, text, align="left", baseline="bottom", dx=4, dy=-4))
        return drawn

    def labels(self, flat: Sequence[Roof], bandwidth: float) -> list[dict[str, Any]]:
        """At the right end above the line; below it, or further left, where two would touch."""
        drawn: list[dict[str, Any]] = []
        taken: list[tuple[float, float, float]] = []  # right edge, width, y
        for roof in sorted(flat, key=lambda each: not each.main):
            text = words.clean(f"{'/'.join(roof.names)} {_rate(roof.documented, 'FLOP/s')}", 60)
            width = 6.8 * len(text)
            # An engine's line far off leaves the label with the documented one.
            near = [roof.documented, *(e for e in roof.engines if 0.8 < e / roof.documented < 1.25)]
            above, below = self.py(max(near)) - 4, self.py(min(near)) + 12
            start = self.px(roof.documented / bandwidth)
            places = [(WIDTH * part, y) for part in (1.0, 0.8, 0.6) for y in (above, below)]
            fitting = (p for p in places if p[0] - width > start or p[0] == WIDTH)
            spot = next((place for place in fitting if _free(place, width, taken)), None)
            if spot is None:
                continue  # the table of peaks has it; a label on a label helps nobody
            taken.append((spot[0], width, spot[1]))
            drawn.append(
                self.text(
                    self.high_x,
                    roof.documented,
                    text,
                    align="right",
                    baseline="alphabetic",
                    dx=spot[0] - WIDTH,
                    dy=spot[1] - self.py(roof.documented),
                    fontWeight=600 if roof.main else 400,
                )
            )
        return drawn

    def best(self, bandwidth: float, rate: float) -> list[dict[str, Any]]:
        """Dotted: what was reached, as a roofline of its own."""
        if bandwidth <= 0:
            return []
        start = max(self.low_x, self.low_y / bandwidth)
        corner = rate / bandwidth
        return [
            self.line(
                [(start, start * bandwidth), (corner, rate), (self.high_x, rate)],
                strokeDash=[1, 3],
                strokeWidth=1.6,
                stroke=self.colour,
                strokeCap="round",
            )
        ]

    def points(self, found: Sequence[Spot]) -> list[dict[str, Any]]:
        shapes = _series(found)
        order = list(shapes)
        sweeps = _sweeps(found)
        values = [
            {
                "x": s.intensity,
                "y": s.rate,
                "w": sweeps[s.anchor],
                "s": order.index(_name(s)),
                "h": shapes[_name(s)],
                "d": f"{s.anchor}|{order.index(_name(s))}|{view.tooltip(s.case)}",
                "l": f"-|{order.index(_name(s))}|",
                "o": s.intensity,
            }
            for s in sorted(found, key=lambda s: (s.intensity, s.rate))
        ]
        return [
            {
                "data": {"values": values},
                "mark": {
                    "type": "line",
                    "clip": True,
                    "stroke": self.colour,
                    "strokeWidth": 1,
                    "opacity": 0.55,
                },
                "encoding": {
                    "x": self.x,
                    "y": self.y,
                    "detail": {"field": "w", "type": "nominal"},
                    "order": {"field": "o"},
                    "description": {"field": "l"},
                },
            },
            {
                "data": {"values": values},
                "mark": {
                    "type": "point",
                    "clip": True,
                    "filled": True,
                    "fill": self.colour,
                    "size": 34,
                    "opacity": 0.9,
                },
                "encoding": {
                    "x": self.x,
                    "y": self.y,
                    "description": {"field": "d"},
                    "shape": {"field": "h", "type": "nominal", "scale": None, "legend": None},
                },
            },
        ]
