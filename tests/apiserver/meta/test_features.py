"""The life cycle of feature gates."""

from __future__ import annotations

import pytest

from apiserver.meta.features import ALPHA, BETA, DEPRECATED, GA, GATES, FeatureError, Gate, parse

SOME = {
    "New": Gate(ALPHA, False),
    "Proven": Gate(BETA, True),
    "General": Gate(GA, True, locked=True),
    "Old": Gate(DEPRECATED, False),
}


@pytest.mark.parametrize(
    ("pairs", "settings"),
    [
        ([], {}),
        (["New=true"], {"New": True}),
        (["Proven=false"], {"Proven": False}),
        (["AllAlpha=true"], {"New": True}),
        (["AllBeta=false", "Proven=true"], {"Proven": True}),
        (["Proven=true", "AllBeta=false"], {"Proven": True}),
    ],
)
def test_settings(pairs: list[str], settings: dict[str, bool]) -> None:
    assert parse(pairs, SOME) == (settings, [])


@pytest.mark.parametrize(("name", "kind"), [("General", "GA"), ("Old", "deprecated")])
def test_what_will_go_is_warned_about(name: str, kind: str) -> None:
    assert parse([f"{name}=true"], SOME) == (
        {name: True},
        [f"Setting {kind} feature gate {name}=true. It will be removed in a future release."],
    )


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        ("General=false", "cannot set feature gate General to false, feature is locked to true"),
        ("Unknown=true", "unrecognized feature gate: Unknown"),
        ("New", "missing bool value for New"),
        ("New=maybe", "invalid value of New=maybe"),
    ],
)
def test_errors(pair: str, text: str) -> None:
    with pytest.raises(FeatureError, match=text):
        parse([pair], SOME)


def test_stages_decide_defaults() -> None:
    exceptions = {
        "AllowUnsafeMalformedObjectDeletion",
        "CBORServingAndStorage",
        "ClusterTrustBundle",
        "DeclarativeValidationTakeover",
        "StorageVersionMigrator",
    }  # but for the first two they are deprecated or beta, and off upstream too
    for name, gate in GATES.items():
        assert gate.default is (gate.stage != ALPHA) or name in exceptions
        assert gate.locked is (gate.stage == GA)
