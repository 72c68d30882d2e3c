"""Strings of others stay strings: whatever stands in objects, names and logs, no page makes markup
of it, nothing of it runs, and the browser has no violation of the policy to tell of."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.support.consolebrowser import PASSWORD, Console
from tests.support.consolechanges import Changes
from tests.support.hostileworld import DEFINITIONS, TENANT, World, evil
from tests.support.installation import Installation

HERE = f"/t/{TENANT}"
ROLE = quote(evil("role").replace("/", "|"), safe="")
TABS = ("yaml", "blame", "history", "events", "owners", "stuck")
OWN = ("yaml", "history", "owners")
"""The tabs that show what is particular to a kind."""
OBJECTS = {
    "core/configmaps/hostile/plain": TABS,
    "core/configmaps/hostile/owned": OWN,
    "core/configmaps/hostile/stuck": TABS,
    "core/configmaps/hostile/gone": ("yaml", "history"),
    "core/secrets/hostile/plain": TABS,
    "core/events/hostile/e1": ("yaml", "owners"),
    "core/pods/hostile/web": OWN,
    "core/services/hostile/hostile": ("owners",),
    "core/serviceaccounts/hostile/hostile": ("yaml", "owners"),
    "core/namespaces/-/hostile": TABS,
    "apps/deployments/hostile/web": TABS,
    f"rbac.authorization.k8s.io/clusterroles/-/{ROLE}": OWN,
    f"rbac.authorization.k8s.io/roles/hostile/{ROLE}": OWN,
    f"rbac.authorization.k8s.io/clusterrolebindings/-/{ROLE}": OWN,
    f"rbac.authorization.k8s.io/rolebindings/hostile/{ROLE}": OWN,
    "admissionregistration.k8s.io/validatingadmissionpolicies/-/hostile": OWN,
    "apiextensions.k8s.io/customresourcedefinitions/-/traps.hostile.example.com": OWN,
    "hostile.example.com/traps/hostile/trap": OWN,
    "scheduling.k8s.io/priorityclasses/-/hostile": ("yaml",),
    "storage.k8s.io/storageclasses/-/hostile": ("yaml",),
    "coordination.k8s.io/leases/hostile/hostile": ("yaml",),
}
LISTS = sorted({name.rpartition("/")[0].rpartition("/")[0] for name in OBJECTS})
PAGES = [
    "/",
    "/?stuck=0",
    "/tenants",
    f"/tenants/{TENANT}",
    "/audit",
    f"/audit?tenant={TENANT}",
    f"/audit?user={quote(evil('user'))}",
    "/system",
    "/me",
    f"{HERE}/",
    f"{HERE}/new",
    f"{HERE}/past?namespace=hostile&resource=configmaps",
    f"{HERE}/core/configmaps/new?namespace={quote(evil('typed'))}",
    f"{HERE}/core/configmaps?q={quote(evil('typed'))}",
    f"{HERE}/core/configmaps?label={quote(evil('typed'))}",
    f"{HERE}/{quote(evil('typed'), safe='')}/x",
    f"/t/{quote(evil('typed'), safe='')}/",
    f"/tenants/{quote(evil('typed'), safe='')}",
]
WATCHED = """
window.ran = [];
for (const name of ["alert", "confirm", "prompt"]) window[name] = (x) => window.ran.push(x);
addEventListener("securitypolicyviolation", (event) => {
  window.ran.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""
_MARKUP = """
const found = [];
const look = (root) => {
  for (const one of root.querySelectorAll("*")) {
    if (one.shadowRoot) look(one.shadowRoot);
    if (one.matches("img[src='x'], script:not([src]):not([type]), [onerror], [onload]")) {
      found.push(one.outerHTML);
    }
  }
};
look(document);
return [...found, ...window.ran];
"""
_SHOWN = """
const texts = [];
const look = (root) => {
  texts.push(root.textContent);
  for (const one of root.querySelectorAll("*")) if (one.shadowRoot) look(one.shadowRoot);
  for (const one of root.querySelectorAll("input, textarea")) texts.push(one.value);
};
look(document.body);
return texts.join("\\n");
"""


@pytest.fixture(scope="module")
def world(site: Installation) -> World:
    made = World(site)
    made.fill()
    return made


@pytest.fixture(scope="module")
def target(console_pages: Console, world: World) -> Iterator[Console]:
    source = {"source": WATCHED}
    console_pages.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
    yield console_pages


def harmless(console: Console) -> str:
    """All text of the page, once it stands still; nothing of it has become anything else."""
    still = """
        const done = arguments[0];
        const seen = () => document.body.textContent.length;
        const before = seen();
        setTimeout(() => done(before === seen() && document.readyState === "complete"), 300);
    """
    console.until(lambda: console.browser.execute_async_script(still))
    assert console.script(_MARKUP) == []
    complaints = [c for c in console.complaints() if "status of 4" not in c]
    assert complaints == []
    return str(console.script(_SHOWN))


def opened(console: Console, path: str) -> str:
    console.open(path)
    console.until(lambda: console.script("return document.querySelector('main .view *') !== null"))
    return harmless(console)


@pytest.mark.parametrize("path", PAGES)
def test_no_page_makes_markup_of_it(target: Console, path: str) -> None:
    opened(target, path)


@pytest.mark.parametrize("name", OBJECTS)
def test_no_tab_of_an_object_does(target: Console, name: str) -> None:
    for tab in OBJECTS[name]:
        opened(target, f"{HERE}/{name}?tab={tab}")


@pytest.mark.parametrize("name", LISTS)
def test_no_list_does(target: Console, name: str) -> None:
    target.script("localStorage.clear()")
    opened(target, f"{HERE}/{name}")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/tenants", ["display name", "owner"]),
        (f"/tenants/{TENANT}", ["token user", "token group", "description"]),
        (f"/audit?tenant={TENANT}", ["user"]),
        ("/audit?verb=login", ["login"]),
        (f"{HERE}/core/configmaps/hostile/plain?tab=yaml", ["annotation", "value"]),
        (f"{HERE}/core/configmaps/hostile/plain?tab=blame", ["manager", "second manager", "user"]),
        (f"{HERE}/core/configmaps/hostile/plain?tab=history", ["manager", "user"]),
        (
            f"{HERE}/core/configmaps/hostile/plain?tab=events",
            ["event reason", "event message", "reporter"],
        ),
        (f"{HERE}/core/configmaps/hostile/owned?tab=owners", ["owner kind", "owner name"]),
        (f"{HERE}/core/configmaps/hostile/stuck?tab=stuck", ["keeper"]),
        (f"{HERE}/apps/deployments/hostile/web?tab=yaml", ["condition message", "image", "env"]),
        (f"{HERE}/core/pods?namespace=hostile", ["pod reason"]),
        (f"{HERE}/core/events?namespace=hostile", ["event message", "event reason"]),
        (f"{HERE}/hostile.example.com/traps", ["column", "printed"]),
        (f"{HERE}/rbac.authorization.k8s.io/clusterroles", ["role"]),
        (f"{HERE}/rbac.authorization.k8s.io/rolebindings", ["role"]),
        (f"{HERE}/core/configmaps/hostile/plain/edit", ["annotation", "value"]),
    ],
)
def test_it_is_all_shown_as_it_is(target: Console, path: str, shown: list[str]) -> None:
    """Else the pages above would prove nothing."""
    if path.endswith("login"):
        fail_to_log_in(target)
    target.open(path)
    wanted = [evil(where).replace("/", "|") if where == "role" else evil(where) for where in shown]
    target.until(lambda: all(text in str(target.script(_SHOWN)) for text in wanted))
    harmless(target)


