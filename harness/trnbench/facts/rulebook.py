"""The names of the checker's rules and what each finds: what `[[disputes]]` may claim."""

from __future__ import annotations

RULES: dict[str, str] = {
    "value": "documents print different values for one thing",
    "count": "documents count one thing differently",
    "prose": "one document prints two values for one thing, in table and text",
    "unit-base": "the same digits with a decimal unit in one document and a binary one in another",
    "rounded": "values agree only because one document prints few digits: more than 1 % apart",
    "words": "documents call one thing by different names",
    "per-device": "an instance table's figure per device is not that of the device's own page",
    "devices-sum": "the figure of a system is not its devices times the device's figure",
    "cores-sum": "the figure of a device is not its cores times the core's figure",
    "hosts-sum": "the figure of an UltraServer is not its instances times the instance's figure",
    "link-sum": "the levels or neighbours of the links do not add up to the printed total",
    "product": "a total is not the number of units times the figure of one",
    "clock": "a printed peak is not rows × columns × 2 × clock × cores",
}
