"""Loops of a kernel whose rounds are alike: the first ones are executed, the others follow from them.

Timing mode only. `source` tells from the kernel's text which loops keep nothing from round to round,
`index` is the loop's number as the kernel sees it, which notices what it is used for, and `rounds` takes
both together.
"""
