from __future__ import annotations

import pytest

from admission.podsecurity.policy import DEFAULT, Level, LevelVersion, Policy, policy_of

PREFIX = "pod-security.kubernetes.io/"


def read(default: Policy = DEFAULT, **labels: str) -> tuple[list[str], list[str]]:
    named = {PREFIX + name.replace("_", "-"): value for name, value in labels.items()}
    policy, errors = policy_of(named, default)
    return [str(level) for _, level in policy.modes], [f"{e.path}: {e.body()}" for e in errors]


def test_without_labels_the_defaults_hold() -> None:
    assert policy_of(None, DEFAULT) == (DEFAULT, [])


@pytest.mark.parametrize(
    ("labels", "modes"),
    [
        ({"enforce": "baseline"}, ["baseline:latest", "privileged:latest", "baseline:latest"]),
        (
            {"enforce": "restricted", "enforce_version": "v1.20"},
            ["restricted:v1.20", "privileged:latest", "restricted:v1.20"],
        ),
        (
            {"enforce": "restricted", "enforce_version": "v1.20", "warn_version": "v1.21"},
            ["restricted:v1.20", "privileged:latest", "restricted:v1.21"],
        ),
        (
            {"enforce": "restricted", "warn": "privileged", "audit": "baseline"},
            ["restricted:latest", "baseline:latest", "privileged:latest"],
        ),
    ],
)
def test_labels_say_what_holds(labels: dict[str, str], modes: list[str]) -> None:
    assert read(**labels) == (modes, [])


def test_a_default_that_warns_of_more_stays() -> None:
    default = Policy(warn=LevelVersion(Level.RESTRICTED))
    modes, _ = read(default, enforce="baseline", enforce_version="v1.1")
    assert modes == ["baseline:v1.1", "privileged:latest", "restricted:latest"]


def test_wrong_labels_enforce_all_and_warn_of_nothing() -> None:
    modes, errors = read(enforce="x", enforce_version="1.2", audit="y", warn="z", warn_version="v2")
    assert modes == ["restricted:latest", "privileged:latest", "privileged:latest"]
    levels = "must be one of privileged, baseline, restricted"
    version = 'must be "latest" or "v1.x"'
    assert errors == [
        f'metadata.labels[{PREFIX}enforce]: Invalid value: "x": {levels}',
        f'metadata.labels[{PREFIX}enforce-version]: Invalid value: "1.2": {version}',
        f'metadata.labels[{PREFIX}audit]: Invalid value: "y": {levels}',
        f'metadata.labels[{PREFIX}warn]: Invalid value: "z": {levels}',
        f'metadata.labels[{PREFIX}warn-version]: Invalid value: "v2": {version}',
    ]


@pytest.mark.parametrize("version", ["v1.01", "v1.", "v1.99999999999999999999", "v1.1 "])
def test_versions_that_are_none(version: str) -> None:
    assert read(enforce_version=version)[1] != []
