"""Settings of the login by OpenID Connect: what cannot work is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane import environment, preflight
from controlplane.console import oidcsettings
from controlplane.errors import OperatorError
from tests.support.consolelogins import CA

GOOD = {
    "ISSUER": "https://idp.example.com/realms/one",
    "CLIENT_ID": "console",
    "ROLES": "ops=superuser, ops=polyplane:viewers,cn=x=crew",
}


def use(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in {**GOOD, **values}.items():
        monkeypatch.setenv(f"POLYPLANE_CONSOLE_OIDC_{name}", value)


def test_nothing_is_set_by_default() -> None:
    assert oidcsettings.read() is None
    assert oidcsettings.password_login(None) is True


def test_what_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret-value\n")
    (tmp_path / "ca").write_text(CA)
    monkeypatch.setenv("POLYPLANE_CONSOLE_OIDC_CLIENT_SECRET_FILE", str(tmp_path / "secret"))
    use(monkeypatch, CA_FILE=str(tmp_path / "ca"), SCOPES="openid  groups")
    use(monkeypatch, REDIRECT_URI="https://c.example.com:8443/admin/oidc/callback/")
    found = oidcsettings.read()
    assert found is not None and found.host == "idp.example.com"
    assert found.client_secret == "s3cret-value" and "s3cret" not in repr(found)
    assert found.roles == {
        "ops": {"superuser", "polyplane:viewers"},
        "cn=x": {"crew"},
    }
    assert (found.scopes, found.ca, found.username_claim) == (
        "openid groups",
        CA,
        "preferred_username",
    )
    preflight._check_values()


def test_the_secret_is_shown_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_CONSOLE_OIDC_CLIENT_SECRET", "s3cret-value")
    assert environment.flags()["console-oidc-client-secret"] == "CLASSIFIED"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("ISSUER", "http://idp.example.com", "is no https URL"),
        ("ISSUER", "https://idp.example.com/?a=b", "is no https URL"),
        ("ISSUER", "https://idp.example.com/#a", "is no https URL"),
        ("ISSUER", "https://me@idp.example.com", "is no https URL"),
        ("ISSUER", "https://", "is no https URL"),
        ("ISSUER", "https://a:b/", "is no https URL"),
        ("ISSUER", "idp.example.com", "is no https URL"),
        ("ISSUER", "", "CLIENT_ID: is set, and CONSOLE_OIDC_ISSUER is not"),
        ("CLIENT_ID", "", "is not set"),
        ("ROLES", "", "nobody could log in"),
        ("ROLES", "ops", "is no value of the claim"),
        ("ROLES", "=superuser", "is no value of the claim"),
        ("ROLES", "ops=", "is no value of the claim"),
        ("ROLES", "ops=polyplane:viewer", "is no platform role; there are polyplane:"),
        ("SCOPES", "profile", "lacks openid"),
        ("CA_FILE", "/no/such/file", "cannot be read: No such file"),
        ("CA_FILE", __file__, "holds no certificates"),
        ("REDIRECT_URI", "http://c.example.com/admin/oidc/callback/", "is no https URL"),
        ("REDIRECT_URI", "https://c.example.com/admin/", "does not lead to /admin/oidc/callback/"),
    ],
)
def test_what_cannot_work_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    use(monkeypatch, **{name: value})
    with pytest.raises(OperatorError, match="POLYPLANE_CONSOLE_OIDC_") as refused:
        preflight._check_values()
    assert why in str(refused.value)


def test_somebody_must_be_able_to_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_CONSOLE_PASSWORD_LOGIN", "false")
    with pytest.raises(OperatorError, match="nobody could log in to the console"):
        preflight._check_values()
    use(monkeypatch)
    preflight._check_values()
    assert oidcsettings.password_login(oidcsettings.read()) is False
