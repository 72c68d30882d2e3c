"""Lists: what the server prints, kept up to date."""

from __future__ import annotations

from tests.support.consolebrowser import Console

CONFIGMAPS = "/clusters/demo/api/v1/namespaces/shop/configmaps"


def test_a_list_shows_the_kinds_own_columns_and_what_comes_later(console: Console) -> None:
    console.open("/t/demo/core/configmaps?namespace=shop")
    console.see("kube-root-ca.crt")
    heads = [e.text for e in console.all("thead th")]
    assert heads == ["Name", "Data", "Age"]
    obj = {"metadata": {"name": "fresh"}, "data": {"a": "1", "b": "2"}}
    assert console.installation.request("POST", CONFIGMAPS, obj)[0] == 201
    console.see("fresh")
    assert console.installation.request("DELETE", f"{CONFIGMAPS}/fresh")[0] == 200
    console.gone("fresh")
