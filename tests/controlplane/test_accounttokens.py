"""What an operator says about the issuer of service account tokens."""

from __future__ import annotations

import pytest

from controlplane.accounttokens import account_tokens
from controlplane.errors import OperatorError


async def test_all_machines_with_the_secret_understand_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, there = account_tokens("secret"), account_tokens("secret")
    rings = [await tokens.keys.ring(1) for tokens in (here, there, account_tokens("another"))]
    assert rings[0].keys.keys() == rings[1].keys.keys() != rings[2].keys.keys()
    assert here.issuer("default") == "https://kubernetes.default.svc"
    monkeypatch.setenv("POLYPLANE_SERVICE_ACCOUNT_ISSUER", "https://api.example.com:6443/")
    assert account_tokens("secret").issuer("acme") == "https://api.example.com:6443/clusters/acme"


@pytest.mark.parametrize(
    "issuer",
    ["api.example.com", "http://x", "https://", "https://x?a=b", "https://x#y", "https://[x"],
)
def test_an_issuer_is_an_https_url(monkeypatch: pytest.MonkeyPatch, issuer: str) -> None:
    monkeypatch.setenv("POLYPLANE_SERVICE_ACCOUNT_ISSUER", issuer)
    with pytest.raises(OperatorError, match="is no https URL"):
        account_tokens("secret")
