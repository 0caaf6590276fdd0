"""The content security policy of a page: its own style and script, by their hashes, and nothing else."""

from __future__ import annotations

import base64
import hashlib


def policy(style: str, script: str = "") -> str:
    """For the page's head; a page without a script allows none."""
    scripts = f" script-src '{_digest(script)}';" if script else ""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}';{scripts}"
        " base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
