"""Logins with tokens of OpenID providers that really run, against two workers: one provider that
the installation trusts, one that only a tenant does."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.installation import Installation, eventually
from tests.support.oidcprovider import CLIENT, OidcProvider

pytestmark = pytest.mark.slow
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


def jwt_of(provider: OidcProvider, prefix: str, **issuer: Any) -> Any:
    return {
        "issuer": {
            "url": provider.url,
            "certificateAuthority": provider.ca,
            "audiences": [CLIENT],
            **issuer,
        },
        "claimMappings": {
            "username": {"claim": "sub", "prefix": prefix},
            "groups": {"expression": f"dyn(claims.?groups.orValue([])).map(g, '{prefix}' + g)"},
            "extra": [{"key": "example.com/mail", "valueExpression": "claims.?email.orValue('')"}],
        },
        "claimValidationRules": [
            {"expression": "claims.?blocked.orValue(false) == false", "message": "blocked"}
        ],
        "userValidationRules": [
            {"expression": "!user.username.startsWith('system:')", "message": "reserved"}
        ],
    }


def document(*jwts: Any, **more: Any) -> str:
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
    return yaml.safe_dump({**kind, "jwt": list(jwts), **more})


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("oidc")


@pytest.fixture(scope="module")
def everywhere(path: Path) -> Iterator[OidcProvider]:
    users = {
        "alice": {"groups": ["dev", "ops"], "email": "alice@example.com"},
        "mallory": {"blocked": True},
    }
    provider = OidcProvider(path, users)
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def theirs(path: Path) -> Iterator[OidcProvider]:
    provider = OidcProvider(path, {"bob": {"groups": ["masters"]}}, "two")
    provider.start()
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def installation(
    path: Path, everywhere: OidcProvider, theirs: OidcProvider, prepared: Path
) -> Iterator[Installation]:
    made = Installation(path, prepared)
    (path / "authentication.yaml").write_text(document(jwt_of(everywhere, "all:")))
    (path / "demo.yaml").write_text(document(jwt_of(theirs, "demo:")))
    made.env["POLYPLANE_AUTHENTICATION_CONFIG_FILE"] = str(path / "authentication.yaml")
    made.start()
    done = made.manage("tenant", "update", "demo", "--authentication-config", f"{path}/demo.yaml")
    assert done.returncode == 0, done.stderr
    yield made
    made.stop()


def ask(
    installation: Installation, token: str, path: str, method: str = "GET", body: Any = None
) -> tuple[int, Any]:
    """On a connection of its own, so that both workers get some."""
    connection = installation.connect()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text.startswith(b"{") else text.decode()
    except http.client.HTTPException as e:
        raise AssertionError(installation.output()[-2000:]) from e
    finally:
        connection.close()


def who(installation: Installation, token: str, tenant: str = "") -> Any:
    """userInfo, or the status of a refusal."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    prefix = f"/clusters/{tenant}" if tenant else ""
    status, answer = ask(installation, token, prefix + WHO, "POST", review)
    return answer["status"]["userInfo"] if status == 201 else status


def status_of(installation: Installation, token: str, path: str) -> int:
    return ask(installation, token, path)[0]


