"""Somebody who has rights in one namespace of a tenant, and may not list namespaces."""

from __future__ import annotations

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.support.consolebrowser import Account, Console, make_accounts
from tests.support.installation import Installation

RBAC = "/clusters/demo/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings"
GROUP = "rbac.authorization.k8s.io"


def test_who_has_rights_in_one_namespace_is_led_to_it(
    somebody: Console, site: Installation
) -> None:
    make_accounts(site, Account("guest"))
    subjects = [{"kind": "User", "apiGroup": GROUP, "name": "guest"}]
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"}
    body = {"metadata": {"name": "guest"}, "roleRef": role, "subjects": subjects}
    assert site.request("POST", RBAC, body)[0] == 201
    somebody.log_in("guest")
    somebody.open("/t/demo/")
    somebody.see("You are given rights in namespace")
    somebody.browser.find_element(By.LINK_TEXT, "shop").click()
    somebody.see("What namespace shop holds")
    somebody.one("main a[title=configmaps]").click()
    somebody.see("old-bucket")
    somebody.open("/t/demo/core/configmaps")
    somebody.see("cannot list resource")
    somebody.browser.find_element(By.LINK_TEXT, "shop").click()
    somebody.see("old-bucket")
    choice = Select(somebody.one("select[aria-label=Namespace]"))
    somebody.until(lambda: [o.text for o in choice.options] == ["All", "shop", "Another…"])
    choice.select_by_visible_text("Another…")
    somebody.one("dialog input").send_keys("kube-system")
    somebody.one("dialog button[type=submit]").click()
    somebody.see('in the namespace "kube-system"')
    assert "namespace=kube-system" in somebody.browser.current_url
