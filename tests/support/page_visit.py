"""A page open in a real browser; keeps everything it complains about and asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Visit:
    """`file` may be an address; `fragment` follows it. `options` are those of a browser's context."""

    def __init__(self, browser: Any, file: Path | str, fragment: str = "", **options: Any) -> None:
        options = {"viewport": {"width": 1440, "height": 900}, **options}
        self.context = browser.new_context(accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('policy', e.violatedDirective))"
        )
        self.url = file if isinstance(file, str) else file.as_uri()
        self.page.goto(self.url + fragment)

    def close(self) -> None:
        self.context.close()

    def follow(self, fragment: str) -> None:
        """As a link of the page does."""
        self.page.evaluate("(to) => { location.hash = to; }", fragment)

    def until(self, condition: str) -> None:
        """Waits for a condition in JavaScript, asked from outside: the page's policy forbids `eval`."""
        for _ in range(200):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never: {condition}")

    def explained(self) -> str:
        """What the drawer says, once it is open and filled."""
        self.page.wait_for_selector("#drawer-body section")
        return str(self.page.inner_text("#drawer"))
