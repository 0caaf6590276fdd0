"""A run with hostile words wherever a plugin may put one."""

from __future__ import annotations

import msgspec

from trnbench import Measurement, Run, Status

HOSTILE = (
    "<script>document.title='owned'</script>",
    "</script><script>alert(1)</script>",
    "\u202egnp.exe\u202c \u200f\u200e",
    "\"onmouseover='alert(1)' x=\"",
    "{{ 7*7 }} ${7*7} {% raw %}",
    "name-" * 2000,
    "nul\x00\x1b[31mred\ud7ff",
)


def _linked(case: Measurement, bad: str) -> Measurement:
    """A collective whose ranks, algorithms and causes have a hostile name."""
    time = case.time_s or 1.0
    detail = {
        **case.detail,
        "rank": bad,
        "context": bad,
        "tried_s": {bad: time / 2},
        "waterfall_s": {"ideal": time / 2, bad: time / 2},
    }
    return msgspec.structs.replace(case, implementation=f"collective: {bad}", bound=bad, detail=detail)


def _timed(case: Measurement, bad: str) -> Measurement:
    """A kernel whose causes, engines and command have a hostile name."""
    time = case.time_s or 1.0
    return msgspec.structs.replace(
        case,
        detail={
            "waterfall": [[bad, time / 4], [bad, time / 4], ["limit of " + bad, time / 4], [bad, time / 4]],
            "busy": {bad: time / 2, "tensor": time / 4},
            "strip": {bad: "0099", "tensor": "9900"},
            "lines": [[bad, bad, 1e-6], [3, None, 2e-6]],
            "line_strip": {bad: "0-19", "tensor": bad},
            "command": f"{bad} --trace {bad}",
        },
    )


def make_hostile(run: Run) -> Run:
    """The run with hostile words in every place a name or a reason can stand."""
    replace = msgspec.structs.replace
    cases = list(run.measurements[:60])
    linked = [each for each in run.measurements if each.detail.get("rank") and each.time_s]
    cases += [_linked(each, bad) for each, bad in zip(linked[:28], HOSTILE * 4, strict=True)]
    timed = [each for each in run.measurements if each.judgement and each.case.family == "hbm"][:14]
    cases += [_timed(each, bad) for each, bad in zip(timed, HOSTILE * 2, strict=True)]
    for name in ("trn1.32xlarge", "trn2-16.48xlarge"):
        like = next(
            e for e in run.measurements if e.judgement and e.id.startswith(name) and e.case.scope == "device"
        )
        for bad in HOSTILE:
            key = replace(like.case, kernel=bad, family=bad, point={bad[:40]: bad, "dtype": bad})
            cases.append(replace(like, case=key, bound=bad))
    for index, bad in enumerate(HOSTILE):
        case = cases[index]
        cases[index] = replace(
            case,
            case=replace(case.case, kernel=bad, family=bad, point={bad[:40]: bad, "dtype": bad}),
            reason_text=bad,
            bound=bad,
            implementation=bad,
            notes=(bad,),
            detail={bad[:50]: bad},
        )
        cases[index + 10] = replace(cases[index + 10], case=replace(cases[index + 10].case, instance=bad))
        cases[index + 20] = replace(cases[index + 20], status=Status.FAILED, reason_text=bad)
    systems = dict(run.systems)
    first = systems["trn1.2xlarge"]
    for bad in HOSTILE:
        systems[bad] = replace(first, instance=bad, title=bad, generation="trn1")
    book = run.books["trn1"]
    facts = tuple(replace(f, locator=HOSTILE[0], note=HOSTILE[1]) for f in book.facts)
    sources = {
        k: replace(s, document=HOSTILE[1], path="javascript:alert(1)") for k, s in book.sources.items()
    }
    return replace(
        run,
        id=HOSTILE[0],
        argv=HOSTILE,
        environment={bad[:80]: bad for bad in HOSTILE},
        settings={bad[:80]: bad for bad in HOSTILE},
        notes=HOSTILE,
        systems=systems,
        books={**run.books, "trn1": replace(book, facts=facts, sources=sources)},
        measurements=tuple(cases),
    )
