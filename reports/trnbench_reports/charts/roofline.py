"""A roofline: what intensity allows, what the documents promise, where the cases stand."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from trnbench import BestPublished, Measurement, PeakChoice, Record, Status
from trnbench_reports import numbers, view
from trnbench_reports.charts.figure import LETTER, OWN, PUBLISHED, SYMBOLS, Figure, Plane, Series, logarithmic


class Spot(Record, kw_only=True):
    """A case on the chart: FLOP per byte of HBM, FLOP per second."""

    intensity: float
    rate: float
    case: Measurement
    anchor: str


def spots(index: int, cases: Sequence[Measurement]) -> list[Spot]:
    """Cases that did arithmetic on bytes of HBM in a known time."""
    marks = []
    for case in cases:
        work = case.work
        flops = sum(count for name, count in work.items() if name == "flops" or name.endswith("_flops"))
        moved = work.get("hbm_bytes", 0.0)
        if flops > 0 and moved > 0 and case.time_s and case.status is not Status.SKIPPED:
            marks.append(
                Spot(
                    intensity=flops / moved,
                    rate=flops / case.time_s,
                    case=case,
                    anchor=view.figure_of(index, case),
                )
            )
    return marks


def series_name(spot: Spot) -> str:
    return numbers.clean(" ".join(filter(None, (spot.case.case.kernel, spot.case.case.dtype))), 40)


OTHERS = "other kernels"
"""The series of all that have no shape of their own."""


def series_of(found: Sequence[Spot]) -> dict[str, int]:
    """Names of the series that come furthest → shape, each another; the table names the others."""
    furthest: dict[str, float] = {}
    for spot in found:
        furthest[series_name(spot)] = max(furthest.get(series_name(spot), 0.0), spot.rate)
    return dict(zip(sorted(furthest, key=lambda name: -furthest[name]), OWN, strict=False))


def sweeps_of(found: Sequence[Spot]) -> list[list[Spot]]:
    """The lines: cases of one series that differ only in the axis swept most."""
    values: dict[str, dict[str, set[object]]] = defaultdict(lambda: defaultdict(set))
    for spot in found:
        for axis, value in spot.case.case.point.items():
            values[series_name(spot)][axis].add(value)
    lines: dict[tuple[str, str], list[Spot]] = defaultdict(list)
    for spot in found:
        name = series_name(spot)
        # Axes that move together (m = n = k) are one sweep.
        widest = max(map(len, values[name].values()), default=0)
        swept = {axis for axis, points in values[name].items() if len(points) == widest}
        lines[name, view.point_text(spot.case, without=swept)].append(spot)
    return list(lines.values())


class Roof(Record, kw_only=True):
    """One flat roof: the types that share it, the documented figure and what the clocks allow each."""

    names: tuple[str, ...]
    documented: float
    engines: tuple[float, ...]
    shared: bool  # a smaller scope's share of a documented figure, not a printed one
    main: bool  # of the 16-bit type: its ridge is labelled


def choices(cases: Sequence[Measurement], metric: str) -> list[PeakChoice]:
    """Every peak of `metric` these cases were, or would have been, judged by; skipped ones included."""
    by_key: dict[tuple[object, ...], PeakChoice] = {}
    for case in cases:
        for choice in view.offered(case):
            peak = choice.chosen
            if peak.metric == metric and peak.value > 0:
                by_key.setdefault((peak.dtype, peak.sparse, peak.qualifier, peak.value), choice)
    return list(by_key.values())


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


class Frame(Record):
    """What is drawn on one plane in one colour."""

    plane: Plane
    colour: str

    def slope(self, bandwidth: float, top: float, label: str) -> None:
        plane = self.plane
        start = max(self.plane.x.low, self.plane.y.low / bandwidth)
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
            plane.line([(ridge, self.plane.y.low), (ridge, roof.documented)], width=0.6, opacity=0.6)
            plane.words(ridge, self.plane.y.low, f"ridge {numbers.significant(ridge)} FLOP/B", dx=4, dy=-5)

    def labels(self, flat: Sequence[Roof], bandwidth: float) -> None:
        """At the right end above the line; below it, or further left, where two would touch."""
        plane = self.plane
        occupied: list[tuple[float, float, float]] = []  # right edge, width, y
        for roof in sorted(flat, key=lambda each: not each.main):
            text = numbers.clean(f"{'/'.join(roof.names)} {rate_text(roof.documented, 'FLOP/s')}", 60)
            width = 0.92 * LETTER * len(text)
            # An engine's line far off leaves the label with the documented one.
            near = [roof.documented, *(e for e in roof.engines if 0.8 < e / roof.documented < 1.25)]
            above, below = plane.py(max(near)) - 4, plane.py(min(near)) + 12
            start = plane.px(roof.documented / bandwidth)
            places = [(WIDTH * part, y) for part in (1.0, 0.8, 0.6) for y in (above, below)]
            fitting = (p for p in places if p[0] - width > start or p[0] == WIDTH)
            spot = next((label for label in fitting if _free(label, width, occupied)), None)
            if spot is None:
                continue  # the table of peaks has it; a label on a label helps nobody
            occupied.append((spot[0], width, spot[1]))
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
        start = max(self.plane.x.low, self.plane.y.low / bandwidth)
        ends = [(start, start * bandwidth), (rate / bandwidth, rate), (self.plane.x.high, rate)]
        self.plane.line(ends, dash="1 3", width=1.6, colour=self.colour, round_ends=True)

    def points(self, found: Sequence[Spot]) -> None:
        """Joined along a sweep; series that come furthest by shape and colour, the others grey."""
        shapes = series_of(found)
        order = [*shapes, OTHERS]
        ordered = sorted(found, key=lambda s: (s.intensity, s.rate))
        for line in sweeps_of(ordered):
            name = series_name(line[0])
            if len(line) > 1 and name in shapes:
                places = [(spot.intensity, spot.rate) for spot in line]
                series = order.index(name)
                self.plane.line(places, colour=self.colour, width=1, opacity=0.55, series=series)
        for spot in sorted(ordered, key=lambda spot: series_name(spot) in shapes):
            name = series_name(spot) if series_name(spot) in shapes else OTHERS
            self.plane.mark(
                spot.intensity,
                spot.rate,
                colour=self.colour if name in shapes else "var(--soft)",
                says=view.tooltip(spot.case),
                anchor=spot.anchor,
                series=order.index(name),
                shape=shapes.get(name, OWN[0]),
            )

    def published(self, index: int, found: Sequence[Spot]) -> None:
        """The best that others measured, each at the fastest case that it stands beside."""
        fastest: dict[str, tuple[Spot, BestPublished]] = {}
        for spot in sorted(found, key=lambda spot: spot.rate):
            best = view.published(spot.case)
            if best is not None and best.unit == "FLOP/s":
                fastest[best.id] = spot, best
        for spot, best in fastest.values():
            at = f" at {best.at}" if best.at else ""
            self.plane.mark(
                spot.intensity,
                best.value,
                colour="var(--fg)",
                says=numbers.clean(f"published: {numbers.show(best.value, best.unit)}{at}, {best.id}", 200),
                anchor=view.figure_of(index, spot.case, view.PUBLISHED),
                series=len(OWN) + 1,
                shape=PUBLISHED,
            )


DRAWN = 150
"""Cases of one chart; more are a cloud, and stand in the table of all cases."""


def figure(
    id: str, title: str, index: int, cases: Sequence[Measurement], colour: int, where: str
) -> Figure | None:
    """None when a bandwidth, a roof or every point is missing: then there is no roofline to draw."""
    present, flat = spots(index, cases), roofs(cases)
    point = _furthest(present)
    slopes = choices(cases, "hbm_bandwidth")
    if not point or not flat or not slopes:
        return None
    bandwidth = max(choice.chosen.value for choice in slopes)
    achieved = _achieved(cases)
    best = max(point, key=lambda spot: spot.rate)
    low_x = min(min(s.intensity for s in point), flat[-1].documented / bandwidth) / 4
    high_x = max(max(s.intensity for s in point), flat[0].documented / bandwidth) * 4
    # A handful of tiny cases must not squash the rest: four decades below the highest roof will do.
    high_y = max(flat[0].documented, *flat[0].engines, best.rate) * 2.2
    low_y = max(min(s.rate for s in point) / 2, high_y / 1e5)
    plane = Plane(
        logarithmic("arithmetic intensity (FLOP per byte of HBM)", low_x, high_x),
        logarithmic("achieved FLOP per second", low_y, high_y, "FLOP/s"),
        width=WIDTH,
        height=HEIGHT,
    )
    inside = [spot for spot in point if spot.rate >= low_y]
    frame = Frame(plane, f"var(--g{colour})")
    frame.slope(bandwidth, max(r.documented for r in flat), f"HBM {rate_text(bandwidth, 'B/s')}")
    for roof in flat:
        frame.roof(roof, bandwidth)
    frame.labels(flat, bandwidth)
    frame.best(achieved, best.rate)
    frame.points(inside)
    frame.published(index, inside)
    series = series_of(inside)
    unnamed = len({series_name(spot) for spot in inside}) - len(series)
    main = next(roof for roof in flat if roof.main)
    return Figure(
        id=id,
        title=title,
        caption=_caption(where, main, len(point), len(present), len(point) - len(inside), unnamed),
        drawing=plane.svg(f"{title}. {len(point)} cases; the table below has the same numbers."),
        series=tuple(
            Series(index=i, name=name, symbol=SYMBOLS[shape], colour=colour)
            for i, (name, shape) in enumerate(series.items())
        )
        + ((Series(index=len(series), name=f"{unnamed} others"),) if unnamed > 0 else ()),
        columns=("case", "FLOP per byte", "rate", "% of peak", "limited by", "evidence"),
        rows=tuple(_row(spot) for spot in sorted(point, key=lambda s: -s.rate)),
    )


def _furthest(present: Sequence[Spot]) -> list[Spot]:
    """`DRAWN` at most: of each kernel and type those of the highest rate, in turns."""
    if len(present) <= DRAWN:
        return list(present)
    turn: Counter[str] = Counter()
    placed: list[tuple[int, float, int, Spot]] = []
    for spot in sorted(present, key=lambda each: -each.rate):
        name = series_name(spot)
        placed.append((turn[name], -spot.rate, len(placed), spot))
        turn[name] += 1
    return [spot for *_, spot in sorted(placed)[:DRAWN]]


def _caption(where: str, main: Roof, shown: int, cases: int, below: int, unnamed: int) -> str:
    """What the drawing cannot show: lines a few per cent apart, points under the frame, too many cases."""
    kind = "share of the documented figure" if main.shared else "documented"
    text = f"{where}; {'/'.join(main.names)}: {kind} {rate_text(main.documented, 'FLOP/s')}"
    if main.engines:
        text += f", clocks allow {rate_text(main.engines[-1], 'FLOP/s')}"
    if shown < cases:
        text += (
            f"; {shown} of {cases:,} cases, of each kernel the fastest; the table of all cases has the rest"
        )
    if unnamed > 0:
        text += f"; named below: the {len(OWN)} that come furthest; grey: {unnamed} more, in the table"
    text += "; ◆ published"
    if below:
        text += f"; {numbers.plural(below, 'case')} below the frame, in the table"
    return text


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


def _achieved(cases: Sequence[Measurement]) -> float:
    """The highest rate of device memory that any case reached, bytes/s; 0 where none tells."""
    metrics = (metric for case in cases if case.status in view.GOOD for metric in case.metrics.values())
    return max((metric.value for metric in metrics if metric.name == "hbm_bytes_per_s"), default=0.0)
