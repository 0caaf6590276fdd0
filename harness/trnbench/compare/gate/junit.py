"""A gate as JUnit XML."""

from __future__ import annotations

from trnbench.compare.gate.finding import Finding, Gated, Outcome
from trnbench.results.junit import Suite, Tested, document


def junit(gated: Gated) -> bytes:
    """One test suite; a test case for each finding, named by its case, its class the system and the kernel.

    What is broken is a failure with the rule as its type; what is inconclusive is skipped, or with `strict` a
    failure.
    """
    comparison = gated.comparison
    told = (
        ("against", comparison.before.id),
        ("evidence", str(comparison.after.grade)),
        ("trnbench", comparison.after.tool_version),
        *((f"differs.{number}", each) for number, each in enumerate(comparison.differs, start=1)),
    )
    name = f"trnbench gate {comparison.after.id} against {comparison.before.id}"
    cases = [_case(each, strict=gated.strict) for each in gated.findings]
    return document([Suite(name, comparison.after.created, told, cases)])


def _case(each: Finding, *, strict: bool) -> Tested:
    change, name = each.change, each.id.partition("::")[2] or each.id or f"rule {each.rule}"
    time_s = change.after.value or 0.0 if change is not None and change.unit == "s" else 0.0
    passed = Tested(each.system, each.kernel, name, time_s)
    if each.outcome is Outcome.BROKEN or (strict and each.outcome is Outcome.INCONCLUSIVE):
        kind = each.kind if each.outcome is Outcome.BROKEN else "inconclusive"
        text = "\n".join((f"rule {each.rule}: {each.what}", *(f"cause: {one}" for one in each.causes)))
        return passed._replace(outcome="failure", kind=kind, message=each.what, text=text)
    if each.outcome is Outcome.INCONCLUSIVE:
        return passed._replace(outcome="skipped", message=f"inconclusive: {each.what}")
    return passed
