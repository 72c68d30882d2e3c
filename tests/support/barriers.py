"""What axe-core (tests/browser/vendor) finds in the page that a browser shows."""

from __future__ import annotations

from typing import Any

from tests.support.consolebrowser import Console
from tests.support.installation import REPOSITORY

AXE = REPOSITORY / "tests/browser/vendor/axe.min.js"
SEVERE = frozenset({"serious", "critical"})
THEMES = ("light", "dark")
_RUN = """
const done = arguments[0];
axe.run(document, { resultTypes: ["violations"] }).then(
  (found) => done(found.violations.map(({ id, impact, nodes }) => ({
    id, impact,
    nodes: nodes.map((one) => `${one.target.flat().join(" > ")}: ${one.failureSummary}`),
  }))),
  (error) => done([{ id: "axe itself", impact: "critical", nodes: [String(error)] }]));
"""
_THEME = """
const page = document.documentElement;
page.dataset.theme = arguments[0];
page.classList.toggle("dark", arguments[0] === "dark"); // the tables' (unfold)
"""


def bring_axe(console: Console) -> None:
    """Into each page that this browser opens from now on."""
    source = {"source": AXE.read_text()}
    console.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)


def barriers(console: Console) -> list[str]:
    """Findings that are serious or critical, in the light and in the dark theme, each with the
    elements that it is about."""
    found: list[str] = []
    for theme in THEMES:
        console.script(_THEME, theme)
        results: list[dict[str, Any]] = console.browser.execute_async_script(_RUN)
        for result in results:
            if result["impact"] in SEVERE:
                nodes = "\n    ".join(text.replace("\n", " ") for text in result["nodes"][:5])
                found.append(f"{theme}: {result['id']} ({result['impact']})\n    {nodes}")
    return found
