"""Settings from the environment: bad values are named, secrets come from files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from controlplane import environment
from controlplane.errors import OperatorError


def test_number_out_of_range_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_PORT", "70000")
    with pytest.raises(
        OperatorError, match="POLYPLANE_PORT='70000' is not a number from 1 to 65535"
    ):
        environment.number("PORT", 6443, least=1, most=65535)


@pytest.mark.parametrize("raw", ["abc", "0", "65536"])
def test_the_port_has_its_own_range_wherever_it_is_read(
    monkeypatch: pytest.MonkeyPatch, raw: str
) -> None:
    monkeypatch.setenv("POLYPLANE_PORT", raw)
    for reads in (environment.port_of_all, environment.tenant_ports):
        with pytest.raises(OperatorError, match=f"'{raw}' is not a number from 1 to 65535"):
            reads()


@pytest.mark.parametrize(
    ("raw", "value"), [("true", True), ("1", True), ("off", False), ("", False)]
)
def test_flag(monkeypatch: pytest.MonkeyPatch, raw: str, value: bool) -> None:
    monkeypatch.setenv("POLYPLANE_X", raw)
    assert environment.flag("X") is value
    assert environment.flag("UNSET", default=True) is True


def test_flag_refuses_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_X", "maybe")
    with pytest.raises(OperatorError, match="neither true nor false"):
        environment.flag("X")


@pytest.mark.parametrize(
    ("raw", "name"), [("", ""), ("Api.Example.COM.", "api.example.com"), ("example", "example")]
)
def test_domain(monkeypatch: pytest.MonkeyPatch, raw: str, name: str) -> None:
    monkeypatch.setenv("POLYPLANE_X", raw)
    assert environment.domain("X") == name


@pytest.mark.parametrize("raw", ["*.example.com", "a..b", "https://x", "a_b", f"{'a.' * 100}com"])
def test_domain_refuses_anything_else(monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("POLYPLANE_X", raw)
    with pytest.raises(OperatorError, match="is no domain"):
        environment.domain("X")


def test_secret_comes_from_the_variable_then_from_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "s").write_text("from-file\n")
    monkeypatch.setenv("POLYPLANE_S_FILE", str(tmp_path / "s"))
    assert environment.secret("POLYPLANE_S") == "from-file"
    monkeypatch.setenv("POLYPLANE_S", "direct")
    assert environment.secret("POLYPLANE_S") == "direct"
    monkeypatch.delenv("POLYPLANE_S")
    monkeypatch.setenv("POLYPLANE_S_FILE", str(tmp_path / "missing"))
    with pytest.raises(OperatorError, match="cannot be read"):
        environment.secret("POLYPLANE_S")


def constants() -> set[str]:
    """Every string in upper case that the code has: settings are asked for by such names."""
    return {
        node.value.removeprefix("POLYPLANE_")
        for path in environment.PACKAGE.rglob("*.py")
        if path.name != "environment.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isupper()
    }


def asked_for() -> list[str]:
    """The names in calls of the readers of `environment`, each as often as it is there."""
    names = []
    for path in environment.PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
            ):
                continue
            reader, name = ast.unparse(node.func), node.args[0]
            if (
                reader.startswith("environment.")
                and isinstance(name, ast.Constant)
                and isinstance(name.value, str)
            ):
                names.append(name.value.removeprefix("POLYPLANE_"))
    others = {"DATABASE_URL", *environment.LOG_LEVELS}
    return [n for n in names if n.isupper() and n not in others]


def test_every_setting_is_known_and_documented() -> None:
    assert not set(asked_for()) - environment.NAMES, "add to environment.NAMES"
    documented = (environment.REPOSITORY / "docs" / "operations.md").read_text()
    files = {
        "CONSOLE_OIDC_CLIENT_SECRET_FILE",
        "HINTS_URL_FILE",
        "MIGRATION_DATABASE_URL_FILE",
        "SECRET_KEY_FILE",
    }  # documented with what they hold
    spelt_out = environment.NAMES - {"BOARD_FD", "HEARTBEAT_FD", "METRICS_DIR"} - files
    assert {n for n in spelt_out if f"`POLYPLANE_{n}`" not in documented} == set()


def test_the_file_that_workers_share_is_found_in_one_place() -> None:
    assert asked_for().count("BOARD_FD") == 1


def test_no_known_setting_is_unused() -> None:
    # read by functions of environment.py
    inside = {"DATA_DIR", "LOG_LEVEL", "TENANT_PORTS", "WORKERS"}
    names = {
        n.removesuffix("_FILE")
        if n.endswith(("URL_FILE", "SECRET_KEY_FILE", "CLIENT_SECRET_FILE"))
        else n
        for n in environment.NAMES
    }
    assert names - constants() == inside - constants()


def test_a_misspelt_setting_is_refused_and_an_unknown_one_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POLYPLANE_QUITE_DIFFERENT", "1")
    environment.check_names()
    assert "POLYPLANE_QUITE_DIFFERENT is set, but is no setting" in capsys.readouterr().err
    monkeypatch.setenv("POLYPLANE_DATADIR", "/tmp/x")
    with pytest.raises(OperatorError, match="did you mean POLYPLANE_DATA_DIR"):
        environment.check_names()
    monkeypatch.delenv("POLYPLANE_DATADIR")
    monkeypatch.setenv("POLYPLANE_PROT", "1")
    with pytest.raises(OperatorError, match="did you mean POLYPLANE_PORT"):
        environment.check_names()


def test_flags_tell_every_setting_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_SECRET_KEY", "hush")
    monkeypatch.setenv("POLYPLANE_HINTS_URL", "postgres://u:hush@h/d")
    monkeypatch.setenv("POLYPLANE_BIND", "127.0.0.1")
    monkeypatch.delenv("POLYPLANE_MIGRATION_DATABASE_URL", raising=False)
    flags = environment.flags()
    assert "hush" not in str(flags)
    assert (flags["secret-key"], flags["bind"], flags["migration-database-url"]) == (
        "CLASSIFIED",
        "127.0.0.1",
        "",
    )
    assert len(flags) == len(environment.NAMES) - 3


def test_tenant_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.tenant_ports() == {}
    monkeypatch.setenv("POLYPLANE_TENANT_PORTS", " acme=7001, bolt-2=443,")
    assert environment.tenant_ports() == {"acme": 7001, "bolt-2": 443}


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("acme", "'acme' is no tenant and port"),
        ("=7001", "'=7001' is no tenant and port"),
        ("Acme=7001", "is no tenant and port"),
        ("acme=", "is no tenant and port"),
        ("acme=0", "is no tenant and port"),
        ("acme=65536", "is no tenant and port"),
        ("acme=\u0661", "is no tenant and port"),
        ("acme=1,acme=2", "tenant acme has two ports"),
        ("acme=1,bolt=1", "port 1 has two tenants"),
        ("acme=6443", "port 6443 is that of all tenants"),
    ],
)
def test_tenant_ports_refuse_anything_else(
    monkeypatch: pytest.MonkeyPatch, raw: str, problem: str
) -> None:
    monkeypatch.delenv("POLYPLANE_PORT", raising=False)
    monkeypatch.setenv("POLYPLANE_TENANT_PORTS", raw)
    with pytest.raises(OperatorError, match=problem):
        environment.tenant_ports()
