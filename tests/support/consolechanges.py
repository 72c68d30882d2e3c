"""Changing objects in the console's pages: what a person types and presses."""

from __future__ import annotations

import json
from typing import Any

from selenium.webdriver.common.action_chains import ActionChains

from tests.support.consolebrowser import Console

_REPLACE = """
const [before, after] = arguments;
return import("/static/console/vendor/codemirror.js").then(({ EditorView }) => {
  const root = document.querySelector(".editor").shadowRoot;
  const view = EditorView.findFromDOM(root.querySelector(".cm-editor"));
  const text = view.state.doc.toString();
  const from = before === null ? 0 : text.indexOf(before);
  if (from < 0) return text;
  const to = before === null ? text.length : from + before.length;
  view.dispatch({ changes: { from, to, insert: after }, selection: { anchor: from } });
  return null;
});
"""
_GO = """
const [text] = arguments;
return import("/static/console/vendor/codemirror.js").then(({ EditorView }) => {
  const root = document.querySelector(".editor").shadowRoot;
  const view = EditorView.findFromDOM(root.querySelector(".cm-editor"));
  view.dispatch({ selection: { anchor: view.state.doc.toString().indexOf(text) + text.length } });
  view.focus();
});
"""
_TEXT = """
return import("/static/console/vendor/codemirror.js").then(({ EditorView }) =>
  EditorView.findFromDOM(document.querySelector(".editor").shadowRoot.querySelector(".cm-editor"))
    .state.doc.toString());
"""
_FORCE = """
const [method, path, type, body] = arguments;
const token = document.querySelector("meta[name=csrf-token]").content;
return fetch(`/admin/api${path}`, { method, body,
  headers: { "Content-Type": type, "X-CSRFToken": token } }).then((answer) => answer.status);
"""


class Changes:
    """Somebody at the pages of changes."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def edit(self, group: str, resource: str, namespace: str, name: str) -> None:
        self.console.open(f"/t/demo/{group}/{resource}/{namespace or '-'}/{name}/edit")
        self.console.one("#review")

    def replace(self, before: str | None, after: str) -> None:
        """In the editor; None: all of it."""
        missing = self.console.script(_REPLACE, before, after)
        assert missing is None, f"no {before!r} in {missing}"

    def type_after(self, text: str, *keys: str) -> None:
        """With the keyboard, behind the first place where the editor has the text."""
        self.console.script(_GO, text)
        self.keys(*keys)

    def keys(self, *keys: str) -> None:
        ActionChains(self.console.browser).send_keys(*keys).perform()

    def text(self) -> str:
        return str(self.console.script(_TEXT))

    def review(self) -> None:
        self.console.one("#review").click()

    def store(self) -> None:
        self.console.one("#store").click()
        self.console.see("is stored")

    def refusal(self, kind: str) -> str:
        """What is said, once there is a refusal of this kind ("conflict", "stale", "invalid")."""
        return str(self.console.one(f".refusal.{kind}").text)

    def choose(self, *values: str) -> None:
        """One for each row of the table of conflicts; a single one needs no more than that."""
        self.console.one("table.conflicts")
        rows = self.console.all("table.conflicts tbody tr")
        assert len(rows) == len(values)
        for row, value in zip(rows, values, strict=True):
            row.find_element("css selector", f"[value={value}]").click()
        if len(rows) > 1:
            self.console.one("#settle").click()

    def lines(self, kind: str) -> list[str]:
        """Those of the comparison that are ``added``, ``removed`` or ``server``."""
        self.console.one("table.difference")
        found = self.console.all(f"table.difference tr.{kind} .line code")
        return [line.text.strip() for line in found]

    def select(self, *names: str) -> None:
        """Rows of a list that is shown."""
        for name in names:
            self.console.see(name)
            self.console.one(f'tr[data-key$="/{name}"] input[type=checkbox]').click()

    def press(self, action: str) -> None:
        self.console.one(f"[data-action={action}]").click()
        self.console.one("#perform")

    def perform(self) -> None:
        self.console.one("#perform").click()

    def results(self) -> dict[str, str]:
        """Of an action on several objects: name -> what was said."""
        lines = self.console.all(".results li")
        texts = [
            [part.text for part in line.find_elements("css selector", "span")] for line in lines
        ]
        return {name: said for _, name, said in texts}

    def force(
        self, method: str, path: str, body: str, content_type: str = "application/json"
    ) -> int:
        """The status of a request that the page itself would not make."""
        return int(self.console.script(_FORCE, method, path, content_type, body))

    def expect(self, *codes: int) -> None:
        """That the browser complained of these answers of the API, and of nothing else."""
        complaints = self.console.complaints()
        others = [c for c in complaints if not any(f"status of {code} " in c for code in codes)]
        assert others == []


def get(console: Console, path: str) -> Any:
    status, answer = console.installation.request("GET", f"/clusters/demo{path}")
    assert status == 200, answer
    return answer


def apply(console: Console, path: str, manager: str, obj: Any, *, force: bool = False) -> Any:
    """An apply by somebody else."""
    installation = console.installation
    connection = installation.connect()
    try:
        query = f"?fieldManager={manager}&force={str(force).lower()}"
        headers = {
            "Authorization": f"Bearer {installation.token}",
            "Content-Type": "application/apply-patch+yaml",
        }
        connection.request("PATCH", f"/clusters/demo{path}{query}", json.dumps(obj), headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status in {200, 201}, text
        return json.loads(text)
    finally:
        connection.close()


def manager_of(obj: Any, *path: str) -> set[tuple[str, str]]:
    """(manager, operation) of each that owns a field of the object."""
    found = set()
    for entry in obj["metadata"]["managedFields"]:
        node = entry["fieldsV1"]
        for name in path:
            node = node.get(f"f:{name}") if node is not None else None
        if node is not None:
            found.add((entry["manager"], entry["operation"]))
    return found
