"""A page in Chromium that refuses the network, and what a reader would see go wrong in its figures."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

COVERED = """() => [...document.querySelectorAll("svg.chart")].flatMap(chart => {
    const names = [...chart.querySelectorAll(".row-label, .row-value")];
    const boxes = names.map(element => [element.textContent, element.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
        .filter(([, b]) => a.left < b.right && b.left < a.right
            && a.top + 3 < b.bottom && b.top + 3 < a.bottom)
        .map(([other]) => one + " / " + other));
})"""
# A broken line that comes within 3 pixels of letters above and below it seems to run through them.
LINES_THROUGH_LABELS = """() => [...document.querySelectorAll("svg.chart")].flatMap(chart => {
    const labels = [...chart.querySelectorAll("text")]
        .map(label => [label.textContent, label.getBoundingClientRect()])
        .filter(([, box]) => box.width > 0);
    const points = [...chart.querySelectorAll("line, polyline")].flatMap(line => {
        const matrix = line.getScreenCTM(), length = line.getTotalLength();
        return [...Array(401).keys()].map(place => {
            const at = line.getPointAtLength(length * place / 400).matrixTransform(matrix);
            return [line.getAttribute("class"), at.x, at.y];
        });
    });
    return labels.flatMap(([text, box]) => points
        .filter(([, x, y]) => box.left - 1 < x && x < box.right + 1 && box.top - 3 < y && y < box.bottom + 3)
        .slice(0, 1).map(([css]) => css + " through " + text));
})"""


class Watched:
    """A page that refuses every request but its own file, and keeps what went wrong."""

    def __init__(self, browser: "Browser", report: Path, query: str = "", **context: object) -> None:
        self.context = browser.new_context(locale="en-GB", **context)
        self.page = self.context.new_page()
        self.trouble: list[str] = []
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.address = report.as_uri() + query
        self.page.route("**/*", self._answer)
        self.page.goto(self.address)

    def unfold(self) -> None:
        """Open everything that is folded, as a reader does."""
        for fold in self.page.locator("details > summary").all():
            fold.click()
        assert self.page.locator("details:not([open])").count() == 0

    def _answer(self, route: "Route") -> None:
        if route.request.url == self.address:
            route.continue_()
        else:
            self.trouble.append(f"asked for {route.request.url}")
            route.abort()

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert self.trouble == []
