"""The pages of the repository name nothing that a clone does not have: links, paths, modules."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
)
_LINK = re.compile(r"\]\((?!https?:)([^)\s]*)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_BLOCK = re.compile(r"(?ms)^ *```.*?^ *```$")
_PACKAGES = "apiserver|admission|controlplane|tools"
_MODULE = re.compile(rf"(?:{_PACKAGES})(?:\.\w+)+")
_PATH = re.compile(r"(?:\.?[\w-]+/)+[\w.-]*\.(?:py|json|html|sql|service|sh)|[\w-]+\.(?:md|toml)")
_DIRECTORY = re.compile(rf"(?:{_PACKAGES}|tests|docs|templates|fixtures|deploy)/[\w/-]+")
_EXAMPLES = ("apiserver/kinds/toys/", "tests/apiserver/kinds/toys/")
_EXAMPLE_FILES = ("controlplane/console/logins.py", "admission/plugins/toylabels.py")
"""What CONTRIBUTING.md makes, step by step."""
_ELSEWHERE = {"docs/decisions/0008-what-other-houses-taught.md"}
"""Pages about other code bases, whose paths they name."""
_EXAMPLE_MODULES = ("apiserver.kinds.toys.widget",)


def prose(text: str) -> str:
    """Without blocks of code, whose lines are examples."""
    return _BLOCK.sub("", text)


def anchors(text: str) -> set[str]:
    """Those that a forge makes of the page's headings."""
    titles = re.findall(r"(?m)^#+ (.*)$", prose(text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in _LINK.findall(prose(page.read_text())):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            broken.append(link)
    return broken


def absent_paths(page: Path) -> list[str]:
    """Of paths with a placeholder, ``<name>``, the directory has to be there. A path is looked for
    from the root, from `apiserver`, and beside the page."""
    absent = []
    for code in _CODE.findall(prose(page.read_text())):
        path = re.split("[<*{]", code)[0]
        if not (_PATH.fullmatch(path) or _DIRECTORY.fullmatch(path)):
            continue
        if code in _EXAMPLE_FILES or code.startswith(_EXAMPLES):
            continue
        if not any((place / path).exists() for place in (ROOT, ROOT / "apiserver", page.parent)):
            absent.append(code)
    return absent


def absent_modules(page: Path) -> list[str]:
    codes = _CODE.findall(prose(page.read_text()))
    names = {code for code in codes if _MODULE.fullmatch(code)} - set(_EXAMPLE_MODULES)
    return sorted(name for name in names if not is_there(name))


def is_there(name: str) -> bool:
    """Whether a dotted name leads to a module or to something in it."""
    parts = name.split(".")
    for at in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:at]))
        except ModuleNotFoundError:
            continue
        for part in parts[at:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    assert broken_links(ROOT / page) == []


@pytest.mark.parametrize("page", sorted({*PAGES} - _ELSEWHERE))
def test_every_path_is_there(page: str) -> None:
    assert absent_paths(ROOT / page) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_module_is_there(page: str) -> None:
    assert absent_modules(ROOT / page) == []


def test_every_page_can_be_found_from_the_readme() -> None:
    linked, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in linked or page.suffix != ".md":
            continue
        linked.add(page)
        links = _LINK.findall(prose(page.read_text()))
        waiting += [page.parent / link.partition("#")[0] for link in links if link[0] != "#"]
    assert {(ROOT / page).resolve() for page in PAGES} - linked == set()


def test_what_is_not_there_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A title\n[a](#a-title) [b](#none) [c](gone.md) `apiserver/gone.py` `apiserver/meta`\n"
        "`apiserver.gone` `apiserver.meta.gvk.GroupKind` `apiserver.meta.gvk.Gone` `gone.md`\n"
        "```\n[d](gone.md) `apiserver/gone.py`\n```\n"
    )
    assert broken_links(page) == ["#none", "gone.md"]
    assert absent_paths(page) == ["apiserver/gone.py", "gone.md"]
    assert absent_modules(page) == ["apiserver.gone", "apiserver.meta.gvk.Gone"]
