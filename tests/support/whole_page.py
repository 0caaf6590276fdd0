"""A page as a reader has it: its words, and the whole of it with every section of the third depth opened."""

from __future__ import annotations

import base64
import gzip
import re

from trnbench import Section
from trnbench_reports import numbers, trnbench_reports

BUILT_IN = tuple(each for each in trnbench_reports() if isinstance(each, Section))

_DEEP = re.compile(
    r'(?P<head><section class="depth3" id="[\w-]+") data-deep="(?P<id>[\w-]+)"(?P<more>[^>]*>\n<h2.*?</h2>\n)'
    r'<p class="deep-hint js">.*?</p>\n<p class="deep-hint plain">.*?</p>\n',
    re.DOTALL,
)
_PAYLOAD = re.compile(r'<script type="text/plain" id="(deep-[\w-]+)">([^<]*)</script>\n')


def unfolded(text: str) -> str:
    """What the page's script does to it when every section is opened, the table of all cases aside."""
    packed = dict(_PAYLOAD.findall(text))
    without = _PAYLOAD.sub("", text)

    def body(found: re.Match[str]) -> str:
        inside = gzip.decompress(base64.b64decode(packed.pop(found["id"]))).decode()
        return f"{found['head']}{found['more']}{inside}"

    whole = _DEEP.sub(body, without)
    assert not packed, f"payloads without a section: {list(packed)}"
    return whole


def plain(markup: object) -> str:
    """Text without tags, blanks collapsed."""
    text = re.sub(r"<[^>]+>", " ", str(markup)).replace(numbers.NBSP, " ")
    return re.sub(r"\s+", " ", text.replace("&amp;", "&"))
