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