def test_the_installations_provider_is_good_in_all_tenants(
    installation: Installation, everywhere: OidcProvider
) -> None:
    token = everywhere.token("alice")
    for tenant in ("", "default", "demo") * 3:
        found = who(installation, token, tenant)
        assert found["username"] == "all:alice"
        assert found["groups"] == ["all:dev", "all:ops", "system:authenticated"]
        assert found["extra"] == {"example.com/mail": ["alice@example.com"]}
    assert who(installation, token, "absent") == 404, "as any user of all tenants"
    assert status_of(installation, token, "/api/v1/namespaces") == 403
    role = {"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {
        "metadata": {"name": "devs"},
        "roleRef": role,
        "subjects": [{"kind": "Group", "name": "all:dev", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    assert installation.request("POST", bindings, binding)[0] == 201
    assert eventually(lambda: status_of(installation, token, "/api/v1/pods") == 200)


def test_a_tenants_provider_is_good_in_that_tenant_alone(
    installation: Installation, theirs: OidcProvider
) -> None:
    token = theirs.token("bob")
    assert who(installation, token, "demo")["username"] == "demo:bob"
    for tenant in ("", "default", "absent"):
        assert who(installation, token, tenant) == 401
    shown = json.loads(installation.manage("tenant", "show", "demo", "-o", "json").stdout)
    assert shown["issuers"] == [theirs.url]


def test_rules_refuse_tokens_and_say_why_to_reviewers_only(
    installation: Installation, everywhere: OidcProvider
) -> None:
    token = everywhere.token("mallory")
    assert who(installation, token) == 401
    _, answer = installation.request("POST", REVIEWS, {"spec": {"token": token}})
    assert not answer["status"].get("authenticated")
    assert answer["status"]["error"].startswith("[invalid bearer token, oidc: error evaluating")
    assert answer["status"]["error"].endswith("failed: blocked]")
    other = everywhere.token("alice", client="another")
    assert who(installation, other) == 401
    code, body = ask(installation, other, "/api/v1/namespaces")
    assert (code, body["message"]) == (401, "Unauthorized"), "why is nobody's business"


def test_keys_roll_over_while_everything_runs(
    installation: Installation, everywhere: OidcProvider
) -> None:
    old = everywhere.token("alice")
    assert who(installation, old)["username"] == "all:alice"
    everywhere.stop()
    for _ in range(4):
        assert who(installation, old)["username"] == "all:alice", "its keys are known"
    everywhere.start()
    new = everywhere.token("alice")

    def known() -> bool:
        return all(who(installation, new) != 401 for _ in range(4))

    assert eventually(known), "both workers have asked for the new key"
    assert eventually(lambda: all(who(installation, old) == 401 for _ in range(4)))


def test_what_the_health_checks_say(installation: Installation, everywhere: OidcProvider) -> None:
    who(installation, everywhere.token("alice"))
    code, text = installation.request("GET", "/readyz?verbose")
    assert code == 200
    assert "[+]authentication/config ok" in text and "[+]authentication/jwt-0 ok" in text
    assert installation.request("GET", "/readyz/authentication/jwt-0")[0] == 200
    code, metrics = installation.request("GET", "/metrics")
    assert (
        'jwt_authenticator_latency_seconds_count{result="success",jwt_issuer_hash="sha' in metrics
    )
    assert "localhost" not in metrics


def strangers(installation: Installation, path: str) -> set[int]:
    """What workers answer somebody without a token."""
    codes = set()
    for _ in range(8):
        with closing(installation.connect()) as connection:
            connection.request("GET", path)
            codes.add(connection.getresponse().status)
    return codes


def test_the_file_is_read_anew_when_it_changes(
    installation: Installation, path: Path, everywhere: OidcProvider
) -> None:
    token, file = everywhere.token("alice"), path / "authentication.yaml"
    was = file.read_text()

    def all_say(expected: Any) -> bool:
        found = [who(installation, token) for _ in range(4)]
        return all((f if isinstance(f, int) else f["username"]) == expected for f in found)

    file.write_text("not: this")
    assert eventually(lambda: "is not read anew" in installation.output())
    assert all_say("all:alice"), "what cannot be used changes nothing"
    gone = {"enabled": True, "conditions": [{"path": "/livez"}]}
    file.write_text(document(jwt_of(everywhere, "new:"), anonymous=gone))
    assert eventually(lambda: all_say("new:alice"))
    for at, expected in (("/livez", 200), ("/readyz", 401), ("/version", 401)):
        assert eventually(lambda at=at, code=expected: strangers(installation, at) == {code}), at
    file.write_text(document(jwt_of(everywhere, "all:", audiences=["others"])))
    assert eventually(lambda: all_say(401))
    file.write_text(was)
    assert eventually(lambda: all_say("all:alice"))


def test_a_provider_that_is_away_keeps_nobody_else_out(
    installation: Installation, path: Path, everywhere: OidcProvider
) -> None:
    token, file = everywhere.token("alice"), path / "authentication.yaml"
    was = file.read_text()
    away = OidcProvider(path, {}, "away")
    file.write_text(document(jwt_of(away, "away:"), jwt_of(everywhere, "all:")))
    degraded = "[!]authentication/jwt-0 degraded: reason withheld"
    assert eventually(lambda: degraded in installation.request("GET", "/readyz?verbose")[1])
    assert installation.request("GET", "/readyz")[0] == 200

    def is_told() -> bool:
        code, text = installation.request("GET", "/readyz/authentication/jwt-0")
        return code == 500 and "connection refused" in text

    assert eventually(is_told)
    assert eventually(lambda: who(installation, token) != 401)
    file.write_text(was)
