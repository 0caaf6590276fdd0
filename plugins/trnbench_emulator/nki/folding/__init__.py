"""Loops of a kernel whose rounds are alike: the first ones are executed, the others follow from them.

Timing mode only. `plan` tells from the kernel's text what a loop keeps from round to round, `state` whether
that is the same again, `index` is the loop's number as the kernel sees it, which notices what it is used for,
and `rounds` takes all together.
"""
