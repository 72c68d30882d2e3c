"""`kubectl polyplane`: what it understands, and what it says where kubectl says it to nobody."""

from __future__ import annotations

import subprocess

import pytest

from controlplane.kubectl import client, command


@pytest.mark.parametrize(
    "words",
    [
        ["-n", "shop", "--context=demo", "history", "cm/settings"],
        ["-nshop", "--context", "demo", "history", "cm/settings"],
        ["--namespace=shop", "history", "cm/settings", "--context", "demo"],
        ["history", "cm/settings", "-n", "shop", "--context", "demo"],
    ],
)
def test_flags_may_stand_before_the_command(words: list[str]) -> None:
    asked = command._parser().parse_args(command._ordered(words))
    assert (asked.command, asked.object, asked.namespace) == ("history", "cm/settings", "shop")
    assert asked.context == ["demo"]


@pytest.mark.parametrize("words", [["-h"], ["--help"], [], ["-n"], ["-n", "shop"]])
def test_what_names_no_command_is_told_how_to(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(words)
    said = capsys.readouterr()
    assert "usage: kubectl polyplane" in said.out + said.err


def test_a_kubeconfig_without_a_context_is_told_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        why = "error: current-context must exist in order to minify"
        return subprocess.CompletedProcess([], 1, "", why)

    monkeypatch.setattr(client.subprocess, "run", run)
    with pytest.raises(SystemExit, match="kubectl config use-context"):
        command.main(["reach"])


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (["-s", "https://x", "reach"], ["--server=https://x"]),
        (["reach", "-s=https://x"], ["--server=https://x"]),
        (["--insecure-skip-tls-verify", "reach"], ["--insecure-skip-tls-verify=true"]),
        (["reach", "--request-timeout=5s"], ["--request-timeout=5s"]),
        (
            ["history", "--insecure-skip-tls-verify", "cm/a", "--as-uid", "u", "--as=x"],
            ["--as=x", "--as-uid=u", "--insecure-skip-tls-verify=true"],
        ),
        (
            ["--client-key=k", "--client-certificate", "c", "--certificate-authority=a", "reach"],
            ["--certificate-authority=a", "--client-certificate=c", "--client-key=k"],
        ),
    ],
)
def test_what_kubectl_knows_of_the_connection_is_passed_on(
    words: list[str], passed: list[str]
) -> None:
    asked = command._parser().parse_args(command._ordered(words))
    assert [f"--{name}={value}" for name, value in command._passed_on(asked)] == passed


def test_a_number_of_lines_is_none_below_zero(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["history", "cm/a", "--limit", "-1"])
    assert "'-1' is no whole number from 0 on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["undelete", "cm/a", "-n", "shop"], "no deletion is retained of cm/a in namespace shop"),
        (["diff", "cm/a", "-n", "shop"], "nothing is retained of cm/a in namespace shop"),
        (["diff", "ns/a"], "nothing is retained of ns/a"),
    ],
)
def test_what_is_not_retained_is_said_to_be_so(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: object, *words: str, **__: object) -> str:
        if words[0] == "config":
            return "{}"
        if "resource%3Dns" in words[-1] and "clusterrevisions" not in words[-1]:
            raise client.Failed("namespaces are in no namespace: ask for clusterrevisions")
        return '{"items": [], "metadata": {}}'

    monkeypatch.setattr(client.Kubectl, "run", run)
    with pytest.raises(SystemExit) as left:
        command.main(words)
    assert left.value.code == said