def fail_to_log_in(console: Console) -> None:
    """As somebody with such a name."""
    console.browser.execute_async_script(
        """
        const [user, password, done] = arguments;
        fetch("/admin/login/").then((r) => r.text()).then((page) => {
          const token = /name="csrfmiddlewaretoken" value="([^"]+)"/.exec(page)?.[1] ??
            document.querySelector("meta[name=csrf-token]").content;
          return fetch("/admin/login/", {method: "POST", credentials: "same-origin",
            body: new URLSearchParams({csrfmiddlewaretoken: token, username: user, password})});
        }).then(done, done);
        """,
        evil("login"),
        PASSWORD,
    )


@pytest.mark.parametrize("typed", ["hostile", "cm plain", evil("typed"), "clusterrole"])
def test_the_palette_does_not(target: Console, typed: str) -> None:
    target.open(f"{HERE}/")
    target.one(".finder").click()
    target.one("dialog.palette input").send_keys(typed)
    harmless(target)


def test_refusals_and_warnings_do_not(target: Console) -> None:
    changes = Changes(target)
    target.open(f"{HERE}/core/configmaps/new?namespace=hostile")
    target.one("#review")
    changes.replace(
        None,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: refused\n  namespace: hostile\n",
    )
    changes.review()
    target.see(evil("refusal"))
    harmless(target)
    target.open(f"{HERE}/hostile.example.com/traps/hostile/trap/edit")
    target.one("#review")
    changes.replace("spec:", "  labels:\n    a: b\nspec:")
    changes.type_after("text:")
    harmless(target)


_FIRST_ENTRY = """
[...document.querySelectorAll("main button")].find((b) => b.textContent === "Entry").click();
"""


def test_a_revealed_secret_and_the_entry_of_it_do_not(target: Console) -> None:
    target.open(f"{HERE}/core/secrets/hostile/plain")
    target.one("#reveal").click()
    target.see(evil("s"))
    harmless(target)
    target.open(f"/audit?tenant={TENANT}&resource=secrets&verb=get")

    def found() -> bool:  # entries of reads come a moment later
        target.one("main form button[type=submit]").click()
        return "secrets/hostile/plain" in target.text()

    target.until(found)
    target.script(_FIRST_ENTRY)  # the rows may be drawn once more
    target.see("audit.k8s.io/v1")
    harmless(target)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "tenancy/tenant/",
        "tenancy/apitoken/",
        f"console/storedobject/?tenant={TENANT}",
        f"console/storedobject/?tenant={TENANT}&q={quote(evil('typed'))}",
        f"console/storedevent/?tenant={TENANT}",
        f"storage/auditentry/?tenant={TENANT}",
        f"storage/auditentry/?user={quote(evil('user'))}",
    ],
)
def test_the_tables_of_the_database_do_not(target: Console, path: str) -> None:
    target.browser.get(f"{target.root}/admin/{path}")
    harmless(target)
    links = [e.get_attribute("href") for e in target.all("#result_list tbody th a")]
    for link in links[:3]:
        target.browser.get(str(link))
        harmless(target)


def test_the_definition_is_there(world: World) -> None:
    """The test of the test: its columns are what somebody has made of them."""
    status, found = world.site.request("GET", f"{DEFINITIONS}/traps.hostile.example.com")
    columns = found["spec"]["versions"][0]["additionalPrinterColumns"]
    assert status == 200 and columns[0]["name"] == evil("column")
